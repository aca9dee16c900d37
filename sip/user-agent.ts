/**
 * The one door of `sip/`: a SIP user agent, server and client, on one UDP and TCP port (RFC 3261).
 * It hands out INVITEs and dialogs, and knows nothing of media beyond their text.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { LifetimeClock, systemClock, type SipClock } from './clock.ts';
import type { DialogContext } from './dialog/context.ts';
import { DialogTable } from './dialog/dialog-table.ts';
import { buildResponse, latin1, type OutHeader } from './message/build.ts';
import { viaText } from './message/headers.ts';
import type { ReplyTo, SipRequest } from './message/message.ts';
import { hostText, type SipUri } from './message/uri.ts';
import { TransactionLayer } from './transaction/layer.ts';
import { outgoingResponse } from './transaction/server-transaction.ts';
import type { Outgoing } from './transaction/wire.ts';
import { resolveHop } from './transport/resolve.ts';
import { reconnectDestination, responseDestination, stampVia } from './transport/routing.ts';
import type { SipSource } from './transport/source.ts';
import { TransportLayer } from './transport/transport-layer.ts';
import { Gate, type Refusal, type TraceEntry } from './ua/gate.ts';
import type { InboundInvite } from './ua/inbound-invite.ts';
import { OutgoingInvite, type InviteOptions, type OutboundInvite } from './ua/outbound-invite.ts';
import { UasCore } from './ua/uas.ts';

export type { SipClock } from './clock.ts';
export type { DialogEnd, InviteDialog, ReinviteAnswer } from './dialog/invite-dialog.ts';
export type { NameAddr } from './message/headers.ts';
export { hostText, uriUser, type SipUri } from './message/uri.ts';
export type { SipSource } from './transport/source.ts';
export type { Refusal, TraceEntry } from './ua/gate.ts';
export type { InboundInvite, InviteEnd } from './ua/inbound-invite.ts';
export type { InviteOptions, InviteOutcome, OutboundInvite } from './ua/outbound-invite.ts';

export interface SipLimits {
  /** Largest message, head and body, in bytes. */
  readonly messageBytes: number;
  readonly headers: number;
  /** Messages a source address may send. */
  readonly perSourcePerSecond: number;
  readonly perSourceBurst: number;
  /** Source addresses whose rate is remembered. */
  readonly sources: number;
  /** Server transactions; beyond, what would start something is answered 503. */
  readonly transactions: number;
  /** INVITEs without a final answer; beyond, 503. */
  readonly pendingInvites: number;
  /** Dialogs alive at a time; beyond, 503. */
  readonly dialogs: number;
  /** How long an INVITE may wait for our final answer. */
  readonly answerMs: number;
  readonly connections: number;
  readonly connectionsPerAddress: number;
  /** A TCP connection without traffic is closed after this. */
  readonly idleMs: number;
  /** A message that has begun on a TCP connection must end within this. */
  readonly partialMs: number;
  readonly connectMs: number;
  /** Unsent bytes at which a TCP peer that does not read is cut off. */
  readonly unsentBytes: number;
}

export const SIP_LIMITS: SipLimits = {
  messageBytes: 65_536,
  headers: 200,
  perSourcePerSecond: 100,
  perSourceBurst: 200,
  sources: 10_000,
  transactions: 20_000,
  pendingInvites: 1000,
  dialogs: 10_000,
  answerMs: 180_000,
  connections: 1000,
  connectionsPerAddress: 100,
  idleMs: 600_000,
  partialMs: 10_000,
  connectMs: 5000,
  unsentBytes: 1_048_576,
};

