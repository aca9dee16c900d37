import { StreamResampler } from './resampler.js';

/** Sound must wait for so long before it is played: it evens out the network. */
const PRIME_MS = 80;
/** More than this waiting is delay for nothing: quiet pieces are left out until it is less. */
const LONG_MS = 200;
const MAX_MS = 2000;
/** Peak of a quiet piece, of 32768 (-40 dB). */
const QUIET_PEAK = 328;
/** How much of the last sample is left one sample later when sound stops: no click. */
const FADE = 0.96;

/** A small jitter buffer that knows which item is heard, and how far. Pure: the worklet's clock is how often `fill` is called. */
export class PlaybackBuffer {
  constructor(fromRate, toRate) {
    this.rate = toRate;
    this.resampler = new StreamResampler(fromRate, toRate);
    this.ring = new Float32Array(Math.ceil((MAX_MS / 1000) * toRate));
    this.written = 0;
    this.played = 0;
    this.primed = false;
    this.last = 0;
    this.fade = 0;
    /** Starts and ends of items, and pieces left out, still to be reached. */
    this.marks = [];
    this.item = undefined;
  }

  get waitingMs() {
    return ((this.written - this.played) / this.rate) * 1000;
  }

  /** PCM16 from the wire. */
  push(samples) {
    if (this.waitingMs > LONG_MS && samples.every((sample) => Math.abs(sample) < QUIET_PEAK)) return this.skip(samples.length);
    const floats = this.resampler.process(Float32Array.from(samples, (sample) => sample / 32768));
    for (const sample of floats) this.ring[this.written++ % this.ring.length] = sample;
    if (this.written - this.played > this.ring.length) this.played = this.written - this.ring.length;
  }

  /** Left out, but as good as heard once what waits before it is: the item's position counts it then. */
  skip(samples) {
    const skipped = samples / this.resampler.step;
    const last = this.marks.at(-1);
    if (last?.skipped && last.at === this.written) last.skipped += skipped;
    else this.marks.push({ at: this.written, skipped });
  }

  start(itemId) {
    this.marks.push({ at: this.written, itemId });
  }

  end() {
    this.marks.push({ at: this.written, itemId: undefined });
  }

  /** Forgets what waits, and the item; returns how far it was heard. */
  clear() {
    const position = this.position();
    this.played = this.written;
    this.marks = [];
    this.item = undefined;
    this.stop();
    return position;
  }

  /** Fills `output`; returns the final position of an item that ended within it. */
  fill(output) {
    let finished;
    if (!this.primed) this.primed = this.waitingMs >= PRIME_MS;
    for (let index = 0; index < output.length; index++) {
      if (this.primed && this.played === this.written) this.stop();
      finished = this.reachMarks() ?? finished;
      const sample = this.primed ? this.ring[this.played++ % this.ring.length] : 0;
      this.fade *= FADE;
      this.last = sample + this.fade;
      output[index] = this.last;
    }
    return finished;
  }

  /** How far the item that is heard has come. */
  position() {
    if (!this.item) return undefined;
    return { itemId: this.item.itemId, playedMs: Math.max(0, Math.round(((this.played - this.item.from) / this.rate) * 1000)) };
  }

  reachMarks() {
    let finished;
    while (this.marks.length > 0 && this.marks[0].at <= this.played) {
      const { at, itemId, skipped } = this.marks.shift();
      if (skipped) {
        if (this.item) this.item.from -= skipped;
        continue;
      }
      finished = this.position() ?? finished;
      this.item = itemId === undefined ? undefined : { itemId, from: at };
    }
    return finished;
  }

  stop() {
    this.primed = false;
    this.fade = this.last;
  }
}
