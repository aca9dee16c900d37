/** An INVITE that has not been answered yet (RFC 3261 section 13.3). */
import { ACCEPT_HEADER, ALLOW_HEADER, type DialogContext } from '../dialog/context.ts';
import type { Dialog } from '../dialog/dialog.ts';
import type { DialogUser } from '../dialog/dialog-table.ts';
import { InviteUsage, readable, type InviteDialog } from '../dialog/invite-dialog.ts';
import { latin1, type OutHeader } from '../message/build.ts';
import { canonicalName, utf8, type NameAddr } from '../message/headers.ts';
import type { SipRequest } from '../message/message.ts';
import type { SipUri } from '../message/uri.ts';
import type { ServerTransaction } from '../transaction/server-transaction.ts';
import { TimerSet } from '../transaction/timers.ts';
import type { SipSource } from '../transport/source.ts';

/** Why an INVITE came to nothing before we answered; the reason of `InboundInvite.signal`. */
export interface InviteEnd {
  /** `canceled`: CANCEL or BYE of the caller. `expired`: its Expires, or our own limit, ran out. */
  readonly kind: 'canceled' | 'expired' | 'transport_failed';
  readonly detail?: string;
}

export interface InboundInvite {
  readonly callId: string;
  readonly from: NameAddr;
  readonly to: NameAddr;
  /** A tel URI comes as the SIP URI it stands for. `uriUser` gives the number that was dialled. */
  readonly requestUri: SipUri;
  readonly source: SipSource;
  /** A header by its name in any case, values of several lines joined by commas, read as UTF-8. */
  header(name: string): string | undefined;
  /** SDP; undefined: the caller wants ours first (late offer). */
  readonly offer: string | undefined;
  /** Aborted when the INVITE ends before it was answered; the reason is an InviteEnd. */
  readonly signal: AbortSignal;
  /** 180. Does nothing once the INVITE is over. */
  ring(): void;
  /** 200 with our SDP: the answer, or the offer if there was none. Throws if the INVITE is already over. */
  accept(sdp: string): InviteDialog;
  /** A final refusal, 300 to 699. Does nothing once the INVITE is over. */
  reject(status: number, options?: { reason?: string; headers?: Record<string, string> }): void;
}

/** A proxy drops an INVITE three minutes after the last provisional answer (section 13.3.1.1). */
const RING_REFRESH_MS = 60_000;

export interface InviteParts {
  readonly transaction: ServerTransaction;
  readonly dialog: Dialog;
  readonly requestUri: SipUri;
  readonly offer: string | undefined;
  /** How long the INVITE may stay unanswered. */
  readonly limitMs: number;
}

export class IncomingInvite implements InboundInvite, DialogUser {
  readonly requestUri: SipUri;
  readonly offer: string | undefined;
  readonly #transaction: ServerTransaction;
  readonly #dialog: Dialog;
  readonly #context: DialogContext;
  readonly #timers: TimerSet;
  readonly #end = new AbortController();
  #over = false;

