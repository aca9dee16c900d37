/**
 * Streaming sample-rate conversion between 8, 16, 24 and 48 kHz: a Kaiser-windowed sinc, polyphase. The passband is flat to
 * 85 % of the lower rate's half (3.4 kHz at 8 kHz); what would fold into it is at least 60 dB down. Telephone audio only ever
 * crosses 8 ↔ 16 kHz, whose half-band filter has every second tap zero and gets an unrolled kernel.
 */

export type SampleRate = 8000 | 16_000 | 24_000 | 48_000;

const RATES: readonly number[] = [8000, 16_000, 24_000, 48_000];
const KAISER_BETA = 7;
/** Input samples filtered in one go. */
const BLOCK = 960;
/** Non-zero taps on each side of the half-band filter's centre. */
const SIDE = 16;

/** What the kernels work on: `work` holds the filter's past and then one block of input. */
interface Filter {
  /** Samples of the past the filter needs. */
  readonly past: number;
  /** Delay in samples at the output rate: a whole number. */
  readonly delay: number;
  /** Filters the `count` input samples behind `past` in `work`; returns the samples written to `out` from `at` on. */
  run(work: Float64Array, count: number, out: Int16Array, at: number): number;
  reset(): void;
}

export class Resampler {
  readonly fromRate: number;
  readonly toRate: number;
  /** How much later a sound leaves than it entered. */
  readonly delayMs: number;
  readonly #filter: Filter | undefined;
  readonly #work: Float64Array;

  /** Throws RangeError for a rate other than 8000, 16000, 24000 or 48000. */
  constructor(fromRate: number, toRate: number) {
    for (const rate of [fromRate, toRate]) {
      if (!RATES.includes(rate)) throw new RangeError(`Cannot resample from ${fromRate} to ${toRate} Hz: rates are ${RATES.join(', ')}`);
    }
    this.fromRate = fromRate;
    this.toRate = toRate;
    this.#filter = filterFor(fromRate, toRate);
    this.delayMs = this.#filter === undefined ? 0 : (this.#filter.delay / toRate) * 1000;
    this.#work = new Float64Array(this.#filter === undefined ? 0 : this.#filter.past + BLOCK);
  }

  /**
   * Converts the next piece of the stream and returns the samples written to `output`, which must have room for
   * ceil(input × to / from) of them (RangeError). A 20 ms frame always gives exactly a 20 ms frame. Allocates nothing.
   */
  process(input: Int16Array, output: Int16Array): number {
    if (output.length < Math.ceil((input.length * this.toRate) / this.fromRate)) {
      throw new RangeError(`Resampling ${input.length} samples from ${this.fromRate} to ${this.toRate} Hz needs a larger output than ${output.length}`);
    }
    const filter = this.#filter;
    if (filter === undefined) {
      output.set(input);
      return input.length;
    }
    const work = this.#work;
    let written = 0;
    for (let from = 0; from < input.length; from += BLOCK) {
      const count = Math.min(BLOCK, input.length - from);
      for (let i = 0, w = filter.past; i < count; i++, w++) work[w] = input[from + i]!;
      written += filter.run(work, count, output, written);
      work.copyWithin(0, count, count + filter.past);
    }
    return written;
  }

  /** Forgets the past: the next sample is the first of a new stream. */
  reset(): void {
    this.#work.fill(0);
    this.#filter?.reset();
  }
}

/** Converts a whole recording, aligned with the input (the filter's delay is taken out) and as long as it. */
export function resampleAll(samples: Int16Array, fromRate: number, toRate: number): Int16Array {
  const resampler = new Resampler(fromRate, toRate);
  const tail = new Int16Array(Math.ceil((resampler.delayMs * fromRate) / 1000));
  const ratio = toRate / fromRate;
  const out = new Int16Array(Math.ceil(samples.length * ratio) + Math.ceil(tail.length * ratio) + 2);
  const body = resampler.process(samples, out);
  resampler.process(tail, out.subarray(body));
  const skip = Math.round((resampler.delayMs * toRate) / 1000);
  return out.slice(skip, skip + Math.round(samples.length * ratio));
}

function filterFor(fromRate: number, toRate: number): Filter | undefined {
  if (fromRate === toRate) return undefined;
  if (toRate === 2 * fromRate) return new HalfBandUp();
  if (fromRate === 2 * toRate) return new HalfBandDown();
  return new Polyphase(fromRate, toRate);
}

