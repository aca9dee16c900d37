/** Matches messages to transactions (RFC 3261 section 17), absorbs what comes again, and sheds what is too much. */
import type { SipClock } from '../clock.ts';
import { buildRequest, buildResponse, replyTo, type OutHeader, type ResponseContent } from '../message/build.ts';
import type { SipMessage, SipRequest, SipResponse } from '../message/message.ts';
import { ownVia, stampVia } from '../transport/routing.ts';
import type { SipSource } from '../transport/source.ts';
import { InviteClientTransaction, type IctEvents } from './ict.ts';
import { clientKey, mergeKey, serverKey } from './keys.ts';
import { NonInviteClientTransaction, type RequestOutcome } from './nict.ts';
import { ackOf, cancelOf, type OutRequest } from './out-request.ts';
import { outgoingResponse, ServerTransaction, type SendResponse } from './server-transaction.ts';
import type { Outgoing } from './wire.ts';

/** Who answers requests: the user agent's core. */
export interface TransactionUser {
  /** A new request, neither ACK nor CANCEL. */
  onRequest(transaction: ServerTransaction): void;
  /** A CANCEL's own transaction, with the INVITE it is for if that is still known. */
  onCancel(transaction: ServerTransaction, invite: ServerTransaction | undefined): void;
  /** An ACK of a 2xx, or one that belongs to nothing. */
  onAck(request: SipRequest): void;
}

export interface TransactionContext {
  readonly clock: SipClock;
  /** Random hexadecimal text of so many octets. */
  readonly random: (octets: number) => string;
  /** Where our Via says we are. */
  readonly advertised: { readonly address: string; readonly port: number };
  readonly limits: { readonly transactions: number; readonly pendingInvites: number };
  /** A To tag that is the same for every copy of a request (section 8.2.7). */
  readonly tagFor: (request: SipRequest) => string;
  readonly sendResponse: SendResponse;
  readonly sendRequest: (message: Outgoing, to: SipSource, failed: (error: Error) => void) => void;
}

/** An INVITE of ours on its way. */
export interface InviteRequest {
  /** Sends a CANCEL; the INVITE still gets its final response. */
  cancel(): void;
  /** Forgets the INVITE: what still comes for it is dropped. */
  terminate(): void;
}

export type InviteEvents = IctEvents<SipResponse>;

interface ClientTransaction {
  receive(response: SipResponse): void;
  close(): void;
}

export const OVERLOAD_RETRY_SECONDS = 5;
const CLOSED = 'the user agent was closed';

export class TransactionLayer {
  readonly #context: TransactionContext;
  readonly #user: TransactionUser;
  readonly #servers = new Map<string, ServerTransaction>();
  readonly #merges = new Set<string>();
  readonly #clients = new Map<string, ClientTransaction>();
  #pendingInvites = 0;
  #closed = false;

  constructor(context: TransactionContext, user: TransactionUser) {
    this.#context = context;
    this.#user = user;
  }

  get size(): number {
    return this.#servers.size + this.#clients.size;
  }

  receive(message: SipMessage, source: SipSource): void {
    if (message.kind === 'response') this.#onResponse(message);
    else if (message.method === 'ACK') this.#onAck(message);
    else this.#onRequest(message, source);
  }

  /** Answers without keeping anything (section 8.2.7). */
  respondStateless(request: SipRequest, source: SipSource, content: ResponseContent): void {
    const to = replyTo(request, stampVia(request.topVia, source));
    const bytes = buildResponse(to, { toTag: this.#context.tagFor(request), ...content });
    this.#context.sendResponse(to, source, outgoingResponse(to, content, bytes), () => undefined);
  }

  /** Sends a non-INVITE request; resolves once it is answered, timed out or undeliverable. */
  request(request: OutRequest, to: SipSource, branch: string = this.#newBranch()): Promise<RequestOutcome> {
    if (this.#closed) return Promise.resolve({ kind: 'transport_failed', detail: CLOSED });
    const message = this.#outgoing(request, to, branch);
    const key = clientKey(branch, request.method);
    return new Promise((resolve) => {
      const wire = {
        reliable: to.transport === 'tcp',
        send: (out: Outgoing) => this.#context.sendRequest(out, to, (error) => transaction.transportFailed(error.message)),
      };
      const transaction = new NonInviteClientTransaction(message, wire, this.#context.clock, { onOutcome: resolve, onTerminated: () => this.#clients.delete(key) });
      this.#clients.set(key, {
        receive: (response) => transaction.response(response.status, response),
        close: () => {
          transaction.transportFailed(CLOSED);
          transaction.terminate();
        },
      });
      transaction.start();
    });
  }

  /** Sends an INVITE. */
  invite(request: OutRequest, to: SipSource, events: InviteEvents): InviteRequest {
    if (this.#closed) throw new Error(CLOSED);
    const branch = this.#newBranch();
    const key = clientKey(branch, 'INVITE');
    const wire = {
      reliable: to.transport === 'tcp',
      send: (out: Outgoing) => this.#context.sendRequest(out, to, (error) => transaction.transportFailed(error.message)),
    };
    const ackFor = (refusal: SipResponse): Outgoing => this.#outgoing(ackOf(request, refusal.headers.get('to') ?? ''), to, branch);
    const transaction = new InviteClientTransaction<SipResponse>(this.#outgoing(request, to, branch), ackFor, wire, this.#context.clock, {
      onResponse: (response) => events.onResponse(response),
      onFailed: (outcome) => events.onFailed(outcome),
      onTerminated: () => {
        this.#clients.delete(key);
        events.onTerminated();
      },
    });
    this.#clients.set(key, {
      receive: (response) => transaction.response(response),
      close: () => {
        transaction.transportFailed(CLOSED);
        transaction.terminate();
      },
    });
    transaction.start();
    return { cancel: () => void this.request(cancelOf(request), to, branch), terminate: () => transaction.terminate() };
  }