export interface UserAgentOptions {
  /** Bind address. */
  readonly host: string;
  /** For UDP and TCP; 0: any that is free for both. */
  readonly port: number;
  /** Host in Contact and Via. */
  readonly advertisedAddress: string;
  /** Port in Contact and Via where it differs from the bound one (port mapping). */
  readonly advertisedPort?: number;
  /** False: not one byte is answered. Asked before anything is parsed; a live dialog's packets pass all the same. */
  admits(source: SipSource): boolean;
  /** An INVITE outside a dialog. */
  onInvite(invite: InboundInvite): void;
  /** Every message in and out, without credentials. */
  onTrace?(entry: TraceEntry): void;
  /** What was not let in, at most ten a second. */
  onRefused?(refusal: Refusal): void;
  /** An exception in one of these callbacks; default: a process warning. */
  onFault?(error: unknown): void;
  /** True: OPTIONS is answered 503, so that proxies look elsewhere. */
  draining?(): boolean;
  /** For Server and User-Agent. */
  readonly userAgent?: string;
  readonly limits?: Partial<SipLimits>;
  readonly clock?: SipClock;
  /** Random hexadecimal text of so many octets. */
  random?(octets: number): string;
}

export class UserAgent {
  readonly port: number;
  readonly #transport: TransportLayer;
  readonly #gate: Gate;
  readonly #dialogs: DialogTable;
  readonly #transactions: TransactionLayer;
  readonly #clock: LifetimeClock;
  readonly #context: DialogContext;
  readonly #advertised: { address: string; port: number };

