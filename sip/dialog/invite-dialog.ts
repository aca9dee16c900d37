/** An accepted call: the INVITE usage of a dialog (RFC 3261 sections 13 to 15, RFC 3311). */
import type { DigestClient } from '../auth/digest.ts';
import type { OutHeader } from '../message/build.ts';
import { bodyContent } from '../message/body.ts';
import { SipSyntaxError } from '../message/lexer.ts';
import type { SipMessage, SipRequest } from '../message/message.ts';
import type { ServerTransaction } from '../transaction/server-transaction.ts';
import { ACCEPT_HEADER, ALLOW_HEADER, type DialogContext } from './context.ts';
import type { SipSource } from '../transport/source.ts';
import type { Dialog } from './dialog.ts';
import type { DialogUser } from './dialog-table.ts';
import { FinalAnswer } from './final-answer.ts';

/** Why a dialog is over; the reason of `InviteDialog.signal`. */
export interface DialogEnd {
  readonly kind: 'remote_bye' | 'local_bye' | 'no_ack' | 'transport_failed';
  readonly detail?: string;
}

/** What our user makes of an offer inside the dialog. */
export type ReinviteAnswer = { readonly status: 200; readonly sdp: string } | { readonly status: number };

export interface InviteDialog {
  readonly callId: string;
  /** Resolves at the ACK, with its SDP if it has any; rejects with a DialogEnd when the dialog ends without one. */
  readonly acknowledged: Promise<string | undefined>;
  /** Aborted at the dialog's end; the reason is a DialogEnd. */
  readonly signal: AbortSignal;
  /** Answers a re-INVITE or UPDATE; `undefined`: the peer wants an offer. Unset: 488. */
  onReinvite?: (offer: string | undefined) => ReinviteAnswer;
  /** The answer to an offer we made in a re-INVITE's 200. */
  onAnswer?: (answer: string) => void;
  /** Ends the dialog; resolves when the BYE is answered, timed out or undeliverable. Idempotent. */
  bye(): Promise<void>;
}

interface Accepted {
  readonly dialog: Dialog;
  readonly transaction: ServerTransaction;
  readonly sdp: string;
  readonly lateOffer: boolean;
}

interface Established {
  readonly dialog: Dialog;
  /** Where the peer was heard last. */
  readonly source: SipSource;
  /** Answers the challenges of our requests. */
  readonly digest: DigestClient | undefined;
}

export class InviteUsage implements InviteDialog, DialogUser {
  readonly acknowledged: Promise<string | undefined>;
  onReinvite?: (offer: string | undefined) => ReinviteAnswer;
  onAnswer?: (answer: string) => void;
  readonly #dialog: Dialog;
  readonly #context: DialogContext;
  readonly #end = new AbortController();
  readonly #ack = Promise.withResolvers<string | undefined>();
  readonly #digest: DigestClient | undefined;
  /** CSeq number of the INVITE that we accepted; undefined: the INVITE was ours. */
  readonly #initialSequence: number | undefined;
  /** 2xx still unacknowledged, by CSeq number. */
  readonly #unacknowledged = new Map<number, FinalAnswer>();
  #source: SipSource;
  #bye: Promise<void> = Promise.resolve();
  /** Set while a BYE of ours waits for the ACK (section 15). */
  #releaseBye: (() => void) | undefined;
  /** The peer said BYE: ours would find nobody. */
  #peerLeft = false;

  private constructor({ dialog, source, digest }: Established, initialSequence: number | undefined, context: DialogContext) {
    this.#dialog = dialog;
    this.#context = context;
    this.#source = source;
    this.#digest = digest;
    this.#initialSequence = initialSequence;
    this.acknowledged = this.#ack.promise;
    // Whoever does not ask for the ACK need not handle its absence.
    this.#ack.promise.catch(() => undefined);
    context.dialogs.set(dialog, this);
  }

