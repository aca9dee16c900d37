/** A 2xx to INVITE, repeated end to end until its ACK is there (RFC 3261 section 13.3.1.4). */
import type { SipClock } from '../clock.ts';
import { T1, T2, TIMEOUT_MS, TimerSet } from '../transaction/timers.ts';

export class FinalAnswer {
  /** CSeq number of the INVITE, and of the ACK that is awaited. */
  readonly sequence: number;
  /** True when our 2xx carried the offer: the ACK brings the answer. */
  readonly awaitsAnswer: boolean;
  readonly #timers: TimerSet;
  readonly #send: () => void;

  /** Sends at once, then after T1, doubling up to T2, over any transport; `onTimeout` after 64*T1 without `stop`. */
  constructor(options: { sequence: number; awaitsAnswer: boolean; clock: SipClock; send: () => void; onTimeout: () => void }) {
    this.sequence = options.sequence;
    this.awaitsAnswer = options.awaitsAnswer;
    this.#timers = new TimerSet(options.clock);
    this.#send = options.send;
    this.#timers.set('timeout', TIMEOUT_MS, () => {
      this.stop();
      options.onTimeout();
    });
    this.#repeat(T1);
    this.#send();
  }

  /** The ACK came, or the dialog is over. */
  stop(): void {
    this.#timers.clearAll();
  }

  #repeat(intervalMs: number): void {
    this.#timers.set('repeat', intervalMs, () => {
      this.#repeat(Math.min(intervalMs * 2, T2));
      this.#send();
    });
  }
}