  /** Sends a request that nobody answers: the ACK of a 2xx. */
  sendOnly(request: OutRequest, to: SipSource): void {
    if (!this.#closed) this.#context.sendRequest(this.#outgoing(request, to, this.#newBranch()), to, () => undefined);
  }

  #newBranch(): string {
    return `z9hG4bK${this.#context.random(12)}`;
  }

  #outgoing(request: OutRequest, to: SipSource, branch: string): Outgoing {
    const { address, port } = this.#context.advertised;
    const via: OutHeader = ['Via', ownVia(to.transport, address, port, branch)];
    return { bytes: buildRequest(request.method, request.uri, [via, ...request.headers], request.body), callId: request.callId, summary: `${request.method} ${request.uri}` };
  }

  /** Ends every transaction; requests still open resolve as undeliverable. */
  close(): void {
    this.#closed = true;
    for (const transaction of [...this.#servers.values()]) transaction.terminate();
    for (const transaction of [...this.#clients.values()]) transaction.close();
  }

  #onResponse(response: SipResponse): void {
    // More than one Via: it was not meant for us (section 8.1.3.3).
    if (response.headers.list('via').length !== 1) return;
    this.#clients.get(clientKey(response.topVia.params.get('branch') ?? '', response.cseq.method))?.receive(response);
  }

  #onAck(request: SipRequest): void {
    const transaction = this.#servers.get(serverKey(request, 'INVITE'));
    if (transaction === undefined || transaction.ack() === 'dialog') this.#user.onAck(request);
  }

  #onRequest(request: SipRequest, source: SipSource): void {
    const key = serverKey(request);
    const known = this.#servers.get(key);
    if (known !== undefined) {
      known.retransmission();
      return;
    }
    if (request.to.tag === undefined && request.method !== 'CANCEL' && this.#merges.has(mergeKey(request))) {
      this.respondStateless(request, source, { status: 482 });
      return;
    }
    if (this.#overloaded(request)) {
      this.respondStateless(request, source, { status: 503, headers: [['Retry-After', String(OVERLOAD_RETRY_SECONDS)]] });
      return;
    }
    const transaction = this.#open(request, source, key);
    if (request.method === 'CANCEL') this.#user.onCancel(transaction, this.#servers.get(serverKey(request, 'INVITE')));
    else this.#user.onRequest(transaction);
  }

  /** What ends a call is let in longer than what starts one. */
  #overloaded(request: SipRequest): boolean {
    const { transactions, pendingInvites } = this.#context.limits;
    if (request.to.tag !== undefined || request.method === 'CANCEL') return this.#servers.size >= 2 * transactions;
    return this.#servers.size >= transactions || (request.method === 'INVITE' && this.#pendingInvites >= pendingInvites);
  }

  #open(request: SipRequest, source: SipSource, key: string): ServerTransaction {
    const merge = request.to.tag === undefined && request.method !== 'CANCEL' ? mergeKey(request) : undefined;
    const { clock, sendResponse, tagFor } = this.#context;
    const counted = request.method === 'INVITE' && request.to.tag === undefined;
    let pending = counted;
    const settle = (): void => {
      if (pending) this.#pendingInvites--;
      pending = false;
    };
    const transaction = new ServerTransaction(request, source, tagFor(request), {
      clock,
      send: (to, where, message, failed) => {
        if (transaction.finalStatus !== undefined) settle();
        sendResponse(to, where, message, failed);
      },
      onTerminated: () => {
        settle();
        this.#servers.delete(key);
        if (merge !== undefined) this.#merges.delete(merge);
      },
    });
    if (counted) this.#pendingInvites++;
    this.#servers.set(key, transaction);
    if (merge !== undefined) this.#merges.add(merge);
    return transaction;
  }
}
