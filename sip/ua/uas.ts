/** The UAS core: the order of checks of RFC 3261 section 8.2, and who gets what passes them. */
import { ACCEPT_HEADER, ALLOW_HEADER, type DialogContext } from '../dialog/context.ts';
import { Dialog } from '../dialog/dialog.ts';
import { readable } from '../dialog/invite-dialog.ts';
import type { OutHeader } from '../message/build.ts';
import { SipSyntaxError } from '../message/lexer.ts';
import { isUniqueBranch, type SipRequest } from '../message/message.ts';
import { asSipUri } from '../message/uri.ts';
import type { TransactionUser } from '../transaction/layer.ts';
import type { ServerTransaction } from '../transaction/server-transaction.ts';
import { IncomingInvite, type InboundInvite } from './inbound-invite.ts';

export interface UasOptions {
  readonly onInvite: (invite: InboundInvite) => void;
  readonly draining: () => boolean;
  readonly advertisedHost: string;
  readonly limits: { readonly dialogs: number; readonly answerMs: number };
}

const SERVED = new Set(['INVITE', 'BYE', 'OPTIONS', 'UPDATE']);
/** Methods of the registry that we know and do not offer: 405. Others are 501 (section 8.2.1). */
const KNOWN = new Set(['REGISTER', 'PRACK', 'SUBSCRIBE', 'NOTIFY', 'PUBLISH', 'INFO', 'REFER', 'MESSAGE']);
const DRAIN_RETRY_SECONDS = '60';

export class UasCore implements TransactionUser {
  readonly #options: UasOptions;
  readonly #context: DialogContext;
  /** By INVITE transaction, while it can be canceled. */
  readonly #invites = new WeakMap<ServerTransaction, IncomingInvite>();

  constructor(options: UasOptions, context: DialogContext) {
    this.#options = options;
    this.#context = context;
  }

  onRequest(transaction: ServerTransaction): void {
    const { request } = transaction;
    const refusal = this.#refusal(request);
    if (refusal !== undefined) transaction.respond({ status: refusal.status, headers: [...refusal.headers, ...this.#context.responseHeaders] });
    else if (request.to.tag !== undefined) this.#onDialogRequest(transaction);
    else if (request.method === 'OPTIONS') this.#onOptions(transaction);
    else if (request.method === 'INVITE') this.#onInvite(transaction);
    else transaction.respond({ status: 481, headers: this.#context.responseHeaders });
  }

  onCancel(transaction: ServerTransaction, invite: ServerTransaction | undefined): void {
    const { responseHeaders } = this.#context;
    if (invite === undefined) {
      transaction.respond({ status: 481, headers: responseHeaders });
      return;
    }
    // Section 9.2: the same To tag in the answers to CANCEL and INVITE.
    transaction.respond({ status: 200, toTag: invite.toTag, headers: responseHeaders });
    this.#invites.get(invite)?.cancel(transaction.request);
  }

  onAck(request: SipRequest): void {
    const found = this.#context.dialogs.find(request);
    if (found.kind === 'live') found.user.ack(request);
  }

  #refusal(request: SipRequest): { status: number; headers: OutHeader[] } | undefined {
    const { method, uri } = request;
    if (!SERVED.has(method)) return KNOWN.has(method) ? { status: 405, headers: [ALLOW_HEADER] } : { status: 501, headers: [ALLOW_HEADER] };
    const outside = request.to.tag === undefined;
    if (outside && !['sip', 'sips', 'tel'].includes(uri.scheme)) return { status: 416, headers: [] };
    // We are the last hop; but who sends 0 has gone in circles. OPTIONS is answered (section 16.3, point 3).
    if (outside && request.maxForwards === 0 && method !== 'OPTIONS') return { status: 483, headers: [] };
    const required = request.headers.list('require');
    if (required.length > 0) return { status: 420, headers: [['Unsupported', required.join(', ')]] };
    return undefined;
  }

  #onDialogRequest(transaction: ServerTransaction): void {
    const found = this.#context.dialogs.find(transaction.request);
    if (found.kind === 'live') found.user.receive(transaction);
    else transaction.respond({ status: 481, headers: this.#context.responseHeaders });
  }

  /** Section 11.2: as an INVITE would be answered now. */
  #onOptions(transaction: ServerTransaction): void {
    const headers = [ALLOW_HEADER, ACCEPT_HEADER, ...this.#context.responseHeaders];
    if (this.#options.draining()) transaction.respond({ status: 503, headers: [['Retry-After', DRAIN_RETRY_SECONDS], ...headers] });
    else transaction.respond({ status: 200, headers });
  }

  #onInvite(transaction: ServerTransaction): void {
    const { request } = transaction;
    const { responseHeaders } = this.#context;
    if (this.#context.dialogs.live >= this.#options.limits.dialogs) {
      transaction.respond({ status: 503, headers: [['Retry-After', DRAIN_RETRY_SECONDS], ...responseHeaders] });
      return;
    }
    const content = readable(transaction, this.#context);
    if (content === undefined) return;
    if (!acceptsSdp(request)) {
      transaction.respond({ status: 406, headers: [ACCEPT_HEADER, ...responseHeaders] });
      return;
    }
    const dialog = openDialog(transaction);
    if (typeof dialog === 'string') {
      transaction.respond({ status: 400, reason: dialog, headers: responseHeaders });
      return;
    }
    // The same INVITE again after its transaction: it must not take over the dialog it made (section 8.2.2.2).
    if (this.#context.dialogs.has(dialog)) {
      transaction.respond({ status: 482, headers: responseHeaders });
      return;
    }
    const requestUri = asSipUri(request.uri, this.#options.advertisedHost);
    const limitMs = answerLimit(request, this.#options.limits.answerMs);
    const invite = new IncomingInvite({ transaction, dialog, requestUri, offer: content.sdp, limitMs }, this.#context);
    this.#invites.set(transaction, invite);
    try {
      this.#options.onInvite(invite);
    } catch (error) {
      this.#context.onFault(error);
      invite.reject(500);
    }
  }
}

/** The dialog an INVITE would make, or why it cannot (a reason phrase). */
function openDialog(transaction: ServerTransaction): Dialog | string {
  const { request } = transaction;
  const contact = request.contact;
  // RFC 2543 knew calls without Contact; those of RFC 3261 must have one (section 8.1.1.8).
  if (contact === undefined && isUniqueBranch(request.topVia.params.get('branch'))) return 'Missing Contact';
  if (contact !== undefined && contact.uri.scheme !== 'sip' && contact.uri.scheme !== 'sips') return 'Contact Is Not A SIP URI';
  try {
    return Dialog.asServer(request, transaction.toTag);
  } catch (error) {
    if (error instanceof SipSyntaxError) return 'Bad Record-Route';
    throw error;
  }
}

function acceptsSdp(request: SipRequest): boolean {
  const accepted = request.headers.list('accept').map((range) => (range.split(';')[0] ?? '').trim().toLowerCase());
  // An empty Accept says "nothing", but no caller means it; only a list without SDP counts.
  return accepted.length === 0 || accepted.some((range) => range === 'application/sdp' || range === 'application/*' || range === '*/*');
}

/** Expires of an INVITE (section 13.3.1) within our own limit. */
function answerLimit(request: SipRequest, limitMs: number): number {
  const expires = request.headers.get('expires');
  return expires !== undefined && /^\d{1,9}$/.test(expires) ? Math.min(Number(expires) * 1000, limitMs) : limitMs;
}
