import type { TimedWord } from '../engine.ts';
import type { Phone } from './threads/thread-messages.ts';

/**
 * Flite says when each phone ends but not which word it belongs to. Words are laid over the vowels: a word with n
 * syllables takes n vowels, and a boundary falls before the consonants that lead to the next vowel. Where the spelling's
 * syllable count is off (numbers, names) the error is spread over the clause; a pause pulls it straight again only there.
 */

const VOWELS = new Set(['aa', 'ae', 'ah', 'ao', 'aw', 'ax', 'axr', 'ay', 'eh', 'er', 'ey', 'ih', 'iy', 'ow', 'oy', 'uh', 'uw']);
/** Syllables of a digit's and a letter's names, rounded: most have one. */
const DIGIT_SYLLABLES = 1.2;

/** Times of `text`'s words over the phones of its clause, moved by `offsetMs` and kept within [0, totalMs]. */
export function wordTimes(text: string, phones: Phone[], offsetMs: number, totalMs: number): TimedWord[] {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const syllables = words.map(countSyllables);
  const total = syllables.reduce((sum, count) => sum + count, 0);
  const starts = vowelStarts(phones);
  const speechEnd = phones.findLast((phone) => phone.name !== 'pau')?.endMs ?? totalMs - offsetMs;
  const clamp = (ms: number): number => Math.max(0, Math.min(totalMs, Math.round(ms)));
  const timed: TimedWord[] = [];
  let before = 0;
  for (const [index, word] of words.entries()) {
    const after = before + (syllables[index] ?? 1);
    const startMs = boundary(starts, speechEnd, before / total);
    const endMs = boundary(starts, speechEnd, after / total);
    timed.push({ text: word, startMs: clamp(startMs + offsetMs), endMs: clamp(endMs + offsetMs) });
    before = after;
  }
  return timed;
}

/** Where the given share of all syllables has begun. */
function boundary(starts: number[], speechEnd: number, share: number): number {
  const at = share * starts.length;
  const index = Math.floor(at);
  const here = starts[index] ?? speechEnd;
  const next = starts[index + 1] ?? speechEnd;
  return here + (next - here) * (at - index);
}

/** Start of every syllable: half of the consonants between two vowels belong to the one that follows. */
function vowelStarts(phones: Phone[]): number[] {
  const starts: number[] = [];
  let consonantsFrom = -1;
  let beginMs = 0;
  for (const [index, phone] of phones.entries()) {
    if (phone.name === 'pau') {
      consonantsFrom = -1;
      beginMs = phone.endMs;
    } else if (VOWELS.has(phone.name)) {
      const phoneStart = phones[index - 1]?.endMs ?? 0;
      starts.push(consonantsFrom < 0 ? beginMs : (consonantsFrom + phoneStart) / 2);
      consonantsFrom = phone.endMs;
    }
  }
  return starts;
}

/** Estimate from the spelling: groups of vowels, without a silent final e; digits by their names. */
export function countSyllables(word: string): number {
  const digits = word.replace(/\D/g, '').length;
  const letters = word.toLowerCase().replace(/[^a-z]/g, '');
  if (letters === '') return Math.max(1, digits * DIGIT_SYLLABLES);
  const groups = letters.match(/[aeiouy]+/g)?.length ?? 0;
  const silent = /[^aeiouyl]e$/.test(letters) || /[^aeiouytd]ed$/.test(letters) ? 1 : 0;
  return Math.max(1, groups - silent) + digits * DIGIT_SYLLABLES;
}
