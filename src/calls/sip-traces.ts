import type { TraceEntry } from '../../sip/user-agent.ts';
import type { LiveCall } from './live-call.ts';

/** Dialogs whose messages are kept until their call lives; the oldest goes first. */
const MAX_WAITING = 200;
const MAX_ENTRIES = 32;

/** SIP messages on their way into the log of the call they belong to. An INVITE is seen before its call exists. */
export class SipTraces {
  readonly #waiting = new Map<string, TraceEntry[]>();
  readonly #live = new Map<string, LiveCall>();

  add(entry: TraceEntry): void {
    const call = this.#live.get(entry.callId);
    if (call) {
      write(call, entry);
      return;
    }
    const entries = this.#waiting.get(entry.callId) ?? [];
    if (entries.length < MAX_ENTRIES) entries.push(entry);
    this.#waiting.set(entry.callId, entries);
    if (this.#waiting.size > MAX_WAITING) this.#forgetOldest();
  }

  /** From now on the dialog's messages go to this call, those that came before first. */
  follow(sipCallId: string, call: LiveCall): void {
    for (const entry of this.#waiting.get(sipCallId) ?? []) write(call, entry);
    this.#waiting.delete(sipCallId);
    this.#live.set(sipCallId, call);
    void call.done.then(() => this.#live.delete(sipCallId));
  }

  #forgetOldest(): void {
    const [oldest] = this.#waiting.keys();
    if (oldest !== undefined) this.#waiting.delete(oldest);
  }
}

function write(call: LiveCall, entry: TraceEntry): void {
  call.log({ at: entry.at, source: 'sip', event: entry.summary, detail: { direction: entry.direction, peer: `${entry.source.address}:${entry.source.port}`, transport: entry.source.transport } });
}
