import ipaddr from 'ipaddr.js';
import type { Clock } from '../clock.ts';

/** A token bucket's size: `perSecond` on average, `burst` at once. */
export interface Rate { perSecond: number; burst: number }

export interface RateLimits {
  read: Rate;
  write: Rate;
  /** Requests that place a call. */
  call: Rate;
  accountRead: Rate;
  accountWrite: Rate;
  /** Requests without a valid key, per address. */
  unauthenticated: Rate;
  /** Requests for what anybody may have, per address. */
  public: Rate;
}

/** Requests a second: of a key (`read`, `write`, `call`), of an account, of an address without a valid key. */
export const RATES_PER_SECOND: Readonly<Record<keyof RateLimits, number>> = { read: 100, write: 25, call: 5, accountRead: 400, accountWrite: 100, unauthenticated: 5, public: 50 };
/** How much may come at once, in seconds of the rate; strangers get ten, for a page loads many things. */
const BURST_SECONDS = 2;
const STRANGERS_BURST_SECONDS = 10;

/** The limits with some of the rates changed. */
export function rateLimits(changed: Readonly<Partial<Record<string, number>>> = {}): RateLimits {
  const limit = (name: keyof RateLimits, burstSeconds = BURST_SECONDS): Rate => {
    const perSecond = changed[name] ?? RATES_PER_SECOND[name];
    return { perSecond, burst: Math.max(1, Math.ceil(perSecond * burstSeconds)) };
  };
  return {
    read: limit('read'), write: limit('write'), call: limit('call'), accountRead: limit('accountRead'), accountWrite: limit('accountWrite'),
    unauthenticated: limit('unauthenticated', STRANGERS_BURST_SECONDS), public: limit('public'),
  };
}

export interface Verdict {
  allowed: boolean;
  remaining: number;
  /** Whole seconds until the bucket is full again. */
  resetSeconds: number;
  /** Whole seconds after which a request is admitted; 0 when this one was. */
  retryAfterSeconds: number;
}

/** Buckets kept; the longest unused goes first, which can only be generous to it. */
const MAX_BUCKETS = 20_000;

/** Token buckets in this process, by name. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes one token. */
  take(name: string, rate: Rate): Verdict {
    const now = this.#clock.now();
    const before = this.#buckets.get(name) ?? { tokens: rate.burst, atMs: now };
    const filled = Math.min(rate.burst, before.tokens + (Math.max(0, now - before.atMs) / 1000) * rate.perSecond);
    const allowed = filled >= 1;
    const tokens = allowed ? filled - 1 : filled;
    this.#buckets.delete(name);
    this.#buckets.set(name, { tokens, atMs: now });
    if (this.#buckets.size > MAX_BUCKETS) this.#buckets.delete(this.#buckets.keys().next().value ?? '');
    return {
      allowed,
      remaining: Math.floor(tokens),
      resetSeconds: Math.ceil((rate.burst - tokens) / rate.perSecond),
      retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - tokens) / rate.perSecond)),
    };
  }
}

/** `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers). */
export function rateLimitHeaders(policy: string, rate: Rate, verdict: Verdict): Record<string, string> {
  return {
    'RateLimit-Policy': `"${policy}";q=${rate.burst};w=${Math.ceil(rate.burst / rate.perSecond)}`,
    'RateLimit': `"${policy}";r=${verdict.remaining};t=${verdict.resetSeconds}`,
  };
}

/** One household or server: an IPv4 address, or an IPv6 /64. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.') || !ipaddr.IPv6.isValid(address)) return address;
  return ipaddr.IPv6.parse(address).parts.slice(0, 4).map((part) => part.toString(16)).join(':');
}
