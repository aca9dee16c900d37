/** SIP over TCP: a listener, and one table of connections whichever side opened them (RFC 3261 section 18). */
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { SipClock } from '../clock.ts';
import { TcpConnection, type ConnectionLimits } from './tcp-connection.ts';
import { plainAddress, type SipSource } from './source.ts';

export interface TcpLimits extends ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerAddress: number;
  readonly connectMs: number;
}

/** `guest`: not known, but perhaps the other side of a live dialog; it must prove that with its first message, soon. */
export type Welcome = 'yes' | 'guest' | 'no';

export interface TcpEvents {
  /** `no`: the peer is cut off at once, before a byte is read. */
  welcomes(source: SipSource): Welcome;
  /** False: the source has spoken out of turn; its connection is closed without a byte. */
  onMessage(bytes: Buffer, source: SipSource): boolean;
  onBroken(source: SipSource, reason: string): void;
}

export class TcpTransport {
  readonly #server: Server;
  readonly #events: TcpEvents;
  readonly #limits: TcpLimits;
  readonly #clock: SipClock;
  readonly #connections = new Map<string, TcpConnection>();

  private constructor(server: Server, events: TcpEvents, limits: TcpLimits, clock: SipClock) {
    this.#server = server;
    this.#events = events;
    this.#limits = limits;
    this.#clock = clock;
    server.on('connection', (socket) => this.#onConnection(socket));
    // Running out of descriptors refuses one peer; the listener stays.
    server.on('error', () => undefined);
  }

  /** Listens. Rejects with the system's error when the address or port cannot be had. */
  static async open(host: string, port: number, events: TcpEvents, limits: TcpLimits, clock: SipClock): Promise<TcpTransport> {
    const server = createServer({ noDelay: true });
    const transport = new TcpTransport(server, events, limits, clock);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    return transport;
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  /**
   * Sends over the open connection to `to`, else over a new one. `failed` is told when the
   * connection cannot be opened, or the bytes cannot be handed over.
   */
  send(bytes: Buffer, to: { address: string; port: number }, failed: (error: Error) => void): void {
    const key = connectionKey(to.address, to.port);
    const connection = this.#connections.get(key) ?? this.#connect(key, to);
    if (connection === undefined) failed(new Error(`no room for another connection (${this.#limits.connections} open)`));
    else connection.send(bytes, failed);
  }

  /** True while a connection to this address and port is open. */
  has(to: { address: string; port: number }): boolean {
    return this.#connections.has(connectionKey(to.address, to.port));
  }

  close(): Promise<void> {
    for (const connection of [...this.#connections.values()]) connection.close();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #onConnection(socket: Socket): void {
    const address = plainAddress(socket.remoteAddress ?? '');
    const port = socket.remotePort ?? 0;
    const source: SipSource = { address, port, transport: 'tcp' };
    const full = this.#connections.size >= this.#limits.connections || this.#countFrom(address) >= this.#limits.connectionsPerAddress;
    const welcome = address === '' || full ? 'no' : this.#events.welcomes(source);
    if (welcome === 'no') {
      socket.on('error', () => undefined);
      if (full) this.#events.onBroken(source, 'too many connections');
      socket.resetAndDestroy();
      return;
    }
    this.#adopt(connectionKey(address, port), socket, source, welcome);
  }

  #connect(key: string, to: { address: string; port: number }): TcpConnection | undefined {
    if (this.#connections.size >= this.#limits.connections) return undefined;
    const socket = connect({ host: to.address, port: to.port, noDelay: true });
    return this.#adopt(key, socket, { address: plainAddress(to.address), port: to.port, transport: 'tcp' }, 'yes');
  }

  #adopt(key: string, socket: Socket, source: SipSource, welcome: 'yes' | 'guest'): TcpConnection {
    const connection = new TcpConnection(socket, { source, welcome }, this.#limits, this.#clock, {
      onMessage: (bytes) => this.#events.onMessage(bytes, source),
      onBroken: (reason) => this.#events.onBroken(source, reason),
      onClose: () => {
        if (this.#connections.get(key) === connection) this.#connections.delete(key);
      },
    });
    this.#connections.set(key, connection);
    return connection;
  }

  #countFrom(address: string): number {
    let count = 0;
    for (const connection of this.#connections.values()) if (connection.source.address === address) count++;
    return count;
  }
}

function connectionKey(address: string, port: number): string {
  return `${plainAddress(address)} ${port}`;
}
