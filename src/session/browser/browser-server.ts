import { once } from 'node:events';
import { createServer, STATUS_CODES, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { BrowserLegSpec } from '../../calls/worker-protocol.ts';
import { offeredCredential, originAllowed, type Credential } from './admission.ts';
import { BROWSER_LEG_LIMITS, BrowserLeg, type BrowserLegEvents, type BrowserLegLimits } from './browser-leg.ts';
import { CLOSE, CONNECTION_LIMITS, Connection, RealtimeSocket, type ConnectionLimits } from './connection.ts';
import { MAX_MESSAGE_BYTES, readClientMessage, SUBPROTOCOL } from './protocol.ts';

export interface BrowserServerLimits extends ConnectionLimits, BrowserLegLimits {
  /** A client that upgraded without a credential has so long for its `session.start`. */
  startWithinMs: number;
  /** Sockets of one session that have not shown their credential yet. */
  strangersPerSession: number;
}

export interface BrowserServerOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  /** This thread's clock, ms. */
  now?: () => number;
  /** Told of refusals, with the rule; never of a secret. */
  log?: (event: string, detail: Record<string, unknown>) => void;
  limits?: Partial<BrowserServerLimits>;
}

const PATH = '/v1/realtime';
const SESSION_ID = /^[0-9a-f]{24}$/;
/** Fragments of one message; sound and control fit in one, so this only bounds malice. */
const MAX_FRAGMENTS = 64;
/** Sockets of one worker, far above what its calls need. */
const MAX_SOCKETS = 4096;