/** Modified Bessel function of the first kind, order 0. */
function bessel0(x: number): number {
  let sum = 1;
  for (let k = 1, term = 1; k < 40; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

/** Kaiser window at `x` in [-1, 1]. */
function kaiser(x: number): number {
  return Math.abs(x) >= 1 ? 0 : bessel0(KAISER_BETA * Math.sqrt(1 - x * x)) / bessel0(KAISER_BETA);
}

/** One side of the half-band filter, outermost tap first, both sides summing to 1. */
function halfBandSide(): Float64Array {
  const taps = new Float64Array(SIDE);
  let sum = 0;
  for (let k = 0; k < SIDE; k++) {
    const offset = 2 * (SIDE - k) - 1;
    taps[k] = (Math.sin((Math.PI * offset) / 2) / ((Math.PI * offset) / 2)) * kaiser(offset / (2 * SIDE));
    sum += 2 * taps[k]!;
  }
  return taps.map((tap) => tap / sum);
}

const SIDE_TAPS = halfBandSide();

function clip(value: number): number {
  return value >= 32767 ? 32767 : value <= -32768 ? -32768 : ((value + 32768.5) | 0) - 32768;
}

/** Twice the rate: even samples are the input itself, odd ones lie between and take 32 taps. */
class HalfBandUp implements Filter {
  readonly past = 2 * SIDE - 1;
  readonly delay = 2 * SIDE;

  run(w: Float64Array, count: number, out: Int16Array, at: number): number {
    const [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15] = SIDE_TAPS as unknown as SideTaps;
    for (let n = 0, o = at; n < count; n++, o += 2) {
      out[o] = w[n + 15]!;
      const near = c8 * (w[n + 8]! + w[n + 23]!) + c9 * (w[n + 9]! + w[n + 22]!) + c10 * (w[n + 10]! + w[n + 21]!) + c11 * (w[n + 11]! + w[n + 20]!)
        + c12 * (w[n + 12]! + w[n + 19]!) + c13 * (w[n + 13]! + w[n + 18]!) + c14 * (w[n + 14]! + w[n + 17]!) + c15 * (w[n + 15]! + w[n + 16]!);
      const far = c0 * (w[n]! + w[n + 31]!) + c1 * (w[n + 1]! + w[n + 30]!) + c2 * (w[n + 2]! + w[n + 29]!) + c3 * (w[n + 3]! + w[n + 28]!)
        + c4 * (w[n + 4]! + w[n + 27]!) + c5 * (w[n + 5]! + w[n + 26]!) + c6 * (w[n + 6]! + w[n + 25]!) + c7 * (w[n + 7]! + w[n + 24]!);
      out[o + 1] = clip(far + near);
    }
    return 2 * count;
  }

  reset(): void {}
}

type SideTaps = readonly [number, number, number, number, number, number, number, number, number, number, number, number, number, number, number, number];

/** Half the rate. An odd number of input samples carries over to the next piece. */
class HalfBandDown implements Filter {
  readonly past = 4 * SIDE;
  readonly delay = SIDE;
  /** 1 when the next input sample is one the output skips. */
  #skip = 0;

  run(w: Float64Array, count: number, out: Int16Array, at: number): number {
    const [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15] = SIDE_TAPS as unknown as SideTaps;
    let o = at;
    let n = this.#skip;
    for (; n < count; n += 2) {
      const near = c8 * (w[n + 17]! + w[n + 47]!) + c9 * (w[n + 19]! + w[n + 45]!) + c10 * (w[n + 21]! + w[n + 43]!) + c11 * (w[n + 23]! + w[n + 41]!)
        + c12 * (w[n + 25]! + w[n + 39]!) + c13 * (w[n + 27]! + w[n + 37]!) + c14 * (w[n + 29]! + w[n + 35]!) + c15 * (w[n + 31]! + w[n + 33]!);
      const far = c0 * (w[n + 1]! + w[n + 63]!) + c1 * (w[n + 3]! + w[n + 61]!) + c2 * (w[n + 5]! + w[n + 59]!) + c3 * (w[n + 7]! + w[n + 57]!)
        + c4 * (w[n + 9]! + w[n + 55]!) + c5 * (w[n + 11]! + w[n + 53]!) + c6 * (w[n + 13]! + w[n + 51]!) + c7 * (w[n + 15]! + w[n + 49]!);
      out[o++] = clip(0.5 * (w[n + 32]! + far + near));
    }
    this.#skip = n - count;
    return o - at;
  }

  reset(): void {
    this.#skip = 0;
  }
}

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b));

/** Any ratio up/down: one bank of taps for each of `up` phases. */
class Polyphase implements Filter {
  readonly past: number;
  readonly delay: number;
  readonly #up: number;
  readonly #down: number;
  /** Taps per phase. */
  readonly #taps: number;
  readonly #banks: Float64Array;
  /** Where the next output sample lies, in 1/up input samples from the next input sample. */
  #position = 0;

  constructor(fromRate: number, toRate: number) {
    const divisor = greatestCommonDivisor(fromRate, toRate);
    this.#up = toRate / divisor;
    this.#down = fromRate / divisor;
    // Half the filter's length at up × fromRate: as long, against the lower rate, as the half-band filter.
    const slower = Math.max(this.#up, this.#down);
    const half = 2 * SIDE * (slower / 2);
    const whole = this.#up * this.#down;
    const centre = Math.ceil(half / whole) * whole;
    this.delay = centre / this.#down;
    this.#taps = Math.ceil((centre + half + 1) / this.#up);
    this.past = this.#taps - 1;
    this.#banks = new Float64Array(this.#up * this.#taps);
    for (let phase = 0; phase < this.#up; phase++) this.#fillBank(phase, centre, half, slower);
  }

  #fillBank(phase: number, centre: number, half: number, slower: number): void {
    const bank = phase * this.#taps;
    let sum = 0;
    for (let k = 0; k < this.#taps; k++) {
      const offset = phase + (this.#taps - 1 - k) * this.#up - centre;
      const x = (Math.PI * offset) / slower;
      const tap = (offset === 0 ? 1 : Math.sin(x) / x) * kaiser(offset / (half + 1));
      this.#banks[bank + k] = tap;
      sum += tap;
    }
    for (let k = 0; k < this.#taps; k++) this.#banks[bank + k]! /= sum;
  }

  run(w: Float64Array, count: number, out: Int16Array, at: number): number {
    const up = this.#up;
    const taps = this.#taps;
    const banks = this.#banks;
    let position = this.#position;
    let o = at;
    for (; position < count * up; position += this.#down) {
      const first = Math.floor(position / up);
      const bank = (position - first * up) * taps;
      let sum = 0;
      for (let k = 0; k < taps; k++) sum += banks[bank + k]! * w[first + k]!;
      out[o++] = clip(sum);
    }
    this.#position = position - count * up;
    return o - at;
  }

  reset(): void {
    this.#position = 0;
  }
}
