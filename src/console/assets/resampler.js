/** Streaming sample-rate conversion between any two rates: a Blackman-windowed sinc in phases. Used inside the worklets. */

const ZERO_CROSSINGS = 16;
const PHASES = 256;
/** Of the lower rate's half; the rest is the filter's slope. */
const PASSBAND = 0.92;

export class StreamResampler {
  constructor(fromRate, toRate) {
    this.step = fromRate / toRate;
    const cutoff = Math.min(1, toRate / fromRate) * PASSBAND;
    this.half = Math.ceil(ZERO_CROSSINGS / cutoff);
    this.taps = Array.from({ length: PHASES + 1 }, (_, phase) => tapsAt(phase / PHASES, this.half, cutoff));
    this.input = new Float32Array(this.half * 2);
    this.length = this.half;
    /** Where the next output sample lies in `input`. */
    this.at = this.half;
  }

  /** The output samples that a piece of input completes. */
  process(piece) {
    this.append(piece);
    const output = new Float32Array(Math.max(0, Math.ceil((this.length - this.half - this.at) / this.step)));
    let written = 0;
    for (; this.at + this.half < this.length && written < output.length; this.at += this.step) output[written++] = this.sampleAt(this.at);
    const done = Math.max(0, Math.floor(this.at) - this.half + 1);
    this.input.copyWithin(0, done, this.length);
    this.length -= done;
    this.at -= done;
    return output.subarray(0, written);
  }

  append(piece) {
    if (this.length + piece.length > this.input.length) {
      const larger = new Float32Array((this.length + piece.length) * 2);
      larger.set(this.input.subarray(0, this.length));
      this.input = larger;
    }
    this.input.set(piece, this.length);
    this.length += piece.length;
  }

  sampleAt(at) {
    const whole = Math.floor(at);
    const taps = this.taps[Math.round((at - whole) * PHASES)];
    const from = whole - this.half + 1;
    let sum = 0;
    for (let tap = 0; tap < taps.length; tap++) sum += taps[tap] * this.input[from + tap];
    return sum;
  }
}

/** Taps for an output sample that lies `fraction` behind an input sample; they sum to 1. */
function tapsAt(fraction, half, cutoff) {
  const taps = new Float32Array(half * 2);
  let sum = 0;
  for (let tap = 0; tap < taps.length; tap++) {
    const distance = tap - half + 1 - fraction;
    const x = Math.PI * cutoff * distance;
    const w = distance / half;
    const window = Math.abs(w) >= 1 ? 0 : 0.42 + 0.5 * Math.cos(Math.PI * w) + 0.08 * Math.cos(2 * Math.PI * w);
    taps[tap] = (x === 0 ? 1 : Math.sin(x) / x) * window;
    sum += taps[tap];
  }
  return taps.map((value) => value / sum);
}
