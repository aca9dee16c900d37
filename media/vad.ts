/** Voice activity: an energy detector that adapts to the line's noise, and the gate that turns probabilities into speech. */
import { FRAME_MS, type AudioFrame } from './audio-frame.ts';

/** How likely a window of `windowMs` that ends `endMs` after the stream's start is speech. */
export interface VoiceWindow { probability: number; endMs: number; windowMs: number }

/** Level over the noise at which speech is as likely as not, and how steeply that turns. */
const THRESHOLD_DB = 9;
const SLOPE_DB = 2;
/** Quieter than this is never speech, however silent the line: dB of full scale. */
const FAINTEST_SPEECH_DB = -52;
/** The floor is the quietest smoothed level of the last 2 to 2.5 s: speech pauses more often than that, noise does not. */
const FLOOR_SPANS = 5;
const FLOOR_SPAN_FRAMES = 25;
const LOWEST_FLOOR_DB = -65;
/** A steady sound louder than this is a voice: a caller who speaks at once must not become the noise. */
const HIGHEST_FLOOR_DB = -36;
/** Floor assumed in the first half second, before the line is known: typical telephone noise. */
const INITIAL_FLOOR_DB = -55;
/** Windows kept for a reader that is late. */
const KEPT_WINDOWS = 64;

/** A detector that decides each frame at once, without a model: the first 20 ms of speech show in the very next `take`. */
export class EnergyVad {
  readonly #minima = new Float64Array(FLOOR_SPANS);
  readonly #pool: VoiceWindow[] = Array.from({ length: KEPT_WINDOWS }, () => ({ probability: 0, endMs: 0, windowMs: FRAME_MS }));
  readonly #none: VoiceWindow[] = [];
  readonly #one: VoiceWindow[] = [this.#pool[0]!];
  #pending = 0;
  #frames = 0;
  #smoothedDb = INITIAL_FLOOR_DB;
  #closed = false;

  /** Noise level the detector compares with, dB of full scale. */
  get floorDb(): number {
    if (this.#frames < FLOOR_SPAN_FRAMES) return INITIAL_FLOOR_DB;
    let floor = HIGHEST_FLOOR_DB;
    for (let i = 0; i < FLOOR_SPANS; i++) floor = Math.min(floor, this.#minima[i]!);
    return Math.max(LOWEST_FLOOR_DB, floor);
  }

  /** Decides the next 20 ms. */
  write(frame: AudioFrame): void {
    if (this.#closed) return;
    const level = levelDb(frame);
    // Compared with the floor before this frame: speech's own first frame must not raise it.
    const over = Math.min(level - this.floorDb - THRESHOLD_DB, level - FAINTEST_SPEECH_DB);
    this.#trackFloor(level);
    this.#frames++;
    if (this.#pending === KEPT_WINDOWS) this.#pool.push(this.#pool.shift()!);
    else this.#pending++;
    const window = this.#pool[this.#pending - 1]!;
    window.probability = 1 / (1 + Math.exp(-over / SLOPE_DB));
    window.endMs = this.#frames * FRAME_MS;
  }

  /** The windows decided since the last call, oldest first; the list and its windows are valid until the next `write`. */
  take(): VoiceWindow[] {
    const count = this.#pending;
    this.#pending = 0;
    if (count === 0) return this.#none;
    if (count > 1) return this.#pool.slice(0, count);
    this.#one[0] = this.#pool[0]!;
    return this.#one;
  }

  close(): void {
    this.#closed = true;
  }

  #trackFloor(level: number): void {
    if (this.#frames === 0) this.#smoothedDb = level;
    this.#smoothedDb += (level - this.#smoothedDb) * 0.3;
    const span = Math.floor(this.#frames / FLOOR_SPAN_FRAMES) % FLOOR_SPANS;
    if (this.#frames % FLOOR_SPAN_FRAMES === 0) this.#minima[span] = 0;
    this.#minima[span] = Math.min(this.#minima[span]!, this.#smoothedDb);
  }
}

/** Level without the DC part, dB of full scale; -100 for digital silence. */
export function levelDb(frame: Int16Array): number {
  let sum = 0;
  let squares = 0;
  for (let i = 0; i < frame.length; i++) {
    const sample = frame[i]!;
    sum += sample;
    squares += sample * sample;
  }
  const mean = sum / frame.length;
  const power = (squares / frame.length - mean * mean) / (32768 * 32768);
  return power <= 1e-10 ? -100 : 10 * Math.log10(power);
}

export interface VadGateOptions {
  /** Probability that starts speech, and under which it ends. */
  on?: number;
  off?: number;
  /** Windows in a row over `on` that start speech: 2 for a model, 3 for EnergyVad. */
  startWindows?: number;
}

/** Speech with hysteresis and no hangover: how long silence must last to mean something is the turn controller's business. */
export class VadGate {
  readonly #on: number;
  readonly #off: number;
  readonly #startWindows: number;
  #speaking = false;
  #rising = 0;
  #risingMs = 0;
  #voicedMs = 0;
  #speechStartMs = 0;
  #lastVoicedMs = 0;
  #endMs = 0;

  constructor(options: VadGateOptions = {}) {
    this.#on = options.on ?? 0.5;
    this.#off = options.off ?? 0.35;
    this.#startWindows = options.startWindows ?? 2;
  }

  push(window: VoiceWindow): void {
    this.#endMs = window.endMs;
    if (this.#speaking) {
      this.#speaking = window.probability >= this.#off;
      if (this.#speaking) this.#voicedMs += window.windowMs;
    } else {
      this.#rise(window);
    }
    if (this.#speaking) this.#lastVoicedMs = window.endMs;
  }

  get speaking(): boolean {
    return this.#speaking;
  }

  /** Speech in the current run, or in the last one when silent. */
  get voicedMs(): number {
    return this.#voicedMs;
  }

  /** Time since speech ended, or since the stream's start when there was none; 0 while speaking. */
  get silentMs(): number {
    return this.#speaking ? 0 : this.#endMs - this.#lastVoicedMs;
  }

  /** Where the current or last run began, in ms of the stream: the start of its first window. */
  get speechStartMs(): number {
    return this.#speechStartMs;
  }

  /** End of the last window of speech, in ms of the stream. */
  get lastVoicedMs(): number {
    return this.#lastVoicedMs;
  }

  #rise(window: VoiceWindow): void {
    if (window.probability < this.#on) {
      this.#rising = 0;
      this.#risingMs = 0;
      return;
    }
    this.#rising++;
    this.#risingMs += window.windowMs;
    if (this.#rising < this.#startWindows) return;
    this.#speaking = true;
    this.#voicedMs = this.#risingMs;
    this.#speechStartMs = window.endMs - this.#risingMs;
    this.#rising = 0;
    this.#risingMs = 0;
  }
}
