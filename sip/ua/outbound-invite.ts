/** An INVITE of ours, from its first sending to its one outcome (RFC 3261 sections 9.1, 13.2 and 22). */
import { DigestClient, type Credentials, type DigestAttempt } from '../auth/digest.ts';
import { ACCEPT_HEADER, ALLOW_HEADER, type DialogContext } from '../dialog/context.ts';
import { Dialog } from '../dialog/dialog.ts';
import type { DialogUser } from '../dialog/dialog-table.ts';
import { InviteUsage, sdpBody, sdpOf, type InviteDialog } from '../dialog/invite-dialog.ts';
import { latin1, reasonPhrase, type OutHeader } from '../message/build.ts';
import { parseNameAddr, utf8 } from '../message/headers.ts';
import { SipSyntaxError } from '../message/lexer.ts';
import type { SipResponse } from '../message/message.ts';
import { parseUri, type SipUri } from '../message/uri.ts';
import type { InviteRequest } from '../transaction/layer.ts';
import type { OutRequest } from '../transaction/out-request.ts';
import type { ServerTransaction } from '../transaction/server-transaction.ts';
import { TIMEOUT_MS, TimerSet } from '../transaction/timers.ts';
import type { SipSource } from '../transport/source.ts';

export interface InviteOptions {
  /** Who is called: the Request-URI, and To. */
  readonly uri: string;
  /** Our side as a name-addr, without tag: `<sip:+15550100@example.com>`. */
  readonly from: string;
  /** The offer. */
  readonly sdp: string;
  /** Where the URI, or the proxy's, names no transport. */
  readonly transport: 'udp' | 'tcp';
  /** URI of the proxy that every request of the call goes through first. */
  readonly proxy?: string;
  readonly credentials?: Credentials;
  readonly headers?: Readonly<Record<string, string>>;
  /** A provisional response above 100. */
  onProgress?(progress: { readonly status: number; readonly reason: string }): void;
}

/** What came of an INVITE. */
export type InviteOutcome =
  | { readonly kind: 'answered'; readonly status: number; readonly reason: string; readonly sdp: string | undefined; readonly dialog: InviteDialog }
  /** A final refusal, 300 to 699. `challenged`: 401 or 407, and what we have to say to that was not accepted. */
  | { readonly kind: 'refused'; readonly status: number; readonly reason: string; readonly challenged: boolean }
  /** `cancel()` came first. */
  | { readonly kind: 'canceled' }
  /** Nobody said anything within 64*T1. */
  | { readonly kind: 'timeout' }
  | { readonly kind: 'transport_failed'; readonly detail: string };

export interface OutboundInvite {
  readonly callId: string;
  readonly outcome: Promise<InviteOutcome>;
  /** Gives up, at whatever point the INVITE is; a 200 that crosses is acknowledged and followed by BYE. Idempotent. */
  cancel(): void;
}

/** Branches of one INVITE that a proxy may fork to; more are not followed. */
const MAX_FORKS = 20;

export class OutgoingInvite implements OutboundInvite, DialogUser {
  readonly callId: string;
  readonly outcome: Promise<InviteOutcome>;
  readonly #options: InviteOptions;
  readonly #context: DialogContext;
  readonly #target: SipUri;
  readonly #proxy: SipUri | undefined;
  readonly #from: string;
  readonly #localTag: string;
  readonly #digest: DigestClient | undefined;
  readonly #attempt: DigestAttempt | undefined;
  readonly #outcome = Promise.withResolvers<InviteOutcome>();
  readonly #timers: TimerSet;
  /** Early dialogs by To tag. */
  readonly #early = new Map<string, Dialog>();
  /** The ACK of each 2xx by To tag: sent again when the 2xx comes again. */
  readonly #acks = new Map<string, () => void>();
  #sequence = 1;
  #credentials: OutHeader[] = [];
  #sent: InviteRequest | undefined;
  /** `wanted`: CANCEL goes out with the first provisional response (section 9.1). */
  #cancel: 'no' | 'wanted' | 'sent' = 'no';
  #provisional = false;
  /** A 2xx made the call; its ACK is on the way. */
  #answered = false;
  #settled = false;
  /** Transactions that may still bring a response. */
  #open = 0;

