import { FRAME_MS, FRAME_SAMPLES, SILENCE, type AudioFrame } from '../../../media/audio-frame.ts';

/** At most this much sound waits; of a longer burst the newest is kept. */
export const MAX_QUEUED_MS = 1000;
/** TCP loses nothing, it is only late: so long we wait for it before we hear silence instead. */
const PATIENCE_MS = 200;
/** A message of 60 ms is this far ahead of its last frame's time without being early. */
const EARLY_MS = 60;
/** Frames whose loudest sample is below this (-40 dBFS) may be left out to fall back in step. */
const QUIET_PEAK = 328;

const MAX_FRAMES = MAX_QUEUED_MS / FRAME_MS;

export interface HeardFigures {
  heardFrames: number;
  /** Silence heard in place of sound that did not come. */
  filledFrames: number;
  /** Quiet frames left out, to make up for silence heard before them. */
  skippedFrames: number;
  /** What came more than a second ahead of its time was not heard. */
  lostFrames: number;
}

/**
 * What a browser says, on our clock: frames as they arrive, silence once their time has run out, one per 20 ms on average.
 * After a stall, what came late is still heard (up to a second of it); quiet frames after it are left out until both clocks
 * agree again. The same evens out a sound card that runs fast or slow.
 */
export class HeardQueue {
  readonly #frames = Array.from({ length: MAX_FRAMES + 1 }, () => new Int16Array(FRAME_SAMPLES));
  readonly #figures: HeardFigures = { heardFrames: 0, filledFrames: 0, skippedFrames: 0, lostFrames: 0 };
  #first = 0;
  #size = 0;
  /** Where on our clock the next frame to be heard begins; undefined: the clock stands still. */
  #heardUntil: number | undefined;
  /** The far end is known not to send: silence needs no patience. */
  #quiet = true;

  /** The far end is connected (again): from now on every 20 ms is heard. */
  start(now: number): void {
    this.#heardUntil = now;
    this.#quiet = false;
  }

  /** The far end is away: nothing is heard until `start`. */
  pause(): void {
    this.#heardUntil = undefined;
    this.#size = 0;
  }

  /** The far end said that it stops sending; what it said before is still heard. */
  mute(): void {
    this.#quiet = true;
  }

  /** Takes a copy. A full queue loses its oldest frame. */
  push(frame: AudioFrame): void {
    this.#frames[(this.#first + this.#size) % this.#frames.length]!.set(frame);
    this.#quiet = false;
    if (this.#size < MAX_FRAMES) {
      this.#size++;
      return;
    }
    this.#first = (this.#first + 1) % this.#frames.length;
    this.#figures.lostFrames++;
  }

  /** The next frame, valid until a second of sound has been pushed after it. */
  read(now: number): AudioFrame | undefined {
    if (this.#heardUntil === undefined) return undefined;
    const frame = this.#take(this.#heardUntil - now);
    if (frame) return this.#heard(frame, this.#heardUntil);
    const lateMs = now - this.#heardUntil;
    if (lateMs > PATIENCE_MS) this.#quiet = true;
    if (!this.#quiet || lateMs < FRAME_MS) return undefined;
    this.#figures.filledFrames++;
    return this.#heard(SILENCE, this.#heardUntil);
  }

  get lostFrames(): number {
    return this.#figures.lostFrames;
  }

  figures(): HeardFigures {
    return { ...this.#figures };
  }

  /** The oldest frame; while we are ahead of the clock, quiet ones are passed over, and beyond a second any. */
  #take(aheadMs: number): AudioFrame | undefined {
    while (this.#size > 0) {
      const frame = this.#frames[this.#first]!;
      this.#first = (this.#first + 1) % this.#frames.length;
      this.#size--;
      if (aheadMs < EARLY_MS) return frame;
      if (isQuiet(frame)) this.#figures.skippedFrames++;
      else if (aheadMs < MAX_QUEUED_MS) return frame;
      else this.#figures.lostFrames++;
    }
    return undefined;
  }

  #heard(frame: AudioFrame, from: number): AudioFrame {
    this.#heardUntil = from + FRAME_MS;
    this.#figures.heardFrames++;
    return frame;
  }
}

function isQuiet(frame: AudioFrame): boolean {
  for (const sample of frame) if (sample > QUIET_PEAK || sample < -QUIET_PEAK) return false;
  return true;
}
