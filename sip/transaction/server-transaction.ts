/** A request together with the way its answers go. */
import type { SipClock } from '../clock.ts';
import { buildResponse, reasonPhrase, replyTo, type ResponseContent } from '../message/build.ts';
import type { ReplyTo, SipRequest } from '../message/message.ts';
import { stampVia } from '../transport/routing.ts';
import type { SipSource } from '../transport/source.ts';
import { InviteServerTransaction } from './ist.ts';
import { NonInviteServerTransaction } from './nist.ts';
import type { Outgoing, Wire } from './wire.ts';

/** Puts a response on the wire towards a request's sender; `failed` when that is known to have failed. */
export type SendResponse = (to: ReplyTo, source: SipSource, message: Outgoing, failed: (error: Error) => void) => void;

export class ServerTransaction {
  readonly request: SipRequest;
  readonly source: SipSource;
  /** To tag of every response that does not bring its own. */
  readonly toTag: string;
  /** Called once if a response could not be sent. */
  onTransportFailed: ((detail: string) => void) | undefined;
  readonly #replyTo: ReplyTo;
  readonly #machine: InviteServerTransaction | NonInviteServerTransaction;
  #finalStatus: number | undefined;

  constructor(request: SipRequest, source: SipSource, toTag: string, context: { clock: SipClock; send: SendResponse; onTerminated: () => void }) {
    this.request = request;
    this.source = source;
    this.toTag = toTag;
    this.#replyTo = replyTo(request, stampVia(request.topVia, source));
    const wire: Wire = {
      reliable: source.transport === 'tcp',
      send: (message) => context.send(this.#replyTo, source, message, (error) => this.#failed(error)),
    };
    this.#machine = request.method === 'INVITE' ? new InviteServerTransaction(wire, context.clock, context.onTerminated) : new NonInviteServerTransaction(wire, context.clock, context.onTerminated);
  }

  /** The final status sent; undefined while there is none. */
  get finalStatus(): number | undefined {
    return this.#finalStatus;
  }

  /** Sends a response; ignored after a final one, except that a 2xx to INVITE may be repeated. */
  respond(content: ResponseContent): void {
    const to = this.#replyTo;
    const bytes = buildResponse(to, content.status === 100 ? content : { toTag: this.toTag, ...content });
    if (content.status >= 200) this.#finalStatus ??= content.status;
    this.#machine.respond(content.status, outgoingResponse(to, content, bytes));
  }

  retransmission(): void {
    this.#machine.retransmission();
  }

  /** See InviteServerTransaction.ack. */
  ack(): 'absorbed' | 'dialog' {
    return this.#machine instanceof InviteServerTransaction ? this.#machine.ack() : 'absorbed';
  }

  terminate(): void {
    this.#machine.terminate();
  }

  #failed(error: Error): void {
    const tell = this.onTransportFailed;
    this.onTransportFailed = undefined;
    this.#machine.terminate();
    tell?.(error.message);
  }
}

export function outgoingResponse(to: ReplyTo, content: ResponseContent, bytes: Buffer): Outgoing {
  return { bytes, callId: to.callId ?? '', summary: `${content.status} ${content.reason ?? reasonPhrase(content.status)} (${to.method})` };
}
