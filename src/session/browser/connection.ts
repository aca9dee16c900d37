import { WebSocket, type RawData } from 'ws';
import type { ServerMessage } from './protocol.ts';

/** Close codes of our own (4000-4999 are the application's, RFC 6455 section 7.4.2), named after their HTTP kin. */
export const CLOSE = { unauthorized: 4401, startTimeout: 4408, replaced: 4409, tooLarge: 4413, flood: 4429 } as const;

export interface ConnectionLimits {
  /** Control messages and pings a second, sustained; as many again at once. */
  controlPerSecond: number;
  audioPerSecond: number;
  /** Audio messages at once: what waited in a network that stalled for some seconds comes as one burst and is no flood. */
  audioBurst: number;
  pingEveryMs: number;
  /** So long a client that does not read may stay so. */
  stuckAfterMs: number;
  /** After our Close frame the client has so long to answer before the socket is cut. */
  closeWithinMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  controlPerSecond: 100,
  audioPerSecond: 150,
  audioBurst: 600,
  pingEveryMs: 20_000,
  stuckAfterMs: 10_000,
  closeWithinMs: 2000,
};

/** Text waiting for a client that does not read; beyond it the socket is cut. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

/**
 * How a connection ended. `left`: the client closed it; `lost`: the network or its silence did, it may come back;
 * `refused`: we closed it for what it did.
 */
export type Departure = 'left' | 'lost' | 'refused';

export interface ConnectionEvents {
  onText(text: string): void;
  onAudio(bytes: Buffer): void;
  /** Once. */
  onGone(departure: Departure, detail: string): void;
}

/** A socket whose receiver's "message too big" (1009) is said in our own code. */
export class RealtimeSocket extends WebSocket {
  override close(code?: number, data?: string | Buffer): void {
    if (code === 1009) super.close(CLOSE.tooLarge, 'message over 64 KiB');
    else super.close(code, data);
  }
}

/** One browser's socket: its limits, its pulse and its end. A session may see several, one after the other. */
export class Connection {
  readonly #socket: WebSocket;
  readonly #limits: ConnectionLimits;
  readonly #now: () => number;
  readonly #control: Bucket;
  readonly #audio: Bucket;
  readonly #pulse: NodeJS.Timeout;
  #events: ConnectionEvents | undefined;
  #departure: Departure | undefined;
  #closing: NodeJS.Timeout | undefined;
  #alive = true;
  #crowdedSince: number | undefined;
  /** Resolves once the socket is closed. */
  readonly gone: Promise<void>;

  constructor(socket: WebSocket, options: { limits: ConnectionLimits; now: () => number }) {
    const { limits, now } = options;
    this.#socket = socket;
    this.#limits = limits;
    this.#now = now;
    this.#control = new Bucket(limits.controlPerSecond, limits.controlPerSecond, now);
    this.#audio = new Bucket(limits.audioPerSecond, limits.audioBurst, now);
    this.#pulse = setInterval(() => this.#beat(), limits.pingEveryMs);
    socket.on('message', (data, isBinary) => this.#onMessage(data, isBinary));
    socket.on('ping', (data) => this.#onPing(data));
    socket.on('pong', () => (this.#alive = true));
    socket.on('error', () => this.#part('refused'));
    this.gone = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        this.#onClose(code, reason.toString());
        resolve();
      });
    });
  }

  /** Who listens; replaced when the connection is let in. Messages before the first listener are lost. */
  listen(events: ConnectionEvents): void {
    this.#events = events;
  }

  get open(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  send(message: ServerMessage): void {
    if (!this.open) return;
    if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) this.cut();
    else this.#socket.send(JSON.stringify(message));
  }

  /** False: more than `maxBufferedBytes` wait already, so this was dropped; a client that stays stuck is cut. */
  sendAudio(bytes: Buffer, maxBufferedBytes: number): boolean {
    if (!this.open) return false;
    if (this.#socket.bufferedAmount <= maxBufferedBytes) {
      this.#crowdedSince = undefined;
      this.#socket.send(bytes);
      return true;
    }
    this.#crowdedSince ??= this.#now();
    if (this.#now() - this.#crowdedSince > this.#limits.stuckAfterMs) this.cut();
    return false;
  }

  /** Closes for what the client did: `onGone` will say `refused`. */
  refuse(code: number, reason: string): void {
    this.#part('refused');
    this.#socket.close(code, reason);
  }

  /** Closes in peace. */
  close(code: number, reason: string): void {
    this.#part('left');
    this.#socket.close(code, reason);
  }

  /** Ends the socket without a word: `onGone` will say `lost`. */
  cut(): void {
    this.#departure ??= 'lost';
    this.#socket.terminate();
  }

  #part(departure: Departure): void {
    this.#departure ??= departure;
    this.#closing ??= setTimeout(() => this.#socket.terminate(), this.#limits.closeWithinMs);
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    if (this.#departure) return;
    this.#alive = true;
    if (!this.#allow(isBinary ? this.#audio : this.#control)) return;
    if (isBinary) this.#events?.onAudio(data as Buffer);
    else this.#events?.onText((data as Buffer).toString());
  }

  #onPing(data: Buffer): void {
    if (this.#departure) return;
    this.#alive = true;
    if (this.#allow(this.#control)) this.#socket.pong(data);
  }

  #allow(bucket: Bucket): boolean {
    if (bucket.take()) return true;
    this.refuse(CLOSE.flood, bucket === this.#audio ? 'too many audio messages' : 'too many control messages');
    return false;
  }

  #beat(): void {
    if (!this.#alive) return this.cut();
    this.#alive = false;
    if (this.open) this.#socket.ping();
  }

  #onClose(code: number, reason: string): void {
    clearInterval(this.#pulse);
    clearTimeout(this.#closing);
    // 1006: the connection broke without a Close frame (RFC 6455 section 7.1.5).
    const departure = this.#departure ?? (code === 1006 ? 'lost' : 'left');
    this.#events?.onGone(departure, reason === '' ? `code ${code}` : `code ${code}: ${reason}`);
    this.#events = undefined;
  }
}

/** A token bucket: `rate` a second, `burst` at once. */
class Bucket {
  readonly #rate: number;
  readonly #burst: number;
  readonly #now: () => number;
  #tokens: number;
  #filledAt: number;

  constructor(rate: number, burst: number, now: () => number) {
    this.#rate = rate;
    this.#burst = burst;
    this.#now = now;
    this.#tokens = burst;
    this.#filledAt = now();
  }

  take(): boolean {
    const now = this.#now();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filledAt) / 1000) * this.#rate);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
