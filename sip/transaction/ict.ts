/** INVITE client transaction (RFC 3261 section 17.1.1 with the Accepted state of RFC 6026). */
import type { SipClock } from '../clock.ts';
import type { RequestOutcome } from './nict.ts';
import { T1, TIMEOUT_MS, TimerSet } from './timers.ts';
import type { Outgoing, Wire } from './wire.ts';

export type IctState = 'calling' | 'proceeding' | 'accepted' | 'completed' | 'terminated';

export interface IctEvents<Response> {
  /** Every provisional response, the first refusal, and every 2xx: those of forks and those that come again. */
  onResponse(response: Response): void;
  /** No response at all, or the network failed. */
  onFailed(outcome: Exclude<RequestOutcome, { kind: 'answered' }>): void;
  onTerminated(): void;
}

export class InviteClientTransaction<Response extends { readonly status: number }> {
  readonly #wire: Wire;
  readonly #timers: TimerSet;
  readonly #request: Outgoing;
  readonly #events: IctEvents<Response>;
  readonly #ackFor: (refusal: Response) => Outgoing;
  #state: IctState = 'calling';
  #ack: Outgoing | undefined;

  /** `ackFor` builds the ACK of a refusal; a 2xx is acknowledged by the dialog. */
  constructor(request: Outgoing, ackFor: (refusal: Response) => Outgoing, wire: Wire, clock: SipClock, events: IctEvents<Response>) {
    this.#request = request;
    this.#ackFor = ackFor;
    this.#wire = wire;
    this.#timers = new TimerSet(clock);
    this.#events = events;
  }

  get state(): IctState {
    return this.#state;
  }

  start(): void {
    this.#timers.set('B', TIMEOUT_MS, () => this.#fail({ kind: 'timeout' }));
    if (!this.#wire.reliable) this.#retransmit(T1);
    this.#wire.send(this.#request);
  }

  response(response: Response): void {
    if (response.status >= 300) this.#refused(response);
    else if (this.#state === 'calling' || this.#state === 'proceeding') this.#progress(response);
    else if (this.#state === 'accepted' && response.status >= 200) this.#events.onResponse(response);
  }

  transportFailed(detail: string): void {
    if (this.#state === 'calling' || this.#state === 'proceeding') this.#fail({ kind: 'transport_failed', detail });
    else if (this.#state === 'completed') this.terminate();
  }

  terminate(): void {
    if (this.#state === 'terminated') return;
    this.#state = 'terminated';
    this.#timers.clearAll();
    this.#events.onTerminated();
  }

  #progress(response: Response): void {
    this.#timers.clearAll();
    this.#state = response.status < 200 ? 'proceeding' : 'accepted';
    if (this.#state === 'accepted') this.#timers.set('M', TIMEOUT_MS, () => this.terminate());
    this.#events.onResponse(response);
  }

  #refused(response: Response): void {
    if (this.#state === 'completed' && this.#ack !== undefined) this.#wire.send(this.#ack);
    if (this.#state !== 'calling' && this.#state !== 'proceeding') return;
    this.#state = 'completed';
    this.#timers.clearAll();
    this.#timers.set('D', this.#wire.reliable ? 0 : TIMEOUT_MS, () => this.terminate());
    this.#ack = this.#ackFor(response);
    this.#wire.send(this.#ack);
    this.#events.onResponse(response);
  }

  #fail(outcome: Exclude<RequestOutcome, { kind: 'answered' }>): void {
    this.terminate();
    this.#events.onFailed(outcome);
  }

  /** Timer A: doubling without a bound, until anything is heard. */
  #retransmit(intervalMs: number): void {
    this.#timers.set('A', intervalMs, () => {
      this.#wire.send(this.#request);
      if (this.#state === 'calling') this.#retransmit(intervalMs * 2);
    });
  }
}