  /** Says 100 at once. */
  constructor(parts: InviteParts, context: DialogContext) {
    this.requestUri = parts.requestUri;
    this.offer = parts.offer;
    this.#transaction = parts.transaction;
    this.#dialog = parts.dialog;
    this.#context = context;
    this.#timers = new TimerSet(context.clock);
    context.dialogs.set(this.#dialog, this);
    this.#timers.set('limit', parts.limitMs, () => this.#giveUp({ kind: 'expired' }));
    this.#transaction.onTransportFailed = (detail) => this.#giveUp({ kind: 'transport_failed', detail });
    this.#transaction.respond({ status: 100 });
  }

  get callId(): string {
    return this.#dialog.callId;
  }

  get from(): NameAddr {
    return this.#transaction.request.from;
  }

  get to(): NameAddr {
    return this.#transaction.request.to;
  }

  get source(): SipSource {
    return this.#transaction.source;
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  header(name: string): string | undefined {
    const values = this.#transaction.request.headers.all(canonicalName(name));
    return values.length === 0 ? undefined : utf8(values.join(', '));
  }

  ring(): void {
    if (this.#over) return;
    this.#timers.set('ring', RING_REFRESH_MS, () => this.ring());
    const routes = this.#dialog.recordRoutes.map((route): OutHeader => ['Record-Route', route]);
    this.#transaction.respond({ status: 180, headers: [...routes, ['Contact', this.#context.contact(this.source.transport)], ALLOW_HEADER, ...this.#context.responseHeaders] });
  }

  accept(sdp: string): InviteDialog {
    if (this.#over) throw new Error(`INVITE ${this.callId} is already over; look at its signal before accept()`);
    this.#settle();
    return InviteUsage.accept({ dialog: this.#dialog, transaction: this.#transaction, sdp, lateOffer: this.offer === undefined }, this.#context);
  }

  reject(status: number, options: { reason?: string; headers?: Record<string, string> } = {}): void {
    if (this.#over) return;
    if (!Number.isInteger(status) || status < 300 || status > 699) throw new RangeError(`an INVITE cannot be rejected with ${status}; use 300 to 699`);
    const extra = Object.entries(options.headers ?? {}).map(([name, value]): OutHeader => [name, latin1(value)]);
    const reason = options.reason === undefined ? {} : { reason: options.reason };
    this.#transaction.respond({ status, ...reason, headers: [...extra, ...this.#context.responseHeaders] });
    this.#settle();
    this.#context.dialogs.end(this.#dialog);
  }

  /** CANCEL: the INVITE is answered 487 (section 9.2). Without effect after a final answer. */
  cancel(cancel: SipRequest): void {
    const detail = cancel.headers.get('reason');
    this.#giveUp({ kind: 'canceled', ...(detail === undefined ? {} : { detail: utf8(detail) }) });
  }

  /** Requests in the early dialog. */
  receive(transaction: ServerTransaction): void {
    const { request } = transaction;
    const { responseHeaders } = this.#context;
    const later: OutHeader = ['Retry-After', this.#context.retryAfter()];
    if (!this.#dialog.acceptsSequence(request)) transaction.respond({ status: 500, headers: [later, ...responseHeaders] });
    else if (request.method === 'BYE') {
      transaction.respond({ status: 200, headers: responseHeaders });
      this.#giveUp({ kind: 'canceled' });
    } else if (request.method === 'OPTIONS') transaction.respond({ status: 200, headers: [ALLOW_HEADER, ACCEPT_HEADER, ...responseHeaders] });
    else this.#earlyOffer(transaction, later);
  }

  /** An ACK before a 2xx acknowledges nothing. */
  ack(): void {}

  close(): void {
    this.#giveUp({ kind: 'transport_failed', detail: 'the user agent was closed' });
  }

  /** The INVITE's own offer is not answered yet: a second one waits (section 14.2, RFC 3311 section 5.2). */
  #earlyOffer(transaction: ServerTransaction, later: OutHeader): void {
    const { responseHeaders, contact } = this.#context;
    const content = readable(transaction, this.#context);
    if (content === undefined) return;
    if (transaction.request.method === 'INVITE' || content.sdp !== undefined) {
      transaction.respond({ status: 500, headers: [later, ...responseHeaders] });
      return;
    }
    this.#dialog.refreshTarget(transaction.request.contact);
    transaction.respond({ status: 200, headers: [['Contact', contact(transaction.source.transport)], ALLOW_HEADER, ...responseHeaders] });
  }

  #giveUp(end: InviteEnd): void {
    if (this.#over) return;
    this.#settle();
    this.#transaction.respond({ status: 487, headers: this.#context.responseHeaders });
    this.#context.dialogs.end(this.#dialog);
    this.#end.abort(end);
  }

  #settle(): void {
    this.#over = true;
    this.#timers.clearAll();
    this.#transaction.onTransportFailed = undefined;
  }
}
