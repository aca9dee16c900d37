/** A clock that stands still until it is told to move. */
import type { SipClock } from '../../../sip/clock.ts';

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

export class FakeClock implements SipClock {
  #now = 1_000_000;
  #order = 0;
  readonly #timers = new Map<number, Timer>();

  now(): number {
    return this.#now;
  }

  setTimeout(run: () => void, ms: number): unknown {
    const order = ++this.#order;
    this.#timers.set(order, { at: this.#now + ms, order, run });
    return order;
  }

  clear(handle: unknown): void {
    this.#timers.delete(handle as number);
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** Moves time, running what is due in its order. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const due = [...this.#timers.values()].filter((timer) => timer.at <= until).toSorted((a, b) => a.at - b.at || a.order - b.order)[0];
      if (due === undefined) break;
      this.#timers.delete(due.order);
      this.#now = due.at;
      due.run();
    }
    this.#now = until;
  }
}