  private constructor(options: UserAgentOptions, parts: { transport: TransportLayer; clock: LifetimeClock; gate: (events: GateEvents) => Gate; dialogs: DialogTable }) {
    this.#transport = parts.transport;
    this.#clock = parts.clock;
    this.#dialogs = parts.dialogs;
    this.port = parts.transport.port;
    this.#advertised = { address: options.advertisedAddress, port: options.advertisedPort ?? this.port };
    const limits = { ...SIP_LIMITS, ...options.limits };
    const random = options.random ?? ((octets: number) => randomBytes(octets).toString('hex'));
    const secret = random(16);
    const tagFor = (request: SipRequest): string => tagOf(secret, `${request.callId}\n${request.from.tag ?? ''}\n${request.topVia.params.get('branch') ?? ''}\n${request.cseq.number}`);
    const context = this.#dialogContext(options, random);
    this.#context = context;
    const core = new UasCore({ onInvite: (invite) => options.onInvite(invite), draining: () => options.draining?.() ?? false, advertisedHost: hostText(options.advertisedAddress), limits }, context);
    this.#transactions = new TransactionLayer(
      {
        clock: this.#clock,
        random,
        advertised: this.#advertised,
        limits,
        tagFor,
        sendResponse: (to, source, message, failed) => this.#sendResponse(to, source, message, failed),
        sendRequest: (message, to, failed) => this.#send(message, to, failed),
      },
      core,
    );
    this.#gate = parts.gate({
      onMessage: (message, source) => this.#transactions.receive(message, source),
      onMalformed: ({ status, to }, source) => this.#refuse(status, to, source, tagOf(secret, `${to.callId ?? ''}\n${to.cseq ?? ''}`), context.responseHeaders),
    });
  }

  /** Binds and begins to answer. Rejects with the system's error when the port cannot be had. */
  static async start(options: UserAgentOptions): Promise<UserAgent> {
    if (/[\r\n]/.test(options.userAgent ?? '')) throw new TypeError('userAgent must be one line');
    const limits = { ...SIP_LIMITS, ...options.limits };
    const clock = new LifetimeClock(options.clock ?? systemClock);
    const dialogs = new DialogTable(clock);
    let gate: Gate | undefined;
    const transport = await TransportLayer.open(
      { host: options.host, port: options.port, limits, clock },
      {
        // What arrives between bind and start waits for its retransmission.
        onDatagram: (bytes, source) => void gate?.receive(bytes, source),
        onMessage: (bytes, source) => gate?.receive(bytes, source) ?? false,
        welcomes: (source) => gate?.welcome(source) ?? 'no',
        onBroken: (source, reason) => gate?.refused(source, reason),
      },
    );
    const makeGate = (events: GateEvents): Gate =>
      new Gate({ clock, dialogs, limits, admits: (source) => options.admits(source), onTrace: options.onTrace?.bind(options), onRefused: options.onRefused?.bind(options), onFault: faultReporter(options), ...events });
    const userAgent = new UserAgent(options, { transport, clock, dialogs, gate: (events) => (gate = makeGate(events)) });
    return userAgent;
  }

  /** Calls somebody. Throws SipSyntaxError or TypeError for options that cannot be sent; everything else is the invite's outcome. */
  invite(options: InviteOptions): OutboundInvite {
    return new OutgoingInvite(options, this.#context);
  }

  /** What is held at this moment, for metrics and leak tests. */
  counts(): { dialogs: number; transactions: number; connections: number } {
    return { dialogs: this.#dialogs.live, transactions: this.#transactions.size, connections: this.#transport.connectionCount };
  }

  /** Closes sockets and timers. Dialogs that still live end with `transport_failed`, without a BYE: say `bye()` first. */
  async close(): Promise<void> {
    this.#transactions.close();
    this.#dialogs.close();
    this.#clock.close();
    await this.#transport.close();
  }

  #dialogContext(options: UserAgentOptions, random: (octets: number) => string): DialogContext {
    const { address, port } = this.#advertised;
    const own = options.userAgent === undefined ? undefined : latin1(options.userAgent);
    const resolve = (nextHop: SipUri, peer: SipSource): Promise<SipSource> =>
      resolveHop(nextHop, peer, { lookup: async (host) => (await lookup(host)).address, hasConnection: (to) => this.#transport.hasConnection(to) });
    return {
      clock: this.#clock,
      dialogs: this.#dialogs,
      contact: (transport) => `<sip:${hostText(address)}:${port}${transport === 'tcp' ? ';transport=tcp' : ''}>`,
      requestHeaders: own === undefined ? [] : [['User-Agent', own]],
      responseHeaders: own === undefined ? [] : [['Server', own]],
      request: async (request, nextHop, peer) => {
        try {
          return await this.#transactions.request(request, await resolve(nextHop, peer));
        } catch (error) {
          return { kind: 'transport_failed', detail: error instanceof Error ? error.message : String(error) };
        }
      },
      resolve,
      invite: (request, to, events) => this.#transactions.invite(request, to, events),
      send: (request, to) => this.#transactions.sendOnly(request, to),
      random,
      retryAfter: () => String(Number.parseInt(random(1), 16) % 11),
      onFault: faultReporter(options),
    };
  }

  #sendResponse(to: ReplyTo, source: SipSource, message: Outgoing, failed: (error: Error) => void): void {
    const gone = source.transport === 'tcp' && !this.#transport.hasConnection(source);
    this.#send(message, gone ? reconnectDestination(to.topVia, source) : responseDestination(to.topVia, source), failed);
  }

  #send(message: Outgoing, to: SipSource, failed: (error: Error) => void): void {
    this.#gate.trace('out', message, to);
    this.#transport.send(message.bytes, to, failed);
  }

  /** Answers what could not be parsed, keeping nothing. */
  #refuse(status: number, received: ReplyTo, source: SipSource, toTag: string, headers: readonly OutHeader[]): void {
    const topVia = stampVia(received.topVia, source);
    const to: ReplyTo = { ...received, topVia, vias: [viaText(topVia), ...received.vias.slice(1)] };
    const content = { status, toTag, headers };
    this.#sendResponse(to, source, outgoingResponse(to, content, buildResponse(to, content)), () => undefined);
  }
}

type GateEvents = Pick<ConstructorParameters<typeof Gate>[0], 'onMessage' | 'onMalformed'>;

function tagOf(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex').slice(0, 16);
}

function faultReporter(options: UserAgentOptions): (error: unknown) => void {
  return (error) => {
    if (options.onFault !== undefined) options.onFault(error);
    else process.emitWarning(error instanceof Error ? error : new Error(String(error)));
  };
}
