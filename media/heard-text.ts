import { SAMPLE_RATE } from './audio-frame.ts';

/** A word and its times in milliseconds from the start of the piece of speech it belongs to. */
export interface SpokenWord { text: string; startMs: number; endMs: number }

/** A piece of speech: PCM16 at 16 kHz, its text, and when each word of it sounds. */
export interface Speech extends SpokenText { audio: Int16Array }

/** What a piece says, without its sound. */
export interface SpokenText { text: string; words: SpokenWord[] }

const SAMPLES_PER_MS = SAMPLE_RATE / 1000;

/** Text of a piece that was heard whole within its first `heard` samples: ends at the last fully heard word. */
export function heardText(piece: SpokenText, samples: number, heard: number): string {
  if (heard >= samples) return piece.text;
  if (heard <= 0) return '';
  const tokens = piece.text.split(/\s+/).filter(Boolean);
  if (piece.words.length === 0) return tokens.slice(0, tokensByLength(tokens, heard / samples)).join(' ');
  const heardMs = heard / SAMPLES_PER_MS;
  const words = piece.words.filter((word) => word.endMs <= heardMs);
  // An engine may time "three" where the text says "3": only equal counts can be cut in the text itself.
  return (tokens.length === piece.words.length ? tokens.slice(0, words.length) : words.map((word) => word.text)).join(' ');
}

/** Where, in samples from the piece's start, the word begins that was cut after `heard` samples; `heard` itself between words or without word times. */
export function startOfCutWord(piece: SpokenText, heard: number): number {
  const heardMs = heard / SAMPLES_PER_MS;
  const cut = piece.words.find((word) => word.startMs < heardMs && word.endMs > heardMs);
  return cut ? Math.round(cut.startMs * SAMPLES_PER_MS) : heard;
}

/** Without word times, words are taken to last as long as they are written. */
function tokensByLength(tokens: string[], share: number): number {
  const whole = tokens.reduce((sum, token) => sum + token.length + 1, 0);
  let spoken = 0;
  const cut = tokens.findIndex((token) => (spoken += token.length + 1) > whole * share);
  return cut < 0 ? tokens.length : cut;
}
