/** Non-INVITE server transaction (RFC 3261 section 17.2.2). */
import type { SipClock } from '../clock.ts';
import { TIMEOUT_MS, TimerSet } from './timers.ts';
import type { Outgoing, Wire } from './wire.ts';

export type NistState = 'trying' | 'proceeding' | 'completed' | 'terminated';

export class NonInviteServerTransaction {
  readonly #wire: Wire;
  readonly #timers: TimerSet;
  readonly #onTerminated: () => void;
  #state: NistState = 'trying';
  #last: Outgoing | undefined;

  constructor(wire: Wire, clock: SipClock, onTerminated: () => void) {
    this.#wire = wire;
    this.#timers = new TimerSet(clock);
    this.#onTerminated = onTerminated;
  }

  get state(): NistState {
    return this.#state;
  }

  /** The same request again: answered with what was said last, absorbed before that. */
  retransmission(): void {
    if (this.#last !== undefined) this.#wire.send(this.#last);
  }

  /** Sends a response; after a final one, nothing more. */
  respond(status: number, message: Outgoing): void {
    if (this.#state === 'completed' || this.#state === 'terminated') return;
    this.#last = message;
    this.#state = status < 200 ? 'proceeding' : 'completed';
    // Timer J first: a send that fails at once terminates and must find it.
    if (status >= 200) this.#timers.set('J', this.#wire.reliable ? 0 : TIMEOUT_MS, () => this.terminate());
    this.#wire.send(message);
  }

  terminate(): void {
    if (this.#state === 'terminated') return;
    this.#state = 'terminated';
    this.#timers.clearAll();
    this.#onTerminated();
  }
}