/** A media worker's door for browsers: one HTTP server that only upgrades, for the sessions it was told to expect. */
export class BrowserServer {
  readonly #options: BrowserServerOptions;
  readonly #limits: BrowserServerLimits;
  readonly #now: () => number;
  readonly #http: Server;
  readonly #upgrader = new WebSocketServer({
    noServer: true,
    WebSocket: RealtimeSocket,
    perMessageDeflate: false,
    // A connection answers pings itself, within its limits.
    autoPong: false,
    maxPayload: MAX_MESSAGE_BYTES,
    maxFragments: MAX_FRAGMENTS,
    clientTracking: false,
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  });
  readonly #connections = new Set<Connection>();
  readonly #sessions = new Map<string, { leg: BrowserLeg; strangers: Set<Connection> }>();

  private constructor(options: BrowserServerOptions) {
    this.#options = options;
    this.#limits = { ...CONNECTION_LIMITS, ...BROWSER_LEG_LIMITS, startWithinMs: 5000, strangersPerSession: 4, ...options.limits };
    this.#now = options.now ?? (() => performance.now());
    this.#http = createServer({ maxHeaderSize: 16 * 1024, headersTimeout: 5000, requestTimeout: 5000 });
    this.#http.maxConnections = MAX_SOCKETS;
    this.#http.on('request', (_, response) => {
      response.writeHead(426, { Connection: 'close', Upgrade: 'websocket', 'Content-Type': 'text/plain' });
      response.end('This port speaks WebSocket only.\n');
    });
    this.#http.on('upgrade', (request, socket, head) => this.#onUpgrade(request, socket, head));
  }

  /** Resolves once the port is open. Throws when it cannot be. */
  static async listen(options: BrowserServerOptions): Promise<BrowserServer> {
    const server = new BrowserServer(options);
    server.#http.listen(options.port, options.host);
    await once(server.#http, 'listening');
    return server;
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  /** Makes the leg of a session that a browser may now join. Throws on a session it already expects and on a senseless spec. */
  expect(callId: string, spec: BrowserLegSpec, events: BrowserLegEvents): BrowserLeg {
    const { sessionId } = spec;
    if (!SESSION_ID.test(sessionId)) throw new Error(`Session id ${sessionId} is not 24 hex digits.`);
    if (this.#sessions.has(sessionId)) throw new Error(`Session ${sessionId} is expected already.`);
    const leg = new BrowserLeg({ callId, spec, events, now: this.#now, limits: this.#limits });
    const strangers = new Set<Connection>();
    this.#sessions.set(sessionId, { leg, strangers });
    leg.signal.addEventListener('abort', () => {
      this.#sessions.delete(sessionId);
      for (const stranger of strangers) stranger.refuse(CLOSE.unauthorized, 'the session is over');
    }, { once: true });
    return leg;
  }

  /** Ends every session with `service_shutdown` and resolves once every socket is closed. */
  async close(): Promise<void> {
    const closed = once(this.#http, 'close');
    this.#http.close();
    await Promise.all([...this.#sessions.values()].map(({ leg }) => leg.close()));
    for (const connection of this.#connections) connection.cut();
    this.#http.closeAllConnections();
    await closed;
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    const url = URL.parse(request.url ?? '', 'http://worker');
    const sessionId = url?.searchParams.get('session') ?? '';
    const session = url?.pathname === PATH && SESSION_ID.test(sessionId) ? this.#sessions.get(sessionId) : undefined;
    if (!session) return this.#refuseUpgrade(socket, 404, 'Unknown session: it has ended, or was never made.');
    const { origin, host } = request.headers;
    if (!originAllowed(origin, host, session.leg.allowedOrigins)) return this.#refuseUpgrade(socket, 403, 'This origin may not open sessions of this account.');
    if (session.strangers.size >= this.#limits.strangersPerSession) return this.#refuseUpgrade(socket, 429, 'Too many connections wait for their secret.');
    const credential = offeredCredential((request.headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim()));
    this.#upgrader.handleUpgrade(request, socket, head, (webSocket) => {
      const connection = new Connection(webSocket, { limits: this.#limits, now: this.#now });
      this.#connections.add(connection);
      void connection.gone.then(() => this.#connections.delete(connection));
      if (credential) this.#admit(session.leg, connection, credential);
      else this.#awaitStart(session, connection);
    });
  }

  #awaitStart({ leg, strangers }: { leg: BrowserLeg; strangers: Set<Connection> }, connection: Connection): void {
    const late = setTimeout(() => connection.refuse(CLOSE.startTimeout, 'no session.start in time'), this.#limits.startWithinMs);
    strangers.add(connection);
    const leave = (): void => {
      clearTimeout(late);
      strangers.delete(connection);
    };
    connection.listen({
      onText: (text) => {
        leave();
        const message = readClientMessage(text);
        const credential = message.type === 'session.start' ? startCredential(message) : undefined;
        if (credential) this.#admit(leg, connection, credential);
        else this.#refuse(leg, connection, 'the first message must be session.start with client_secret or resume_token');
      },
      onAudio: () => this.#refuse(leg, connection, 'audio before session.start'),
      onGone: leave,
    });
  }

  #admit(leg: BrowserLeg, connection: Connection, credential: Credential): void {
    const verdict = leg.admit(connection, credential);
    if (verdict.kind === 'refused') this.#refuse(leg, connection, verdict.reason);
  }

  #refuse(leg: BrowserLeg, connection: Connection, reason: string): void {
    this.#options.log?.('realtime_refused', { callId: leg.callId, reason });
    connection.refuse(CLOSE.unauthorized, reason);
  }

  #refuseUpgrade(socket: Duplex, status: number, sentence: string): void {
    this.#options.log?.('realtime_refused', { status, reason: sentence });
    const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, 'Connection: close', 'Content-Type: text/plain', `Content-Length: ${Buffer.byteLength(sentence)}`];
    socket.end(`${lines.join('\r\n')}\r\n\r\n${sentence}`);
  }
}

function startCredential(message: { client_secret?: string; resume_token?: string }): Credential | undefined {
  if (message.client_secret !== undefined) return { kind: 'secret', value: message.client_secret };
  if (message.resume_token !== undefined) return { kind: 'resume', value: message.resume_token };
  return undefined;
}
