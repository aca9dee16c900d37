import { FRAME_SAMPLES, SAMPLE_RATE } from '../../../media/audio-frame.ts';

/** Longer clips cost the encoder more than linear time and lose words: cut there. */
const MAX_CLIP_SAMPLES = 12 * SAMPLE_RATE;
/** The cut is looked for in the last four seconds. */
const CUT_SEARCH_SAMPLES = 4 * SAMPLE_RATE;
/** The cut goes to the middle of the quietest stretch of this length. */
const CUT_WINDOW_FRAMES = 8;

/** PCM of a growing clip of one utterance, up to about twelve seconds. */
export class Clip {
  #pcm = new Int16Array(4 * SAMPLE_RATE);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(samples: Int16Array): void {
    const end = this.#length + samples.length;
    if (end > this.#pcm.length) {
      const grown = new Int16Array(Math.max(end, this.#pcm.length * 2));
      grown.set(this.#pcm.subarray(0, this.#length));
      this.#pcm = grown;
    }
    this.#pcm.set(samples, this.#length);
    this.#length = end;
  }

  get mustCut(): boolean {
    return this.#length >= MAX_CLIP_SAMPLES;
  }

  /** Energy of its loudest frame. */
  peakEnergy(): number {
    let peak = 0;
    for (let at = 0; at + FRAME_SAMPLES <= this.#length; at += FRAME_SAMPLES) peak = Math.max(peak, this.#energy(at));
    return peak;
  }

  /** A copy that may be transferred to another thread. */
  copy(): Int16Array<ArrayBuffer> {
    return this.#pcm.slice(0, this.#length);
  }

  /** Takes the part before the quietest place near the end away and returns it; the rest stays. */
  cut(): Int16Array<ArrayBuffer> {
    const at = this.#quietestPlace();
    const head = this.#pcm.slice(0, at);
    this.#pcm.copyWithin(0, at, this.#length);
    this.#length -= at;
    return head;
  }

  #quietestPlace(): number {
    const first = Math.max(0, Math.floor((this.#length - CUT_SEARCH_SAMPLES) / FRAME_SAMPLES));
    const frames = Math.floor(this.#length / FRAME_SAMPLES);
    const energies: number[] = [];
    for (let frame = first; frame < frames; frame++) energies.push(this.#energy(frame * FRAME_SAMPLES));
    let best = 0;
    let bestEnergy = Infinity;
    for (let i = 0; i + CUT_WINDOW_FRAMES <= energies.length; i++) {
      let sum = 0;
      for (let k = 0; k < CUT_WINDOW_FRAMES; k++) sum += energies[i + k] ?? 0;
      if (sum < bestEnergy) {
        bestEnergy = sum;
        best = i;
      }
    }
    return (first + best + CUT_WINDOW_FRAMES / 2) * FRAME_SAMPLES;
  }

  #energy(from: number): number {
    let sum = 0;
    for (let i = from; i < from + FRAME_SAMPLES; i++) sum += (this.#pcm[i] ?? 0) ** 2;
    return sum;
  }
}

/** The last moments before an utterance opens, so that its first sound is not lost to the detector's delay. */
export class PreRoll {
  readonly #capacity: number;
  #frames: Int16Array[] = [];

  /** `ms`: how much to keep. */
  constructor(ms: number) {
    this.#capacity = Math.ceil((ms * SAMPLE_RATE) / 1000 / FRAME_SAMPLES);
  }

  /** Copies the frame. */
  write(frame: Int16Array): void {
    const reused = this.#frames.length >= this.#capacity ? this.#frames.shift() : undefined;
    if (reused?.length === frame.length) {
      reused.set(frame);
      this.#frames.push(reused);
    } else {
      this.#frames.push(frame.slice());
    }
  }

  /** Empties into `clip`. */
  drainInto(clip: Clip): void {
    for (const frame of this.#frames) clip.append(frame);
    this.#frames = [];
  }
}
