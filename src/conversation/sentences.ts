/** Longest piece handed to speech synthesis, characters. */
const MAX_CHARS = 220;
/** The first piece may be a clause, so that speaking starts early; shorter than this sounds chopped. */
const FIRST_CLAUSE_MIN_CHARS = 16;
/** After these a full stop never ends the sentence. */
const TITLES = new Set(['mr', 'mrs', 'ms', 'dr', 'prof', 'st', 'sr', 'jr', 'no', 'vs', 'approx', 'ext', 'tel', 'e.g', 'i.e', 'ca', 'nr', 'bzw', 'z.b', 'd.h', 'hr', 'fr', 'sra', 'mme', 'mlle']);
/** After these it does only where a capital follows. */
const ENDINGS = new Set(['a.m', 'p.m', 'etc', 'inc', 'ltd', 'co', 'corp', 'dept', 'ave', 'blvd', 'rd', 'jan', 'feb', 'mar', 'apr', 'jun', 'jul', 'aug', 'sept', 'sep', 'oct', 'nov', 'dec', 'u.s', 'u.k', 'usw']);

/**
 * Cuts a model's text into pieces to speak: sentences, the first one possibly a clause, none longer than `maxChars`.
 * Markdown and emoji are left out. Each piece is ready as soon as the text shows that it is whole.
 */
export async function* sentences(deltas: AsyncIterable<string>, options: { maxChars?: number } = {}): AsyncGenerator<string, void, undefined> {
  const maxChars = options.maxChars ?? MAX_CHARS;
  let open = '';
  let first = true;
  for await (const delta of deltas) {
    open += delta;
    for (let end = pieceEnd(open, first, maxChars); end > 0; end = pieceEnd(open, first, maxChars)) {
      const piece = speakable(open.slice(0, end));
      open = open.slice(end);
      if (!piece) continue;
      first = false;
      yield piece;
    }
  }
  for (let end = longEnd(open, maxChars); end > 0; end = longEnd(open, maxChars)) {
    const piece = speakable(open.slice(0, end));
    open = open.slice(end);
    if (piece) yield piece;
  }
  const rest = speakable(open);
  if (rest) yield rest;
}

/** Text as a voice can say it: without markdown, emoji, or the brackets of links. */
export function speakable(text: string): string {
  return text
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/^\s*(?:#{1,6}|[-*+•>]|\d{1,2}[.)])\s+/gm, '')
    .replaceAll(/[*`~]+|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, '')
    .replaceAll(/\p{Extended_Pictographic}|\p{Regional_Indicator}|[\u{1F3FB}-\u{1F3FF}]|\u200D|\uFE0F|\u20E3/gu, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** Where the first whole piece of `text` ends; 0: not known yet. */
function pieceEnd(text: string, first: boolean, maxChars: number): number {
  const breaks = first ? /[.?!…。！？]+["'”’)]*\s|\n|[,;:—–]\s/gu : /[.?!…。！？]+["'”’)]*\s|\n/gu;
  for (const match of text.matchAll(breaks)) {
    const end = match.index + match[0].length;
    if (end > maxChars) break;
    if (/^[,;:—–]/u.test(match[0])) {
      if (match.index >= FIRST_CLAUSE_MIN_CHARS) return end;
    } else if (match[0] === '\n' || !match[0].startsWith('.')) {
      return end;
    } else {
      const verdict = fullStop(text.slice(0, match.index), text.slice(end));
      if (verdict === 'unknown') return 0;
      if (verdict === 'ends') return end;
    }
  }
  return longEnd(text, maxChars);
}

/** Whether a full stop between these two ends a sentence. */
function fullStop(before: string, after: string): 'ends' | 'goes on' | 'unknown' {
  const word = (/[\p{L}\p{N}.]+$/u.exec(before)?.[0] ?? '').toLowerCase();
  if (TITLES.has(word) || /^\p{L}$/u.test(word)) return 'goes on';
  // The number of a list, at the start of a line.
  if (/(?:^|\n)\s*\d{1,2}$/.test(before)) return 'goes on';
  if (!ENDINGS.has(word)) return 'ends';
  const next = after.trimStart()[0];
  if (next === undefined) return 'unknown';
  return /\p{Lu}/u.test(next) ? 'ends' : 'goes on';
}

/** Where to cut a text that is too long without an end in sight: after a clause, else a word, else anywhere; 0: it is not. */
function longEnd(text: string, maxChars: number): number {
  if (text.length <= maxChars) return 0;
  const within = text.slice(0, maxChars);
  const clause = Math.max(within.lastIndexOf(', '), within.lastIndexOf('; '), within.lastIndexOf(': '));
  if (clause > maxChars / 3) return clause + 2;
  const space = within.lastIndexOf(' ');
  if (space > 0) return space + 1;
  // Never between the halves of a surrogate pair.
  return /[\uD800-\uDBFF]$/.test(within) ? maxChars - 1 : maxChars;
}