  /** Throws SipSyntaxError or TypeError for options that cannot be sent. */
  constructor(options: InviteOptions, context: DialogContext) {
    this.#options = options;
    this.#context = context;
    this.#target = parseUri(options.uri);
    this.#proxy = options.proxy === undefined ? undefined : parseUri(options.proxy);
    parseNameAddr(options.from);
    this.callId = context.random(16);
    this.#localTag = context.random(8);
    this.#from = `${latin1(options.from)};tag=${this.#localTag}`;
    this.#digest = options.credentials === undefined ? undefined : new DigestClient(options.credentials, (octets) => context.random(octets));
    this.#attempt = this.#digest?.attempt();
    this.#timers = new TimerSet(context.clock);
    this.outcome = this.#outcome.promise;
    context.dialogs.expect(this.callId);
    this.#begin().catch((error: unknown) => {
      this.#settle({ kind: 'transport_failed', detail: error instanceof Error ? error.message : String(error) });
    });
  }

  cancel(): void {
    if (this.#settled || this.#answered || this.#cancel !== 'no') return;
    this.#cancel = 'wanted';
    if (this.#provisional) this.#sendCancel();
  }

  /** A request inside an early dialog: our offer is open, so nothing can be changed yet (RFC 3311 section 5.2). */
  receive(transaction: ServerTransaction): void {
    const { responseHeaders } = this.#context;
    const { method } = transaction.request;
    if (method === 'OPTIONS') transaction.respond({ status: 200, headers: [ALLOW_HEADER, ACCEPT_HEADER, ...responseHeaders] });
    else transaction.respond({ status: method === 'BYE' ? 481 : 491, headers: responseHeaders });
  }

  /** We accept nothing in an early dialog, so nothing is acknowledged. */
  ack(): void {}

  close(): void {
    this.#settle({ kind: 'transport_failed', detail: 'the user agent was closed' });
  }

  async #begin(): Promise<void> {
    const to = await this.#context.resolve(this.#proxy ?? this.#target, { address: '', port: 0, transport: this.#options.transport });
    if (this.#cancel === 'no') this.#send(to);
    else this.#settle({ kind: 'canceled' });
  }

  #send(to: SipSource): void {
    this.#provisional = false;
    this.#open++;
    this.#sent = this.#context.invite(this.#request(to), to, {
      onResponse: (response) => this.#onResponse(response, to),
      onFailed: (outcome) => this.#settle(this.#cancel === 'no' ? outcome : { kind: 'canceled' }),
      onTerminated: () => {
        this.#open--;
        this.#forget();
      },
    });
  }

  #request(to: SipSource): OutRequest {
    const { uri, proxy, headers = {}, sdp } = this.#options;
    const extra = Object.entries(headers).map(([name, value]): OutHeader => [name, latin1(value)]);
    return {
      method: 'INVITE',
      uri,
      callId: this.callId,
      headers: [
        ...(proxy === undefined ? [] : [['Route', `<${proxy}>`] as const]),
        ['Max-Forwards', '70'],
        ['From', this.#from],
        ['To', `<${uri}>`],
        ['Call-ID', this.callId],
        ['CSeq', `${this.#sequence} INVITE`],
        ['Contact', this.#context.contact(to.transport)],
        ...this.#credentials,
        ALLOW_HEADER,
        ACCEPT_HEADER,
        ['Supported', ''],
        ...extra,
        ...this.#context.requestHeaders,
      ],
      body: sdpBody(sdp),
    };
  }

  #onResponse(response: SipResponse, to: SipSource): void {
    if (response.status < 200) this.#onProgress(response);
    else if (response.status < 300) this.#onAccepted(response, to);
    else this.#onRefused(response, to);
  }

  #onProgress(response: SipResponse): void {
    this.#provisional = true;
    if (this.#cancel === 'wanted') this.#sendCancel();
    const { status } = response;
    if (status === 100 || this.#settled) return;
    const dialog = this.#dialogOf(response);
    const tag = response.to.tag;
    if (dialog !== undefined && tag !== undefined && !this.#early.has(tag) && this.#early.size < MAX_FORKS) {
      this.#early.set(tag, dialog);
      this.#context.dialogs.set(dialog, this);
    }
    if (this.#cancel === 'no') this.#guarded(() => this.#options.onProgress?.({ status, reason: reasonOf(response) }));
  }

  /** The first 2xx makes the call; one of another fork is acknowledged and ended (section 13.2.2.4). */
  #onAccepted(response: SipResponse, to: SipSource): void {
    const tag = response.to.tag ?? '';
    const again = this.#acks.get(tag);
    if (again !== undefined) return again();
    if (this.#acks.size >= MAX_FORKS) return;
    const dialog = this.#dialogOf(response);
    if (dialog === undefined) {
      this.#settle({ kind: 'transport_failed', detail: 'the answer names no usable Contact or Record-Route' });
      return;
    }
    this.#acks.set(tag, () => void this.#acknowledge(dialog, to));
    const usage = InviteUsage.established({ dialog, source: to, digest: this.#digest }, this.#context);
    this.#early.delete(tag);
    const chosen = !this.#answered && !this.#settled && this.#cancel === 'no';
    if (chosen) this.#answered = true;
    else if (!this.#answered) this.#settle({ kind: 'canceled' });
    // Whatever follows, the ACK goes first.
    void this.#acknowledge(dialog, to).then(() => {
      if (chosen) this.#settle({ kind: 'answered', status: response.status, reason: reasonOf(response), sdp: sdpOf(response), dialog: usage });
      else void usage.bye();
    });
  }

  async #acknowledge(dialog: Dialog, to: SipSource): Promise<void> {
    const { request, nextHop } = dialog.ack(this.#sequence);
    const hop = await this.#context.resolve(nextHop, to).catch(() => to);
    this.#context.send({ ...request, headers: [...request.headers, ...this.#credentials, ...this.#context.requestHeaders] }, hop);
  }

  #onRefused(response: SipResponse, to: SipSource): void {
    const { status } = response;
    if (this.#cancel !== 'no') {
      this.#settle({ kind: 'canceled' });
      return;
    }
    const credentials = this.#attempt?.answer(response, 'INVITE', this.#options.uri);
    if (credentials === undefined) {
      this.#settle({ kind: 'refused', status, reason: reasonOf(response), challenged: status === 401 || status === 407 });
      return;
    }
    this.#credentials = credentials;
    this.#sequence++;
    this.#endEarly();
    this.#send(to);
  }

  #sendCancel(): void {
    this.#cancel = 'sent';
    this.#sent?.cancel();
    // A peer that forgets to answer the INVITE of a CANCEL is not waited for (section 9.1).
    this.#timers.set('cancel', TIMEOUT_MS, () => {
      this.#settle({ kind: 'canceled' });
      this.#sent?.terminate();
    });
  }

  #settle(outcome: InviteOutcome): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#timers.clearAll();
    this.#endEarly();
    this.#forget();
    this.#outcome.resolve(outcome);
  }

  #endEarly(): void {
    for (const dialog of this.#early.values()) this.#context.dialogs.end(dialog);
    this.#early.clear();
  }

  /** Once no response can come any more, none is let in. */
  #forget(): void {
    if (this.#settled && this.#open === 0) this.#context.dialogs.expectNoMore(this.callId);
  }

  #dialogOf(response: SipResponse): Dialog | undefined {
    const seed = { callId: this.callId, localTag: this.#localTag, from: this.#from, target: this.#target, sequence: this.#sequence };
    try {
      return response.to.tag === undefined && response.status < 200 ? undefined : Dialog.asClient(seed, response);
    } catch (error) {
      if (error instanceof SipSyntaxError) return undefined;
      throw error;
    }
  }

  #guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#context.onFault(error);
    }
  }
}

function reasonOf({ status, reason }: SipResponse): string {
  return reason === '' ? reasonPhrase(status) : utf8(reason);
}
