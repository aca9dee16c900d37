/** One TCP connection: framing, keepalive, and the timeouts that keep slow or silent peers from holding it. */
import type { Socket } from 'node:net';
import type { SipClock } from '../clock.ts';
import { StreamFramer } from '../message/stream.ts';
import type { SipSource } from './source.ts';

export interface ConnectionLimits {
  readonly messageBytes: number;
  /** A message that has begun must end within this time. */
  readonly partialMs: number;
  /** Without traffic for this long, the connection is closed. */
  readonly idleMs: number;
  /** A peer that does not read is cut off with this much unsent. */
  readonly unsentBytes: number;
  readonly connectMs: number;
}

export interface ConnectionEvents {
  /** False: close the connection. */
  onMessage(bytes: Buffer): boolean;
  onBroken(reason: string): void;
  onClose(): void;
}

const PONG = Buffer.from('\r\n');

export class TcpConnection {
  readonly source: SipSource;
  readonly #socket: Socket;
  readonly #limits: ConnectionLimits;
  readonly #clock: SipClock;
  readonly #events: ConnectionEvents;
  readonly #framer: StreamFramer;
  #partialTimer: unknown;
  #idleTimer: unknown;
  /** Runs while a guest has not proved itself. */
  #guestTimer: unknown;
  /** Told when the connection goes before their bytes are handed over. */
  readonly #unsent = new Set<(error: Error) => void>();
  #error: Error | undefined;

  constructor(socket: Socket, peer: { source: SipSource; welcome: 'yes' | 'guest' }, limits: ConnectionLimits, clock: SipClock, events: ConnectionEvents) {
    this.source = peer.source;
    this.#socket = socket;
    this.#limits = limits;
    this.#clock = clock;
    this.#events = events;
    this.#framer = new StreamFramer(limits.messageBytes);
    const connectTimer = socket.connecting ? clock.setTimeout(() => socket.destroy(new Error(`no connection within ${limits.connectMs} ms`)), limits.connectMs) : undefined;
    socket.once('connect', () => clock.clear(connectTimer));
    socket.on('data', (chunk) => this.#onData(chunk));
    // Half-open SIP connections are of no use: answers could not be read.
    socket.on('end', () => socket.destroy());
    socket.on('error', (error) => {
      this.#error = error;
    });
    socket.on('close', () => {
      clock.clear(connectTimer);
      this.#onClose();
    });
    if (peer.welcome === 'guest') this.#guestTimer = clock.setTimeout(() => socket.resetAndDestroy(), limits.partialMs);
    this.#touch();
  }

  send(bytes: Buffer, failed: (error: Error) => void): void {
    if (this.#socket.destroyed || this.#socket.writableLength > this.#limits.unsentBytes) {
      this.#socket.destroy();
      failed(new Error(`the connection to ${this.source.address}:${this.source.port} does not take data`));
      return;
    }
    this.#unsent.add(failed);
    this.#socket.write(bytes, (error) => {
      if (!error) this.#unsent.delete(failed);
    });
    this.#touch();
  }

  close(): void {
    this.#socket.destroy();
  }

  #onData(chunk: Buffer): void {
    this.#touch();
    for (const framed of this.#framer.push(chunk)) {
      if (this.#socket.destroyed) return;
      switch (framed.kind) {
        case 'message':
          if (this.#events.onMessage(framed.bytes)) this.#endProbation();
          else this.#socket.resetAndDestroy();
          break;
        case 'ping':
          if (this.#guestTimer === undefined) this.#socket.write(PONG);
          break;
        case 'broken':
          this.#events.onBroken(framed.reason);
          this.#socket.destroy();
          return;
      }
    }
    this.#watchPartial();
  }

  #endProbation(): void {
    this.#clock.clear(this.#guestTimer);
    this.#guestTimer = undefined;
  }

  /** The timer runs from a message's first byte: dribbling does not extend it. */
  #watchPartial(): void {
    if (!this.#framer.partial) {
      this.#clock.clear(this.#partialTimer);
      this.#partialTimer = undefined;
    } else if (this.#partialTimer === undefined && !this.#socket.destroyed) {
      this.#partialTimer = this.#clock.setTimeout(() => {
        this.#events.onBroken(`a message did not end within ${this.#limits.partialMs} ms`);
        this.#socket.destroy();
      }, this.#limits.partialMs);
    }
  }

  #touch(): void {
    this.#clock.clear(this.#idleTimer);
    this.#idleTimer = this.#clock.setTimeout(() => this.#socket.destroy(), this.#limits.idleMs);
  }

  #onClose(): void {
    this.#clock.clear(this.#partialTimer);
    this.#clock.clear(this.#idleTimer);
    this.#clock.clear(this.#guestTimer);
    this.#events.onClose();
    const error = this.#error ?? new Error(`the connection to ${this.source.address}:${this.source.port} closed`);
    for (const failed of this.#unsent) failed(error);
    this.#unsent.clear();
  }
}
