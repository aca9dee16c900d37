/** Non-INVITE client transaction (RFC 3261 section 17.1.2). */
import type { SipClock } from '../clock.ts';
import type { SipResponse } from '../message/message.ts';
import { T1, T2, T4, TIMEOUT_MS, TimerSet } from './timers.ts';
import type { Outgoing, Wire } from './wire.ts';

export type NictState = 'trying' | 'proceeding' | 'completed' | 'terminated';

export type RequestOutcome =
  | { readonly kind: 'answered'; readonly status: number; readonly response?: SipResponse }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'transport_failed'; readonly detail: string };

export class NonInviteClientTransaction {
  readonly #wire: Wire;
  readonly #timers: TimerSet;
  readonly #request: Outgoing;
  readonly #onOutcome: (outcome: RequestOutcome) => void;
  readonly #onTerminated: () => void;
  #state: NictState = 'trying';

  /** `onOutcome` is called once; `onTerminated` when late responses need no absorbing any more. */
  constructor(request: Outgoing, wire: Wire, clock: SipClock, events: { onOutcome: (outcome: RequestOutcome) => void; onTerminated: () => void }) {
    this.#wire = wire;
    this.#timers = new TimerSet(clock);
    this.#request = request;
    this.#onOutcome = events.onOutcome;
    this.#onTerminated = events.onTerminated;
  }

  get state(): NictState {
    return this.#state;
  }

  start(): void {
    this.#timers.set('F', TIMEOUT_MS, () => this.#fail({ kind: 'timeout' }));
    if (!this.#wire.reliable) this.#retransmit(T1);
    this.#wire.send(this.#request);
  }

  /** `message`: the whole response, handed on with the outcome. */
  response(status: number, message?: SipResponse): void {
    if (this.#state !== 'trying' && this.#state !== 'proceeding') return;
    if (status < 200) {
      this.#state = 'proceeding';
      return;
    }
    this.#state = 'completed';
    this.#timers.clearAll();
    this.#timers.set('K', this.#wire.reliable ? 0 : T4, () => this.terminate());
    this.#onOutcome({ kind: 'answered', status, ...(message === undefined ? {} : { response: message }) });
  }

  transportFailed(detail: string): void {
    if (this.#state === 'trying' || this.#state === 'proceeding') this.#fail({ kind: 'transport_failed', detail });
  }

  terminate(): void {
    if (this.#state === 'terminated') return;
    this.#state = 'terminated';
    this.#timers.clearAll();
    this.#onTerminated();
  }

  #fail(outcome: RequestOutcome): void {
    this.terminate();
    this.#onOutcome(outcome);
  }

  /** Timer E: doubling to T2; always T2 once a provisional response is there. */
  #retransmit(intervalMs: number): void {
    this.#timers.set('E', intervalMs, () => {
      this.#wire.send(this.#request);
      if (this.#state === 'trying') this.#retransmit(Math.min(intervalMs * 2, T2));
      else if (this.#state === 'proceeding') this.#retransmit(T2);
    });
  }
}
