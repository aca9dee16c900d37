import type { SttEvent } from '../engines/engine.ts';
import type { VoiceActivity } from './voice-burst.ts';
import { repeatedTokens, unansweredWords } from './unanswered-words.ts';

/** What speech-to-text said, as turn-taking needs it: no usage, no failures. */
export type TranscriptEvent = Extract<SttEvent, { kind: 'partial' | 'eager' | 'final' }>;

/** Less sure than this, a word or two is noise (measured: word error rate beyond 50 %). */
const NOISE_CONFIDENCE = 0.35;
const NOISE_MAX_WORDS = 2;
/** A final's `endMs` may lie this far before the last voiced window and still cover it. */
const COVER_TOLERANCE_MS = 400;
/** How long a final may still come for words that were taken before it. */
const TAKEN_MEMORY_MS = 4000;

/**
 * The caller's words that nobody has answered yet: finished utterances, the open one, and how much of what the voice
 * detector heard they cover. Words that were taken are recognised when their late final repeats them.
 */
export class CallerWords {
  #finished = '';
  #open = '';
  /** Where the voice began that the open text was first heard in. */
  #openFromMs = 0;
  /** The heard audio is transcribed up to here. */
  #coveredMs = 0;
  #taken: { text: string; atMs: number } | undefined;

  /** Everything unanswered. */
  get text(): string {
    return joined(this.#finished, this.#open);
  }

  /** Whether the text covers all voice up to `lastVoicedMs`. */
  covers(lastVoicedMs: number): boolean {
    return this.#coveredMs >= lastVoicedMs;
  }

  /** Takes in an event that arrived when `heardMs` of audio had been heard. */
  add(event: TranscriptEvent, heardMs: number, voice: VoiceActivity): void {
    this.#forgetTaken(event, heardMs);
    if (event.kind === 'final') {
      this.#addFinal(event, heardMs, voice);
      return;
    }
    const text = this.#unanswered(event);
    if (!this.#open) this.#openFromMs = voice.speechStartMs;
    this.#open = text;
    if (event.kind === 'eager' && !voice.speaking) this.#coveredMs = heardMs;
  }

  /** Hands out the text and forgets it; a final that repeats it later adds only what is new. */
  take(heardMs: number): string {
    const { text } = this;
    // Finished utterances cannot come again; only the open one's final is still to be expected.
    this.#taken = this.#open ? { text: this.#open, atMs: heardMs } : undefined;
    this.#finished = '';
    this.#open = '';
    this.#coveredMs = heardMs;
    return text;
  }

  /** Stops waiting for text of what was heard so far: it was noise, or the recogniser is late; late words still count. */
  settle(heardMs: number): void {
    this.#coveredMs = heardMs;
  }

  #addFinal(event: Extract<TranscriptEvent, { kind: 'final' }>, heardMs: number, voice: VoiceActivity): void {
    const text = this.#unanswered(event);
    this.#finished = joined(this.#finished, text);
    // A late final of the utterance before must not take the open one's words away, nor those handed out of it.
    const isEarlier = event.endMs < this.#openFromMs && repeatedTokens(this.#open, event.text) === 0;
    if (!isEarlier) this.#open = '';
    if (this.#taken && repeatedTokens(event.text, this.#taken.text) > 0) this.#taken = undefined;
    if (event.endMs + COVER_TOLERANCE_MS >= voice.lastVoicedMs) this.#coveredMs = heardMs;
  }

  #unanswered(event: TranscriptEvent): string {
    const text = event.text.trim();
    const unsure = event.kind !== 'partial' && event.confidence < NOISE_CONFIDENCE && text.split(/\s+/).length <= NOISE_MAX_WORDS;
    if (unsure) return '';
    return this.#taken ? unansweredWords(text, this.#taken.text) : text;
  }

  #forgetTaken(event: TranscriptEvent, heardMs: number): void {
    if (!this.#taken) return;
    const later = event.kind === 'final' && event.startMs >= this.#taken.atMs;
    if (later || heardMs - this.#taken.atMs > TAKEN_MEMORY_MS) this.#taken = undefined;
  }
}

function joined(before: string, after: string): string {
  return before && after ? `${before} ${after}` : before || after;
}
