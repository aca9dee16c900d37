/** Interarrival jitter (RFC 3550 6.4.1, A.8), the wait it makes worth while, and the quickest way a stream has come. */

const BASE_WAIT_MS = 10;
const MAX_WAIT_MS = 120;
/** One outlier must not hold the listener for seconds. */
const MAX_STEP_MS = 250;
/** How long after the first packet a quicker one still corrects the stream's start: the first may have been slow itself. */
const DISCOVERY_MS = 3_000;
/** 2^32 timestamp units at 8 kHz, in milliseconds. */
const WRAP_MS = 2 ** 32 / 8;

export class TransitJitter {
  #jitterMs = 0;
  /** NaN before a stream's first packet. */
  #transit = Number.NaN;
  #quickest = 0;
  #discoverUntil: number | undefined;

  get jitterMs(): number {
    return this.#jitterMs;
  }

  /** How long a missing packet is waited for past its time, 10 to 120 ms. */
  get waitMs(): number {
    return Math.min(MAX_WAIT_MS, BASE_WAIT_MS + 2 * this.#jitterMs);
  }

  /**
   * Takes a packet's sending time (its timestamp in ms) and arrival. Returns by how many ms the stream turns out to have
   * started earlier than thought; only ever above 0 in the first seconds of the first stream.
   */
  arrival(sentMs: number, nowMs: number): number {
    const transit = nowMs - sentMs;
    if (Number.isNaN(this.#transit)) {
      this.#transit = transit;
      this.#quickest = transit;
      this.#discoverUntil ??= nowMs + DISCOVERY_MS;
      return 0;
    }
    let step = transit - this.#transit;
    this.#transit = transit;
    if (Math.abs(step) > WRAP_MS / 2) {
      // The timestamp wrapped between the two packets: the same clock goes on.
      this.#quickest += Math.sign(step) * WRAP_MS;
      step -= Math.sign(step) * WRAP_MS;
    }
    this.#jitterMs += (Math.min(MAX_STEP_MS, Math.abs(step)) - this.#jitterMs) / 16;
    const quicker = this.#quickest - transit;
    if (quicker <= 0) return 0;
    this.#quickest = transit;
    return nowMs < this.#discoverUntil! && quicker < MAX_STEP_MS ? quicker : 0;
  }

  /** Another stream: its timestamps have another origin. */
  restart(): void {
    this.#transit = Number.NaN;
    if (this.#discoverUntil !== undefined) this.#discoverUntil = -Infinity;
  }
}
