import { FRAME_SAMPLES, SAMPLE_RATE } from '../../../media/audio-frame.ts';
import { AgreedPrefix } from './agreed-prefix.ts';
import type { Decode, SttDecoder } from './stt-decoder.ts';
import { Clip, type PreRoll } from './utterance.ts';

/** A partial is decoded again after this much more speech. */
const PARTIAL_SAMPLES = 0.5 * SAMPLE_RATE;
/** Speech shorter than this (with the silence that the VAD waited for) is weak evidence that anything was said. */
const WEAK_SAMPLES = 0.6 * SAMPLE_RATE;
/** For weak evidence: the model's own probability of "nothing" above which we believe it. */
const WEAK_EOS_REJECT = 0.85;
const NEVER_REJECT = 1;
/** Below this the text is a guess at noise (measured: over a third of the words wrong under 0.8, noise under 0.35). */
const MIN_CONFIDENCE = 0.35;

/** What is left after a cut and this much quieter than what was cut off (20 dB) is no speech; the model would invent some. */
const SILENT_RATIO = 0.01;
/** Energy of a frame at -60 dBFS: below it there is nothing to understand, though the model would say "You". */
const SILENT_ENERGY = FRAME_SAMPLES * 32.8 ** 2;

export interface Outcome { text: string; confidence: number }

/** The part of a long utterance that was cut off and decoded by itself. */
interface Head { text: string; confidence: number; samples: number; done: Promise<void> }

interface UtteranceEvents {
  onPartial: (text: string) => void;
  onEager: (outcome: Outcome) => void;
}

/** One utterance from the VAD's opening to its end: its sound, its partials, its speculative and its last decode. */
export class Utterance {
  readonly startMs: number;
  readonly #decoder: SttDecoder;
  readonly #events: UtteranceEvents;
  readonly #clip = new Clip();
  readonly #heads: Head[] = [];
  #agreed = new AgreedPrefix();
  #partial: Decode | undefined;
  #partialText = '';
  #partialDue: number;
  /** Samples since the opening or the last cut, without the pre-roll. */
  #heard = 0;
  #headEnergy = 0;
  #full: { decode: Decode; outcome: Promise<Outcome> } | undefined;
  #pausedMs: number | undefined;

