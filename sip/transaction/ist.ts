/** INVITE server transaction (RFC 3261 section 17.2.1 with the Accepted state of RFC 6026). */
import type { SipClock } from '../clock.ts';
import { T1, T2, T4, TIMEOUT_MS, TimerSet } from './timers.ts';
import type { Outgoing, Wire } from './wire.ts';

export type IstState = 'proceeding' | 'accepted' | 'completed' | 'confirmed' | 'terminated';

export class InviteServerTransaction {
  readonly #wire: Wire;
  readonly #timers: TimerSet;
  readonly #onTerminated: () => void;
  #state: IstState = 'proceeding';
  #last: Outgoing | undefined;

  constructor(wire: Wire, clock: SipClock, onTerminated: () => void) {
    this.#wire = wire;
    this.#timers = new TimerSet(clock);
    this.#onTerminated = onTerminated;
  }

  get state(): IstState {
    return this.#state;
  }

  /** The same INVITE again: answered with what was said last, absorbed once it is accepted or acknowledged. */
  retransmission(): void {
    if (this.#last !== undefined && (this.#state === 'proceeding' || this.#state === 'completed')) this.#wire.send(this.#last);
  }

  /** Sends a response. After a 2xx only further 2xx pass (the dialog retransmits them); after another final answer, nothing. */
  respond(status: number, message: Outgoing): void {
    if (this.#state === 'accepted' && status >= 200 && status < 300) this.#wire.send(message);
    if (this.#state !== 'proceeding') return;
    this.#last = message;
    this.#wire.send(message);
    // Sending may have failed at once and ended the transaction.
    if (status < 200 || this.#ended()) return;
    if (status < 300) {
      this.#state = 'accepted';
      this.#timers.set('L', TIMEOUT_MS, () => this.terminate());
      return;
    }
    this.#state = 'completed';
    this.#timers.set('H', TIMEOUT_MS, () => this.terminate());
    if (!this.#wire.reliable) this.#retransmit(T1);
  }

  /** An ACK with this transaction's branch. `dialog`: it acknowledges a 2xx and belongs to the dialog. */
  ack(): 'absorbed' | 'dialog' {
    if (this.#state === 'accepted') return 'dialog';
    if (this.#state === 'completed') {
      this.#state = 'confirmed';
      this.#timers.clearAll();
      if (this.#wire.reliable) this.terminate();
      else this.#timers.set('I', T4, () => this.terminate());
    }
    return 'absorbed';
  }

  terminate(): void {
    if (this.#state === 'terminated') return;
    this.#state = 'terminated';
    this.#timers.clearAll();
    this.#onTerminated();
  }

  #ended(): boolean {
    return this.#state === 'terminated';
  }

  #retransmit(intervalMs: number): void {
    this.#timers.set('G', intervalMs, () => {
      if (this.#last !== undefined) this.#wire.send(this.#last);
      if (!this.#ended()) this.#retransmit(Math.min(intervalMs * 2, T2));
    });
  }
}
