/** Telephone numbers as people say them and recognisers write them. */

const DIGITS: Record<string, string> = {
  zero: '0', oh: '0', o: '0', nought: '0', one: '1', two: '2', to: '2', too: '2', three: '3', four: '4', for: '4', five: '5', six: '6', seven: '7', eight: '8', ate: '8', nine: '9', ten: '10', eleven: '11', twelve: '12',
  thirteen: '13', fourteen: '14', fifteen: '15', sixteen: '16', seventeen: '17', eighteen: '18', nineteen: '19',
};
const TENS: Record<string, string> = { twenty: '2', thirty: '3', forty: '4', fifty: '5', sixty: '6', seventy: '7', eighty: '8', ninety: '9' };
const REPEATS: Record<string, number> = { double: 2, triple: 3, treble: 3 };
/** Said like digits, and digits only beside plain ones. */
const AMBIGUOUS = new Set(['to', 'too', 'for', 'o', 'oh', 'ate', 'one']);
/** At the edge of a number these are what they are: prepositions. */
const PREPOSITIONS = new Set(['to', 'for']);
/** E.164. */
const MAX_DIGITS = 15;

/** All digits in the text, in order: "five five five", "double two", "555-1234", "twenty three". At most 15. */
export function digitsIn(text: string): string {
  let digits = '';
  let run: string[] = [];
  for (const word of [...(text.toLowerCase().match(/\d+|[a-z]+/g) ?? []), '']) {
    if (isNumber(word)) {
      run.push(word);
    } else {
      digits += digitsOfRun(run);
      run = [];
    }
  }
  return digits.slice(0, MAX_DIGITS);
}

/** The digits of number words that follow each other; none when each of them may be something else. */
function digitsOfRun(run: string[]): string {
  const from = run.findIndex((word) => !PREPOSITIONS.has(word));
  const to = run.findLastIndex((word) => !PREPOSITIONS.has(word));
  const words = from < 0 ? [] : run.slice(from, to + 1);
  if (words.every((word) => AMBIGUOUS.has(word))) return '';
  let digits = '';
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const next = digitOf(words[at + 1] ?? '');
    const repeat = REPEATS[word];
    const ten = TENS[word];
    if (repeat !== undefined) {
      digits += next.repeat(repeat);
      at++;
    } else if (ten !== undefined) {
      const joins = /^[1-9]$/.test(next);
      digits += ten + (joins ? next : '0');
      if (joins) at++;
    } else {
      digits += DIGITS[word] ?? word;
    }
  }
  return digits;
}

/** "5 5 5, 1 2 3, 4 5 6 7": digit by digit, in groups a person can follow. */
export function readBack(digits: string): string {
  const groups: string[] = [];
  let rest = digits;
  while (rest.length > 4) {
    groups.push(rest.slice(0, 3));
    rest = rest.slice(3);
  }
  if (rest !== '') groups.push(rest);
  return groups.map((group) => group.split('').join(' ')).join(', ');
}

function digitOf(word: string): string {
  return /^\d$/.test(word) ? word : (DIGITS[word] ?? '');
}

function isNumber(word: string): boolean {
  return /^\d/.test(word) || [DIGITS, TENS, REPEATS].some((table) => Object.hasOwn(table, word));
}
