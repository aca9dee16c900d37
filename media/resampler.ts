/**
 * Streaming sample-rate conversion between 8, 16, 24 and 48 kHz: a Kaiser-windowed sinc, polyphase. The passband is flat to
 * 85 % of the lower rate's half (3.4 kHz at 8 kHz); what would fold into it is at least 60 dB down. For browsers, vendors and
 * recordings: linear phase, and twice or half the rate (a filter whose every second tap is zero) by an unrolled kernel. The
 * telephone's frames go through half-band.ts.
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
    this.#work = new Float64Array(this.#filter === undefined ? 0 : this.#filter.past + BLOCK + 4);
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

/** The odd taps of the half-band filter (every even one but the centre is zero), summing to 1. */
function halfBandTaps(): Float64Array {
  const taps = new Float64Array(2 * SIDE);
  let sum = 0;
  for (let k = 0; k < 2 * SIDE; k++) {
    const offset = 2 * (k - SIDE) + 1;
    const x = (Math.PI * offset) / 2;
    taps[k] = (Math.sin(x) / x) * kaiser(offset / (2 * SIDE));
    sum += taps[k]!;
  }
  return taps.map((tap) => tap / sum);
}

const HALF_BAND = halfBandTaps();

function clip(value: number): number {
  return value >= 32767 ? 32767 : value <= -32768 ? -32768 : ((value + 32768.5) | 0) - 32768;
}

/**
 * The half-band taps over `count` positions of `w`, four positions by four taps at a time: each sample loaded serves four
 * sums, which nearly halves the time. Sums may run up to three positions over `count`.
 */
function halfBand(w: Float64Array, count: number, sums: Float64Array): void {
  for (let n = 0; n < count; n += 4) {
    let sum0 = 0;
    let sum1 = 0;
    let sum2 = 0;
    let sum3 = 0;
    let x0 = w[n]!;
    let x1 = w[n + 1]!;
    let x2 = w[n + 2]!;
    for (let k = 0, i = n + 3; k < 2 * SIDE; k += 4, i += 4) {
      const t0 = HALF_BAND[k]!;
      const t1 = HALF_BAND[k + 1]!;
      const t2 = HALF_BAND[k + 2]!;
      const t3 = HALF_BAND[k + 3]!;
      const x3 = w[i]!;
      const x4 = w[i + 1]!;
      const x5 = w[i + 2]!;
      const x6 = w[i + 3]!;
      sum0 += t0 * x0 + t1 * x1 + t2 * x2 + t3 * x3;
      sum1 += t0 * x1 + t1 * x2 + t2 * x3 + t3 * x4;
      sum2 += t0 * x2 + t1 * x3 + t2 * x4 + t3 * x5;
      sum3 += t0 * x3 + t1 * x4 + t2 * x5 + t3 * x6;
      x0 = x4;
      x1 = x5;
      x2 = x6;
    }
    sums[n] = sum0;
    sums[n + 1] = sum1;
    sums[n + 2] = sum2;
    sums[n + 3] = sum3;
  }
}

/** Shared by all resamplers of the thread: holds nothing between two calls. */
const sums = new Float64Array(BLOCK + 4);
const odd = new Float64Array(BLOCK / 2 + 2 * SIDE + 8);

/** Twice the rate: even samples are the input itself, odd ones lie between and take 32 taps. */
class HalfBandUp implements Filter {
  readonly past = 2 * SIDE - 1;
  readonly delay = 2 * SIDE;

  run(w: Float64Array, count: number, out: Int16Array, at: number): number {
    halfBand(w, count, sums);
    for (let n = 0, o = at; n < count; n++, o += 2) {
      out[o] = w[n + SIDE - 1]!;
      out[o + 1] = clip(sums[n]!);
    }
    return 2 * count;
  }

  reset(): void {}
}

/** Half the rate. An odd number of input samples carries over to the next piece. */
class HalfBandDown implements Filter {
  readonly past = 4 * SIDE;
  readonly delay = SIDE;
  /** 1 when the next input sample is one the output skips. */
  #skip = 0;

  run(w: Float64Array, count: number, out: Int16Array, at: number): number {
    const first = this.#skip;
    const written = (count - first + 1) >> 1;
    for (let j = 0, i = first + 1; j < written + 2 * SIDE - 1; j++, i += 2) odd[j] = w[i]!;
    halfBand(odd, written, sums);
    for (let n = 0, i = first + 2 * SIDE; n < written; n++, i += 2) out[at + n] = clip(0.5 * (w[i]! + sums[n]!));
    this.#skip = first + 2 * written - count;
    return written;
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
  /** Taps per phase, a multiple of four. */
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
    this.#taps = 4 * Math.ceil((centre + half + 1) / this.#up / 4);
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
      // Four sums, because one would wait for its own last addition.
      let sum0 = 0;
      let sum1 = 0;
      let sum2 = 0;
      let sum3 = 0;
      for (let k = 0, b = bank, i = first; k < taps; k += 4, b += 4, i += 4) {
        sum0 += banks[b]! * w[i]!;
        sum1 += banks[b + 1]! * w[i + 1]!;
        sum2 += banks[b + 2]! * w[i + 2]!;
        sum3 += banks[b + 3]! * w[i + 3]!;
      }
      out[o++] = clip(sum0 + sum1 + (sum2 + sum3));
    }
    this.#position = position - count * up;
    return o - at;
  }

  reset(): void {
    this.#position = 0;
  }
}
