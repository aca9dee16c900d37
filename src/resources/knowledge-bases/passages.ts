import type { Extracted } from './extracted.ts';

/** What a search finds: a stretch of a document's text, long enough to be understood, short enough to be read out. */
export interface Passage { heading: string; text: string; start: number; end: number }

/** About this many words a passage. */
const PASSAGE_WORDS = 120;
/** A passage this full is ended rather than that the next paragraph is torn. */
const WELL_FILLED_WORDS = 72;
/** What a passage repeats of the end of the one before, at most. */
const OVERLAP_WORDS = 25;
const OVERLAP_CHARACTERS = 300;
/** Pieces of what has no sentences. */
const PIECE_WORDS = 40;
const PIECE_CHARACTERS = 600;
const PASSAGE_CHARACTERS = 2000;
/** Scripts without spaces: about two characters make a word. */
const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;
const DENSE_PER_WORD = 2;

interface Unit { start: number; end: number; words: number; paragraphWords: number }

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });

/** Divides a text into passages along its sections, paragraphs and sentences, in order. */
export function toPassages({ text, sections }: Extracted): Passage[] {
  const passages: Passage[] = [];
  for (const { heading, start, end } of sections) {
    for (const stretch of divideSection(text, start, end)) {
      const content = text.slice(stretch.start, stretch.end);
      const trimmed = content.trim();
      if (trimmed === '') continue;
      const from = stretch.start + content.indexOf(trimmed);
      passages.push({ heading, text: trimmed, start: from, end: from + trimmed.length });
    }
  }
  return passages;
}

function* divideSection(text: string, start: number, end: number): Generator<{ start: number; end: number }> {
  let current: Unit[] = [];
  let fresh = 0;
  for (const unit of unitsOf(text, start, end)) {
    if (fresh > 0 && isFull(current, unit)) {
      yield stretchOf(current);
      current = overlapOf(current);
      fresh = 0;
    }
    current.push(unit);
    fresh++;
  }
  if (fresh > 0) yield stretchOf(current);
}

function isFull(units: Unit[], next: Unit): boolean {
  const words = total(units);
  if (words + next.words > PASSAGE_WORDS || next.end - stretchOf(units).start > PASSAGE_CHARACTERS) return true;
  return next.paragraphWords > 0 && words >= WELL_FILLED_WORDS && words + next.paragraphWords > PASSAGE_WORDS;
}

function stretchOf(units: Unit[]): { start: number; end: number } {
  return { start: units[0]?.start ?? 0, end: units.at(-1)?.end ?? 0 };
}

function overlapOf(units: Unit[]): Unit[] {
  const end = units.at(-1)?.end ?? 0;
  let words = 0;
  let from = units.length;
  for (let index = units.length - 1; index > 0; index--) {
    const unit = units[index];
    words += unit?.words ?? 0;
    if (!unit || words > OVERLAP_WORDS || end - unit.start > OVERLAP_CHARACTERS) break;
    from = index;
  }
  return units.slice(from);
}

function total(units: Unit[]): number {
  let words = 0;
  for (const unit of units) words += unit.words;
  return words;
}

/** Sentences, or pieces of those that are too long. `paragraphWords` stands at a paragraph's first and is 0 at the others. */
function* unitsOf(text: string, start: number, end: number): Generator<Unit> {
  for (const paragraph of paragraphsOf(text, start, end)) {
    const units: Unit[] = [];
    for (const { segment, index } of sentences.segment(text.slice(paragraph.start, paragraph.end))) {
      const from = paragraph.start + index;
      const words = countWords(segment);
      if (words <= PIECE_WORDS * 2 && segment.length <= PIECE_CHARACTERS * 2) units.push({ start: from, end: from + segment.length, words, paragraphWords: 0 });
      else units.push(...piecesOf(text, from, from + segment.length));
    }
    const [first] = units;
    if (first) first.paragraphWords = total(units);
    yield* units;
  }
}

function* paragraphsOf(text: string, start: number, end: number): Generator<{ start: number; end: number }> {
  const blankLine = /\n[ \t\r]*\n/g;
  blankLine.lastIndex = start;
  for (let from = start; from < end;) {
    const found = blankLine.exec(text);
    const to = found === null ? end : Math.min(end, blankLine.lastIndex);
    yield { start: from, end: to };
    from = to;
  }
}

function* piecesOf(text: string, start: number, end: number): Generator<Unit> {
  const token = /\S{1,600}\s*/gu;
  token.lastIndex = start;
  let piece: Unit = { start, end: start, words: 0, paragraphWords: 0 };
  while (token.lastIndex < end) {
    const found = token.exec(text);
    if (found === null || found.index >= end) break;
    const to = Math.min(end, token.lastIndex);
    const words = countWords(found[0]);
    if (piece.end > piece.start && (piece.words + words > PIECE_WORDS || to - piece.start > PIECE_CHARACTERS)) {
      yield piece;
      piece = { start: piece.end, end: piece.end, words: 0, paragraphWords: 0 };
    }
    piece = { ...piece, end: to, words: piece.words + words };
  }
  if (piece.end > piece.start) yield piece;
}

function countWords(text: string): number {
  return Math.max(text.match(/\S+/g)?.length ?? 0, Math.ceil((text.match(DENSE)?.length ?? 0) / DENSE_PER_WORD));
}