  constructor(options: { decoder: SttDecoder; startMs: number; preRoll: PreRoll; events: UtteranceEvents }) {
    this.#decoder = options.decoder;
    this.#events = options.events;
    this.startMs = options.startMs;
    options.preRoll.drainInto(this.#clip);
    this.#partialDue = this.#clip.length + PARTIAL_SAMPLES;
  }

  /** All the sound of it so far. */
  get samples(): number {
    return this.#heads.reduce((sum, head) => sum + head.samples, this.#clip.length);
  }

  /** When the pause it is in began; undefined while the caller speaks. */
  get pausedMs(): number | undefined {
    return this.#pausedMs;
  }

  append(frame: Int16Array): void {
    this.#clip.append(frame);
    if (this.#pausedMs !== undefined) return;
    this.#heard += frame.length;
    if (this.#clip.mustCut) this.#cut();
    else if (this.#clip.length >= this.#partialDue && !this.#partial && this.#decoder.idle) this.#startPartial();
  }

  /** The caller fell silent: decode what there is, as if it were the end. */
  pause(atMs: number): void {
    if (this.#pausedMs !== undefined) return;
    this.#pausedMs = atMs;
    const full = this.#startFull();
    full.outcome.then(
      (outcome) => {
        if (this.#full === full && outcome.text !== '') this.#events.onEager(outcome);
      },
      // The end of the utterance reports it.
      () => {},
    );
  }

  /** The caller goes on. */
  resume(): void {
    if (this.#pausedMs === undefined) return;
    this.#pausedMs = undefined;
    this.#full?.decode.cancel();
    this.#full = undefined;
    this.#partialDue = this.#clip.length + PARTIAL_SAMPLES;
  }

  /** What was said: the speculative decode when the caller was silent since, else a new one. Rejects with EngineError. */
  end(): Promise<Outcome> {
    return (this.#full ?? this.#startFull()).outcome;
  }

  /** Nobody wants to know any more. */
  cancel(): void {
    this.#partial?.cancel();
    this.#full?.decode.cancel();
  }

  #startPartial(): void {
    this.#partialDue = this.#clip.length + PARTIAL_SAMPLES;
    const decode = this.#decoder.decode({ kind: 'partial', pcm: this.#clip.copy(), prefix: this.#agreed.forced, eosReject: NEVER_REJECT });
    this.#partial = decode;
    decode.result.then(
      (decoded) => {
        if (this.#partial !== decode) return;
        this.#partial = undefined;
        if (!decoded) return;
        this.#agreed.update(decoded.tokens);
        this.#partialText = decoded.text;
        this.#events.onPartial(this.#joined(decoded.text));
      },
      () => {
        // A lost partial is replaced by the next.
        if (this.#partial === decode) this.#partial = undefined;
      },
    );
  }

  #dropPartial(): void {
    this.#partial?.cancel();
    this.#partial = undefined;
  }

  #startFull(): { decode: Decode; outcome: Promise<Outcome> } {
    this.#dropPartial();
    const eosReject = this.#heard < WEAK_SAMPLES ? WEAK_EOS_REJECT : NEVER_REJECT;
    const decode = this.#isSilent()
      ? { result: Promise.resolve(undefined), cancel: (): void => {} }
      : this.#decoder.decode({ kind: 'full', pcm: this.#clip.copy(), prefix: [], eosReject });
    const samples = this.#clip.length;
    const heads = [...this.#heads];
    const outcome = decode.result.then(async (decoded) => {
      await Promise.all(heads.map((head) => head.done));
      const parts = [...heads, { ...believed(decoded), samples }].filter((part) => part.text !== '');
      const total = parts.reduce((sum, part) => sum + part.samples, 0);
      const confidence = parts.reduce((sum, part) => sum + (part.confidence * part.samples) / total, 0);
      return { text: parts.map((part) => part.text).join(' '), confidence };
    });
    this.#full = { decode, outcome };
    return this.#full;
  }

  /** Twelve seconds without a pause: decode the part before the quietest place by itself and go on with the rest. */
  #cut(): void {
    this.#dropPartial();
    this.#headEnergy = Math.max(this.#headEnergy, this.#clip.peakEnergy());
    const pcm = this.#clip.cut();
    const samples = pcm.length;
    const { result } = this.#decoder.decode({ kind: 'full', pcm, prefix: [], eosReject: NEVER_REJECT });
    const head: Head = { text: this.#partialText, confidence: MIN_CONFIDENCE, samples, done: Promise.resolve() };
    head.done = result.then(
      (decoded) => {
        Object.assign(head, believed(decoded));
        this.#events.onPartial(this.#joined(''));
      },
      // The last partial stands in for it.
      () => {},
    );
    this.#heads.push(head);
    this.#agreed = new AgreedPrefix();
    this.#partialText = '';
    this.#heard = this.#clip.length;
    this.#partialDue = this.#clip.length + PARTIAL_SAMPLES;
  }

  #isSilent(): boolean {
    return this.#clip.peakEnergy() < Math.max(SILENT_ENERGY, this.#headEnergy * SILENT_RATIO);
  }

  #joined(last: string): string {
    return [...this.#heads.map((head) => head.text), last || this.#partialText].filter((text) => text !== '').join(' ');
  }
}

function believed(decoded: Outcome | undefined): Outcome {
  if (!decoded || decoded.confidence < MIN_CONFIDENCE) return { text: '', confidence: decoded?.confidence ?? 0 };
  return { text: decoded.text, confidence: decoded.confidence };
}
