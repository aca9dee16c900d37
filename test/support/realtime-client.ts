import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { ServerMessage } from '../../src/session/browser/protocol.ts';

/** How a client shows who it is. */
export type Showing = { secret: string } | { resumeToken: string } | undefined;

export interface JoinOptions {
  url: string;
  show?: Showing;
  /** `subprotocol` (default) or `message`: in a `session.start`. */
  by?: 'subprotocol' | 'message';
  origin?: string;
  /** A server's own API key, with an `agent_id` in the URL. */
  authorization?: string;
}

export interface Closed { code: number; reason: string }

type Message<T extends ServerMessage['type']> = Extract<ServerMessage, { type: T }>;
interface Waiter { type: string; resolve: (message: ServerMessage) => void }

/** A client of the realtime protocol for scenario tests: joins, speaks PCM16 in real time, keeps all it was told and played. */
export class RealtimeClient {
  readonly socket: WebSocket;
  /** Everything said by text, in order. */
  readonly messages: ServerMessage[] = [];
  /** Every binary message, with the time of its arrival (performance.now). */
  readonly audio: { bytes: Buffer; at: number }[] = [];
  readonly closed: Promise<Closed>;
  #unread: ServerMessage[] = [];
  #waiters: Waiter[] = [];

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('error', () => socket.terminate());
    socket.on('message', (data, isBinary) => {
      if (isBinary) this.audio.push({ bytes: data as Buffer, at: performance.now() });
      else this.#take(JSON.parse((data as Buffer).toString()) as ServerMessage);
    });
    this.closed = new Promise((resolve) => socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() })));
  }

  /** Resolves once the socket is open. Throws `HTTP <status>` when the upgrade is refused. */
  static async join({ url, show, by = 'subprotocol', origin, authorization }: JoinOptions): Promise<RealtimeClient> {
    const protocols = ['wirevoice.v1'];
    if (show && by === 'subprotocol') protocols.push('secret' in show ? `secret.${show.secret}` : `resume.${show.resumeToken}`);
    const socket = new WebSocket(url, protocols, { perMessageDeflate: false, ...(origin === undefined ? {} : { origin }), ...(authorization === undefined ? {} : { headers: { authorization } }) });
    const client = new RealtimeClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
      socket.once('unexpected-response', (_, response) => {
        reject(new Error(`HTTP ${response.statusCode}`));
        response.resume();
        socket.terminate();
      });
    });
    if (show && by === 'message') client.send('secret' in show ? { type: 'session.start', client_secret: show.secret } : { type: 'session.start', resume_token: show.resumeToken });
    return client;
  }

  send(message: object): void {
    this.socket.send(JSON.stringify(message));
  }

  /** The next message of a type that was not waited for before; messages of other types are passed over. */
  async next<T extends ServerMessage['type']>(type: T, timeoutMs = 5000): Promise<Message<T>> {
    const index = this.#unread.findIndex((message) => message.type === type);
    if (index >= 0) {
      const [found] = this.#unread.splice(0, index + 1).slice(-1);
      return found as Message<T>;
    }
    this.#unread = [];
    const { promise, resolve, reject } = Promise.withResolvers<ServerMessage>();
    const waiter = { type, resolve };
    this.#waiters.push(waiter);
    const late = setTimeout(() => reject(new Error(`No ${type} within ${timeoutMs} ms; heard ${this.messages.map((message) => message.type).join(', ')}`)), timeoutMs);
    try {
      return (await promise) as Message<T>;
    } finally {
      clearTimeout(late);
      this.#waiters = this.#waiters.filter((other) => other !== waiter);
    }
  }

  /** Speaks PCM16 at the session's input rate in real time, in messages of `frameMs`; ends early when the socket closes. */
  async speak(samples: Int16Array, { sampleRate = 16_000, frameMs = 20 } = {}): Promise<void> {
    const step = (sampleRate / 1000) * frameMs;
    const start = performance.now();
    for (let at = 0, index = 0; at + step <= samples.length; at += step, index++) {
      const early = start + index * frameMs - performance.now();
      if (early > 1) await wait(early);
      if (this.socket.readyState !== WebSocket.OPEN) return;
      this.socket.send(Buffer.from(samples.buffer, samples.byteOffset + at * 2, step * 2));
    }
  }

  /** Everything heard so far, as PCM16 at the session's output rate. */
  heard(): Int16Array {
    const bytes = Buffer.concat(this.audio.map((message) => message.bytes));
    return new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length - (bytes.length % 2)));
  }

  /** Closes in peace and resolves when the socket is gone. */
  async close(code = 1000): Promise<Closed> {
    if (this.socket.readyState !== WebSocket.CLOSED) {
      this.socket.close(code);
      await once(this.socket, 'close');
    }
    return this.closed;
  }

  /** Breaks the socket without a Close frame, as a lost network does. */
  break(): void {
    this.socket.terminate();
  }

  #take(message: ServerMessage): void {
    this.messages.push(message);
    const waiter = this.#waiters.find(({ type }) => type === message.type);
    if (!waiter) return void this.#unread.push(message);
    this.#waiters = this.#waiters.filter((other) => other !== waiter);
    waiter.resolve(message);
  }
}
