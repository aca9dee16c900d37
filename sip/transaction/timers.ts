/** The timers of RFC 3261 table 4 and RFC 6026, and a set of them that ends together. */
import type { SipClock } from '../clock.ts';

/** Round-trip estimate, ms. */
export const T1 = 500;
/** Longest interval between retransmissions of requests and INVITE responses, ms. */
export const T2 = 4000;
/** How long a message stays in the network, ms. */
export const T4 = 5000;
/** B, F, H, J, L and the wait for an ACK, ms. */
export const TIMEOUT_MS = 64 * T1;

/** Named timers of one owner; setting a name again replaces it. */
export class TimerSet {
  readonly #clock: SipClock;
  readonly #handles = new Map<string, unknown>();

  constructor(clock: SipClock) {
    this.#clock = clock;
  }

  set(name: string, ms: number, run: () => void): void {
    this.clear(name);
    const handle = this.#clock.setTimeout(() => {
      this.#handles.delete(name);
      run();
    }, ms);
    this.#handles.set(name, handle);
  }

  clear(name: string): void {
    const handle = this.#handles.get(name);
    if (handle === undefined) return;
    this.#clock.clear(handle);
    this.#handles.delete(name);
  }

  clearAll(): void {
    for (const handle of this.#handles.values()) this.#clock.clear(handle);
    this.#handles.clear();
  }
}
