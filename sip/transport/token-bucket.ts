/** Message rates per source address, in a table of bounded size. */
import type { SipClock } from '../clock.ts';

interface Bucket {
  tokens: number;
  at: number;
}

export class TokenBuckets {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #maxSources: number;
  readonly #clock: SipClock;
  /** In order of last use: the first is dropped when the table is full. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: { perSecond: number; burst: number; maxSources: number; clock: SipClock }) {
    this.#perSecond = options.perSecond;
    this.#burst = options.burst;
    this.#maxSources = options.maxSources;
    this.#clock = options.clock;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** Takes one token of `key`; false when there is none. */
  take(key: string): boolean {
    const now = this.#clock.now();
    const known = this.#buckets.get(key);
    const bucket = known ?? { tokens: this.#burst, at: now };
    bucket.tokens = Math.min(this.#burst, bucket.tokens + (Math.max(0, now - bucket.at) * this.#perSecond) / 1000);
    bucket.at = now;
    this.#buckets.delete(key);
    if (known === undefined && this.#buckets.size >= this.#maxSources) {
      const [oldest] = this.#buckets.keys();
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    this.#buckets.set(key, bucket);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }
}
