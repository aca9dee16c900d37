/** Words as retrieval sees them. */

const STOP = new Set(
  ('a an the and or but so of in on at to for from with by as is are was were be been am do does did can could will would shall should may might i you he she it we they me him her us them my your his its our their ' +
    'this that these those there here what which who whom when where why how please tell know like want need get have has had just about any some um uh er well okay ok yes no hi hello hey if then than too very also let').split(' '),
);

/** What a caller may ask about, by the words of the question, and the words its answer tends to hold. */
const TOPICS: readonly { asked: RegExp; holds: readonly string[] }[] = [
  { asked: /\b(hours?|open|opens|opening|clos(e|es|ed|ing)|what time|when)\b/i, holds: ['open', 'hour', 'close', 'closed', 'am', 'pm', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday', 'weekday', 'weekend', 'daily'] },
  { asked: /\b(where|address|located|location|directions?|find you|get there)\b/i, holds: ['address', 'locate', 'street', 'avenue', 'road', 'floor', 'square', 'boulevard', 'lane', 'next', 'corner', 'near'] },
  { asked: /\b(how much|prices?|costs?|fees?|charges?|rates?|expensive)\b/i, holds: ['price', 'cost', 'fee', 'charge', 'rate', 'dollar', 'euro', 'free', '$'] },
  { asked: /\b(phone|telephone|e-?mail|contact|reach|website|web site)\b/i, holds: ['phone', 'telephone', 'email', 'mail', 'contact', 'website'] },
  { asked: /\b(park|parking|car)\b/i, holds: ['park', 'garage', 'lot'] },
  { asked: /\b(pay|payment|cards?|cash|insurance)\b/i, holds: ['pay', 'payment', 'card', 'cash', 'visa', 'insurance', 'accept'] },
];

/** Plural, -ing and -ed taken off: enough to match "opening" with "open". */
function stem(word: string): string {
  if (word.length > 5 && word.endsWith('ing')) return word.slice(0, -3);
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && word.endsWith('ed')) return word.slice(0, -2);
  if (word.length > 3 && word.endsWith('s') && !word.endsWith('ss')) return word.slice(0, -1);
  return word;
}

/** Content words, stemmed; `$` counts as one. */
export function termsOf(text: string): string[] {
  const words = text.toLowerCase().replace(/\b([ap])\.m\b\.?/g, '$1m').match(/[a-z]+(?:'[a-z]+)?|\d+|\$/g) ?? [];
  return words.filter((word) => !STOP.has(word)).map((word) => stem(word.replace(/'.*$/, '')));
}

/** Words an answer to this question may hold though the question does not. */
export function topicTerms(question: string): string[] {
  return TOPICS.filter((topic) => topic.asked.test(question)).flatMap((topic) => topic.holds.map(stem));
}
