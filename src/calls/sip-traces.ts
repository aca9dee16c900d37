import type { TraceEntry } from '../../sip/user-agent.ts';
import type { LiveCall } from './live-call.ts';

/** Dialogs whose messages are kept until their call lives; the oldest goes first. */
const MAX_WAITING = 200;
const MAX_ENTRIES = 32;
/** Messages of a call that are kept whole, and how much of each; of more, the log has the first line. */
const MAX_MESSAGES = 200;
const MAX_MESSAGE_CHARS = 16_384;

/** SIP messages on their way into the log of the call they belong to. An INVITE is seen before its call exists. */
export class SipTraces {
  readonly #waiting = new Map<string, TraceEntry[]>();
  readonly #live = new Map<string, { call: LiveCall; messages: number }>();

  add(entry: TraceEntry): void {
    const followed = this.#live.get(entry.callId);
    if (followed) {
      write(followed, entry);
      return;
    }
    const entries = this.#waiting.get(entry.callId) ?? [];
    if (entries.length < MAX_ENTRIES) entries.push(entry);
    this.#waiting.set(entry.callId, entries);
    if (this.#waiting.size > MAX_WAITING) this.#forgetOldest();
  }

  /** From now on the dialog's messages go to this call, those that came before first. */
  follow(sipCallId: string, call: LiveCall): void {
    const followed = { call, messages: 0 };
    for (const entry of this.#waiting.get(sipCallId) ?? []) write(followed, entry);
    this.#waiting.delete(sipCallId);
    this.#live.set(sipCallId, followed);
    void call.done.then(() => this.#live.delete(sipCallId));
  }

  #forgetOldest(): void {
    const [oldest] = this.#waiting.keys();
    if (oldest !== undefined) this.#waiting.delete(oldest);
  }
}

function write(followed: { call: LiveCall; messages: number }, entry: TraceEntry): void {
  const whole = followed.messages++ < MAX_MESSAGES ? { message: entry.text.slice(0, MAX_MESSAGE_CHARS) } : {};
  followed.call.log({
    at: entry.at, source: 'sip', event: entry.summary,
    detail: { direction: entry.direction, peer: `${entry.source.address}:${entry.source.port}`, transport: entry.source.transport, ...whole },
  });
}
