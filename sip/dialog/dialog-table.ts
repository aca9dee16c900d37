/** The dialogs of this user agent, found by Call-ID and both tags. */
import type { SipClock } from '../clock.ts';
import type { SipRequest } from '../message/message.ts';
import type { ServerTransaction } from '../transaction/server-transaction.ts';
import { TIMEOUT_MS, TimerSet } from '../transaction/timers.ts';
import type { Dialog } from './dialog.ts';

/** What stands behind a dialog: first the INVITE, then the session. */
export interface DialogUser {
  /** A request inside the dialog, neither ACK nor CANCEL. */
  receive(transaction: ServerTransaction): void;
  ack(request: SipRequest): void;
  /** The user agent goes away. */
  close(): void;
}

interface Entry {
  readonly callId: string;
  /** Undefined once the dialog is over: kept so that repeated requests are still known as its own. */
  user: DialogUser | undefined;
}

export type Found = { readonly kind: 'live'; readonly user: DialogUser } | { readonly kind: 'ended' } | { readonly kind: 'unknown' };

/** Ended dialogs remembered at most; the oldest are forgotten first. */
const MAX_ENDED = 10_000;

export class DialogTable {
  readonly #entries = new Map<string, Entry>();
  /** In the order they ended. */
  readonly #ended = new Set<string>();
  readonly #callIds = new Map<string, number>();
  readonly #timers: TimerSet;
  /** Call-IDs of INVITEs of ours that may still be answered. */
  readonly #calling = new Set<string>();
  #live = 0;

  constructor(clock: SipClock) {
    this.#timers = new TimerSet(clock);
  }

  /** Dialogs that have not ended. */
  get live(): number {
    return this.#live;
  }

  /** An INVITE of ours goes out: whoever answers it is let in. */
  expect(callId: string): void {
    this.#calling.add(callId);
  }

  /** No answer to that INVITE can come any more. */
  expectNoMore(callId: string): void {
    this.#calling.delete(callId);
  }

  /** True while any dialog, live or just ended, or an INVITE of ours has this Call-ID. */
  knowsCallId(callId: string): boolean {
    return this.#callIds.has(callId) || this.#calling.has(callId);
  }

  /** True while there is anything a stranger's packet could belong to. */
  get empty(): boolean {
    return this.#entries.size === 0 && this.#calling.size === 0;
  }

  find(request: SipRequest): Found {
    const entry = this.#entries.get(key(request.callId, request.to.tag ?? '', request.from.tag ?? ''));
    if (entry === undefined) return { kind: 'unknown' };
    return entry.user === undefined ? { kind: 'ended' } : { kind: 'live', user: entry.user };
  }

  /** True while a dialog with these tags is live or just ended. */
  has(dialog: Dialog): boolean {
    return this.#entries.has(key(dialog.callId, dialog.localTag, dialog.remoteTag));
  }

  /** Adds a dialog, or hands it to its next user. */
  set(dialog: Dialog, user: DialogUser): void {
    const id = key(dialog.callId, dialog.localTag, dialog.remoteTag);
    const known = this.#entries.get(id);
    if (known !== undefined) {
      if (known.user === undefined) this.#revive(id);
      known.user = user;
      return;
    }
    this.#entries.set(id, { callId: dialog.callId, user });
    this.#callIds.set(dialog.callId, (this.#callIds.get(dialog.callId) ?? 0) + 1);
    this.#live++;
  }

  /** Ends a dialog: its packets stay known for as long as they may be repeated. */
  end(dialog: Dialog): void {
    const id = key(dialog.callId, dialog.localTag, dialog.remoteTag);
    const entry = this.#entries.get(id);
    if (entry?.user === undefined) return;
    entry.user = undefined;
    this.#live--;
    this.#ended.add(id);
    this.#timers.set(id, TIMEOUT_MS, () => this.#forget(id));
    const [oldest] = this.#ended;
    if (oldest !== undefined && this.#ended.size > MAX_ENDED) this.#forget(oldest);
  }

  /** A fork whose early dialog was given up has answered after all. */
  #revive(id: string): void {
    this.#timers.clear(id);
    this.#ended.delete(id);
    this.#live++;
  }

  #forget(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#timers.clear(id);
    this.#ended.delete(id);
    this.#entries.delete(id);
    const left = (this.#callIds.get(entry.callId) ?? 1) - 1;
    if (left === 0) this.#callIds.delete(entry.callId);
    else this.#callIds.set(entry.callId, left);
  }

  close(): void {
    for (const entry of [...this.#entries.values()]) entry.user?.close();
    this.#timers.clearAll();
    this.#ended.clear();
    this.#entries.clear();
    this.#callIds.clear();
    this.#calling.clear();
    this.#live = 0;
  }
}

function key(callId: string, localTag: string, remoteTag: string): string {
  return `${callId} ${localTag} ${remoteTag}`;
}
