/** How text is cut for a synthesiser that wants a whole clause before its first sound. */

/** The first clause decides how soon the caller hears something: 2 s of speech take 40-60 ms to make. */
const FIRST_CLAUSE_CHARS = 36;
/** Later ones are made while the one before is heard; longer ones sound better. */
const NEXT_CLAUSE_CHARS = 140;
/** Shorter pieces before a comma sound choppy; they stay with what follows. */
const MIN_CLAUSE_CHARS = 8;
/** More of one sentence than this is never spoken. */
const MAX_TEXT_CHARS = 4000;
/** No word is longer; what goes on is noise that would be spelt out letter by letter. */
const ENDLESS_WORD = /([^\s.,;:!?-]{45})[^\s.,;:!?-]*/g;

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+/g;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;

/** Text a synthesiser may see: one line, no control characters, plain quotes, ASCII where Flite knows nothing else, bounded. */
export function speakable(text: string): string {
  return text
    .slice(0, MAX_TEXT_CHARS)
    .replace(CONTROL, ' ')
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/[\u2013\u2014]/g, ', ')
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[^\x20-\x7e]+/g, ' ')
    .replace(/[*_`#<>|~^\\]+/g, ' ')
    .replace(ENDLESS_WORD, '$1')
    .replace(/ {2,}/g, ' ')
    .trim();
}

/** Whether there is anything to pronounce in it. */
export function hasWords(text: string): boolean {
  return LETTER_OR_DIGIT.test(text);
}

/** Cuts speakable text into clauses; `first`: the caller hears nothing yet, so the first one is kept short. */
export function splitClauses(text: string, first: boolean): string[] {
  const clauses: string[] = [];
  let rest = text.trim();
  while (rest !== '') {
    const limit = first && clauses.length === 0 ? FIRST_CLAUSE_CHARS : NEXT_CLAUSE_CHARS;
    const at = cutPlace(rest, limit, first && clauses.length === 0);
    const clause = rest.slice(0, at).trim();
    if (hasWords(clause)) clauses.push(clause);
    rest = rest.slice(at).trim();
  }
  return clauses;
}

/** Index to cut at: a sentence's end, else a comma, else a joining word, else a space, else anywhere. */
function cutPlace(text: string, limit: number, early: boolean): number {
  const sentence = firstMatch(text, /[.!?]+["')]*(?=\s)/g, 'first', MIN_CLAUSE_CHARS, limit);
  if (sentence) return sentence;
  if (text.length <= limit && !early) return text.length;
  const comma = firstMatch(text, /[,;:](?=\s)/g, early ? 'first' : 'last', MIN_CLAUSE_CHARS, limit);
  if (comma) return comma;
  if (text.length <= limit) return text.length;
  const joining = firstMatch(text, /\s(?=(?:and|or|but|because|which|that|if|when|so|to|for|with|from|at|on|in)\s)/gi, 'last', MIN_CLAUSE_CHARS, limit);
  if (joining) return joining;
  return firstMatch(text, /\s/g, 'last', 1, limit) ?? limit;
}

function firstMatch(text: string, pattern: RegExp, which: 'first' | 'last', min: number, max: number): number | undefined {
  let found: number | undefined;
  for (const match of text.slice(0, max + 2).matchAll(pattern)) {
    const end = match.index + match[0].length;
    if (end < min || end > max) continue;
    found = end;
    if (which === 'first') return found;
  }
  return found;
}
