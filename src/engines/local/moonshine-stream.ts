import { type AudioFrame, SAMPLE_RATE } from '../../../media/audio-frame.ts';
import { EngineError, type SttEvent, type SttStream } from '../engine.ts';
import { type Outcome, Utterance } from './moonshine-utterance.ts';
import type { SttDecoder } from './stt-decoder.ts';
import { PreRoll } from './utterance.ts';

const PRE_ROLL_MS = 300;
/** The VAD opens an utterance about this long after its first sound (two windows and the one that was filling). */
const ONSET_MS = 96;

export interface MoonshineStreamOptions {
  decoder: SttDecoder;
  model: string;
  signal: AbortSignal;
  onEvent: (event: SttEvent) => void;
}

/** One call's ear: keeps the pre-roll, opens and ends utterances as the VAD marks them, reports in order. */
export class MoonshineStream implements SttStream {
  readonly #options: MoonshineStreamOptions;
  readonly #preRoll = new PreRoll(PRE_ROLL_MS);
  #written = 0;
  #utterance: Utterance | undefined;
  /** Settles when every final before has been reported. */
  #reported: Promise<void> = Promise.resolve();

  constructor(options: MoonshineStreamOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', () => {
      this.#utterance?.cancel();
      this.#utterance = undefined;
    }, { once: true });
  }

  write(frame: AudioFrame): void {
    if (this.#options.signal.aborted) return;
    this.#written += frame.length;
    if (this.#utterance) this.#utterance.append(frame);
    else this.#preRoll.write(frame);
  }

  mark(mark: 'speech_started' | 'pause' | 'speech_ended'): void {
    if (this.#options.signal.aborted) return;
    switch (mark) {
      case 'speech_started':
        if (this.#utterance) this.#utterance.resume();
        else this.#utterance = this.#open();
        return;
      case 'pause':
        this.#utterance?.pause(this.#nowMs());
        return;
      case 'speech_ended':
        if (this.#utterance) this.#end(this.#utterance);
    }
  }

  #open(): Utterance {
    const utterance: Utterance = new Utterance({
      decoder: this.#options.decoder,
      startMs: Math.max(0, this.#nowMs() - ONSET_MS),
      preRoll: this.#preRoll,
      events: {
        onPartial: (text) => {
          if (this.#utterance === utterance) this.#emit({ kind: 'partial', text });
        },
        onEager: ({ text, confidence }) => {
          if (this.#utterance === utterance) this.#emit({ kind: 'eager', text, confidence });
        },
      },
    });
    return utterance;
  }

  #end(utterance: Utterance): void {
    const endMs = utterance.pausedMs ?? this.#nowMs();
    const ms = Math.round((utterance.samples * 1000) / SAMPLE_RATE);
    const before = this.#reported;
    this.#utterance = undefined;
    const outcome = utterance.end().catch((error: unknown): Outcome => {
      this.#emit({ kind: 'failed', error: asEngineError(error) });
      return { text: '', confidence: 0 };
    });
    this.#reported = outcome.then(async ({ text, confidence }) => {
      await before;
      this.#emit({ kind: 'final', text, confidence, startMs: utterance.startMs, endMs });
      this.#emit({ kind: 'usage', usage: { component: 'stt', model: this.#options.model, measure: 'ms', quantity: ms, source: 'measured' } });
    });
  }

  #emit(event: SttEvent): void {
    if (!this.#options.signal.aborted) this.#options.onEvent(event);
  }

  #nowMs(): number {
    return Math.round((this.#written * 1000) / SAMPLE_RATE);
  }
}

function asEngineError(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  return new EngineError('internal', `Speech to text failed: ${String(error)}`, { retry: false, cause: error });
}