  /** Accepts an INVITE. */
  static accept({ dialog, transaction, sdp, lateOffer }: Accepted, context: DialogContext): InviteUsage {
    const { source, request } = transaction;
    const usage = new InviteUsage({ dialog, source, digest: undefined }, request.cseq.number, context);
    usage.#sendAnswer(transaction, sdp, lateOffer);
    return usage;
  }

  /** Our INVITE was accepted, and the ACK is sent. */
  static established(established: Established, context: DialogContext): InviteUsage {
    const usage = new InviteUsage(established, undefined, context);
    usage.#ack.resolve(undefined);
    return usage;
  }

  get callId(): string {
    return this.#dialog.callId;
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  bye(): Promise<void> {
    this.#finish({ kind: 'local_bye' });
    return this.#bye;
  }

  receive(transaction: ServerTransaction): void {
    const { request } = transaction;
    const { responseHeaders, retryAfter } = this.#context;
    if (!this.#dialog.acceptsSequence(request)) {
      transaction.respond({ status: 500, headers: [['Retry-After', retryAfter()], ...responseHeaders] });
      return;
    }
    this.#source = transaction.source;
    if (request.method === 'BYE') this.#onBye(transaction);
    else if (this.#end.signal.aborted) transaction.respond({ status: 481, headers: responseHeaders });
    else if (request.method === 'OPTIONS') transaction.respond({ status: 200, headers: [ALLOW_HEADER, ACCEPT_HEADER, ...responseHeaders] });
    else this.#onOffer(transaction);
  }

  ack(request: SipRequest): void {
    const answer = this.#unacknowledged.get(request.cseq.number);
    if (answer === undefined) return;
    answer.stop();
    this.#unacknowledged.delete(answer.sequence);
    const sdp = sdpOf(request);
    if (answer.sequence === this.#initialSequence) {
      this.#ack.resolve(sdp);
      this.#releaseBye?.();
    } else if (answer.awaitsAnswer && sdp !== undefined) this.#guarded(() => this.onAnswer?.(sdp));
  }

  #onBye(transaction: ServerTransaction): void {
    transaction.respond({ status: 200, headers: this.#context.responseHeaders });
    this.#peerLeft = true;
    this.#finish({ kind: 'remote_bye' });
  }

  /** re-INVITE (section 14.2) or UPDATE (RFC 3311 section 5.2). */
  #onOffer(transaction: ServerTransaction): void {
    const { request } = transaction;
    const { responseHeaders } = this.#context;
    const content = readable(transaction, this.#context);
    if (content === undefined) return;
    if (request.method === 'UPDATE' && content.sdp === undefined) {
      this.#dialog.refreshTarget(request.contact);
      transaction.respond({ status: 200, headers: this.#targetHeaders(transaction) });
      return;
    }
    // An offer of ours is open: a second one would cross it (RFC 5407 section 3.1.4).
    if ([...this.#unacknowledged.values()].some((answer) => answer.awaitsAnswer)) {
      transaction.respond({ status: 491, headers: responseHeaders });
      return;
    }
    const answer = this.#guarded(() => this.onReinvite?.(content.sdp) ?? { status: 488 }) ?? { status: 500 };
    if (!('sdp' in answer)) {
      transaction.respond({ status: answer.status >= 300 ? answer.status : 500, headers: responseHeaders });
      return;
    }
    this.#dialog.refreshTarget(request.contact);
    if (request.method === 'UPDATE') transaction.respond({ status: 200, headers: this.#targetHeaders(transaction), body: sdpBody(answer.sdp) });
    else this.#sendAnswer(transaction, answer.sdp, content.sdp === undefined);
  }

  #sendAnswer(transaction: ServerTransaction, sdp: string, awaitsAnswer: boolean): void {
    const sequence = transaction.request.cseq.number;
    const content = { status: 200, headers: [...this.#dialog.recordRoutes.map((route) => ['Record-Route', route] as const), ...this.#targetHeaders(transaction)], body: sdpBody(sdp) };
    transaction.onTransportFailed = (detail) => this.#finish({ kind: 'transport_failed', detail });
    const answer = new FinalAnswer({
      sequence,
      awaitsAnswer,
      clock: this.#context.clock,
      send: () => transaction.respond(content),
      onTimeout: () => {
        this.#unacknowledged.delete(sequence);
        this.#finish({ kind: 'no_ack' });
      },
    });
    if (this.#end.signal.aborted) answer.stop();
    else this.#unacknowledged.set(sequence, answer);
  }

  #targetHeaders(transaction: ServerTransaction): (readonly [string, string])[] {
    return [['Contact', this.#context.contact(transaction.source.transport)], ALLOW_HEADER, ...this.#context.responseHeaders];
  }

  close(): void {
    this.#finish({ kind: 'transport_failed', detail: 'the user agent was closed' });
  }

  /** The one way out: the first reason stays; a later one only shortens the wait for the ACK. */
  #finish(end: DialogEnd): void {
    const first = !this.#end.signal.aborted;
    if (first) this.#end.abort(end);
    if (end.kind !== 'local_bye') {
      this.#stopAnswers();
      this.#releaseBye?.();
    }
    if (!first) return;
    this.#bye = this.#leave();
    // Nothing awaits a BYE that the peer or a timer brought about.
    this.#bye.catch((error: unknown) => this.#context.onFault(error));
  }

  /** A BYE of ours waits for the ACK or its timeout (section 15); a BYE of the peer makes it needless. */
  async #leave(): Promise<void> {
    if (this.#initialSequence !== undefined && this.#unacknowledged.has(this.#initialSequence)) {
      const waiting = Promise.withResolvers<void>();
      this.#releaseBye = waiting.resolve;
      await waiting.promise;
    }
    this.#stopAnswers();
    this.#ack.reject(this.#end.signal.reason);
    if (!this.#peerLeft) await this.#sendBye();
    this.#context.dialogs.end(this.#dialog);
  }

  async #sendBye(): Promise<void> {
    const attempt = this.#digest?.attempt();
    let credentials: OutHeader[] | undefined = [];
    while (credentials !== undefined) {
      const { request, nextHop } = this.#dialog.nextRequest('BYE');
      const outcome = await this.#context.request({ ...request, headers: [...request.headers, ...credentials, ...this.#context.requestHeaders] }, nextHop, this.#source);
      credentials = outcome.kind === 'answered' && outcome.response !== undefined ? attempt?.answer(outcome.response, 'BYE', request.uri) : undefined;
    }
  }

  #stopAnswers(): void {
    for (const answer of this.#unacknowledged.values()) answer.stop();
    this.#unacknowledged.clear();
  }

  #guarded<T>(run: () => T): T | undefined {
    try {
      return run();
    } catch (error) {
      this.#context.onFault(error);
      return undefined;
    }
  }
}

export function sdpBody(sdp: string): { type: string; bytes: Buffer } {
  return { type: 'application/sdp', bytes: Buffer.from(sdp, 'utf8') };
}

/** The SDP of an ACK or a response; whatever cannot be read counts as none, since neither can be refused. */
export function sdpOf(request: SipMessage): string | undefined {
  try {
    const content = bodyContent(request);
    return content.kind === 'sdp' ? content.sdp : undefined;
  } catch (error) {
    if (error instanceof SipSyntaxError) return undefined;
    throw error;
  }
}

/** The SDP of a request, or its refusal (400, 415) already sent. */
export function readable(transaction: ServerTransaction, context: Pick<DialogContext, 'responseHeaders'>): { sdp: string | undefined } | undefined {
  const { responseHeaders } = context;
  try {
    const content = bodyContent(transaction.request);
    if (content.kind !== 'unsupported') return { sdp: content.kind === 'sdp' ? content.sdp : undefined };
    const accepted = content.what === 'type' ? ACCEPT_HEADER : (['Accept-Encoding', 'identity'] as const);
    transaction.respond({ status: 415, headers: [accepted, ...responseHeaders] });
  } catch (error) {
    if (!(error instanceof SipSyntaxError)) throw error;
    transaction.respond({ status: 400, reason: 'Bad Body', headers: responseHeaders });
  }
  return undefined;
}
