/**
 * Packet loss concealment after G.711 Appendix I: a lost frame repeats the last pitch period, fading to silence over 60 ms;
 * the first good frame is crossfaded with the repetition. Unlike the Appendix it adds no delay: instead of holding back
 * 3.75 ms of sound to blend into the repetition, the repetition itself is blended with the mirrored end of the sound.
 */

const MIN_PITCH_MS = 5;
const MAX_PITCH_MS = 15;
const CORRELATION_MS = 20;
/** Full level, then down to nothing (Appendix I.2.7: 20 % for each further 10 ms). */
const HOLD_MS = 10;
const SILENT_AFTER_MS = 60;
/** Crossfade back: 4 ms and 4 ms more for each 10 ms lost, at most 10. */
const RETURN_MS = 4;
const MAX_RETURN_MS = 10;

export class Concealment {
  readonly #perMs: number;
  readonly #minPitch: number;
  readonly #maxPitch: number;
  readonly #history: Int16Array;
  readonly #period: Float64Array;
  #pitch = 0;
  /** Position in the repeated period. */
  #phase = 0;
  /** Samples concealed in this loss. */
  #concealed = 0;

  constructor(sampleRate: 8000 | 16_000) {
    this.#perMs = sampleRate / 1000;
    this.#minPitch = MIN_PITCH_MS * this.#perMs;
    this.#maxPitch = MAX_PITCH_MS * this.#perMs;
    this.#history = new Int16Array((CORRELATION_MS + MAX_PITCH_MS + 5) * this.#perMs);
    this.#period = new Float64Array(this.#maxPitch);
  }

  /** Takes a good frame, which the next loss will be made from. Its start is changed in place after a loss. */
  good(frame: Int16Array): void {
    if (this.#concealed > 0) this.#blendBack(frame);
    this.#remember(frame);
  }

  /** Fills `out` with what the lost frame may have sounded like; silence once the loss has lasted 60 ms. */
  conceal(out: Int16Array): void {
    const silentAfter = SILENT_AFTER_MS * this.#perMs;
    if (this.#concealed === 0) this.#begin();
    if (this.#concealed >= silentAfter) {
      out.fill(0);
      return;
    }
    for (let i = 0; i < out.length; i++) out[i] = Math.round(this.#next());
    if (this.#concealed >= silentAfter) this.#history.fill(0);
  }

  reset(): void {
    this.#history.fill(0);
    this.#concealed = 0;
  }

  #remember(frame: Int16Array): void {
    const history = this.#history;
    const keep = Math.max(0, history.length - frame.length);
    history.copyWithin(0, history.length - keep);
    history.set(keep > 0 ? frame : frame.subarray(frame.length - history.length), keep);
  }

  /** One more sample of the repetition at its faded level. */
  #next(): number {
    const hold = HOLD_MS * this.#perMs;
    const fade = (SILENT_AFTER_MS - HOLD_MS) * this.#perMs;
    const level = this.#concealed < hold ? 1 : Math.max(0, 1 - (this.#concealed - hold) / fade);
    let sample = this.#period[this.#phase]!;
    this.#phase = this.#phase + 1 === this.#pitch ? 0 : this.#phase + 1;
    const overlap = this.#pitch >> 2;
    if (this.#concealed < overlap) {
      // Blend from the mirrored end of the real sound, so that the first sample follows the last one heard.
      const share = (this.#concealed + 1) / (overlap + 1);
      sample = share * sample + (1 - share) * this.#history[this.#history.length - 1 - this.#concealed]!;
    }
    this.#concealed++;
    return sample * level;
  }

  /** Cuts the last pitch period out of the history and blends its end with the period before, so that it repeats without a step. */
  #begin(): void {
    const history = this.#history;
    const end = history.length;
    this.#pitch = this.#findPitch();
    this.#phase = 0;
    const overlap = this.#pitch >> 2;
    for (let i = 0; i < this.#pitch; i++) this.#period[i] = history[end - this.#pitch + i]!;
    for (let i = 0; i < overlap; i++) {
      const at = this.#pitch - overlap + i;
      const share = (i + 1) / (overlap + 1);
      this.#period[at] = (1 - share) * this.#period[at]! + share * history[end - this.#pitch - overlap + i]!;
    }
  }

  /** The lag at which the last 20 ms resemble what came before most (normalised cross-correlation): coarse, then fine. */
  #findPitch(): number {
    let best = this.#minPitch;
    let bestScore = -Infinity;
    for (let lag = this.#minPitch; lag <= this.#maxPitch; lag += 2) {
      const score = this.#likeness(lag, 2);
      if (score > bestScore) [bestScore, best] = [score, lag];
    }
    const coarse = best;
    bestScore = -Infinity;
    for (let lag = Math.max(this.#minPitch, coarse - 1); lag <= Math.min(this.#maxPitch, coarse + 1); lag++) {
      const score = this.#likeness(lag, 1);
      if (score > bestScore) [bestScore, best] = [score, lag];
    }
    return best;
  }

  #likeness(lag: number, step: number): number {
    const history = this.#history;
    let product = 0;
    let energy = 1;
    for (let i = history.length - CORRELATION_MS * this.#perMs; i < history.length; i += step) {
      const past = history[i - lag]!;
      product += history[i]! * past;
      energy += past * past;
    }
    return product / Math.sqrt(energy);
  }

  #blendBack(frame: Int16Array): void {
    const lostMs = this.#concealed / this.#perMs;
    const overlap = Math.min(frame.length, Math.min(MAX_RETURN_MS, RETURN_MS + 0.4 * (lostMs - 10)) * this.#perMs) | 0;
    const silent = this.#concealed >= SILENT_AFTER_MS * this.#perMs;
    for (let i = 0; i < overlap; i++) {
      const share = (i + 1) / (overlap + 1);
      frame[i] = Math.round(share * frame[i]! + (silent ? 0 : (1 - share) * this.#next()));
    }
    this.#concealed = 0;
  }
}
