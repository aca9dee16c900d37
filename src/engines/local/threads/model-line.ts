import type { MessagePort, Transferable } from 'node:worker_threads';
import { EngineError } from '../../engine.ts';
import type { Attach, Numbered } from './thread-messages.ts';

/** Longest a request waits for its thread to come (back) up: a restart takes about a second. */
const ATTACH_WAIT_MS = 5000;
/** A thread that holds a request longer than this is stuck or hopelessly behind. */
const REPLY_TIMEOUT_MS = 15_000;
/** Requests that may wait for a thread to come up. */
const MAX_QUEUED = 256;

const DOWN_LOAD = 1e9;

interface LineEvents<Reply> {
  onReply: (reply: Reply) => void;
  /** The thread is gone, and with it all it was asked. The pool attaches its successor by itself. */
  onLost: () => void;
  onAttached?: () => void;
  /** The pool is closed, or gone: no thread will come any more. */
  onClosed?: () => void;
}

/**
 * A media worker's end of the way into one model thread. The pool holds the other end and sends along it the direct port
 * into the thread, and another one each time the thread had to be started anew.
 */
export class ModelLine<Request, Reply> {
  readonly #line: MessagePort;
  readonly #events: LineEvents<Reply>;
  #direct: MessagePort | undefined;

  constructor(line: MessagePort, events: LineEvents<Reply>) {
    this.#line = line;
    this.#events = events;
    line.on('message', (message: Attach) => this.#attach(message.port));
    line.on('close', () => this.#events.onClosed?.());
    line.unref();
  }

  get attached(): boolean {
    return this.#direct !== undefined;
  }

  /** False when no thread is there to take it: nothing was sent. */
  send(request: Request, transfer: Transferable[] = []): boolean {
    if (!this.#direct) return false;
    this.#direct.postMessage(request, transfer);
    return true;
  }

  close(): void {
    this.#line.close();
    this.#direct?.close();
    this.#direct = undefined;
  }

  #attach(port: MessagePort): void {
    this.#direct?.close();
    this.#direct = port;
    port.on('message', this.#events.onReply);
    port.on('close', () => {
      if (this.#direct !== port) return;
      this.#direct = undefined;
      this.#events.onLost();
    });
    port.unref();
    this.#events.onAttached?.();
  }
}

interface Pending<Reply> { resolve: (reply: Reply) => void; reject: (error: EngineError) => void; timer: NodeJS.Timeout; weight: number }
interface Queued<Request> { request: Request; transfer: Transferable[] }

/** Asks one model thread and waits for its answers; every request ends, with a reply or an EngineError that says retry. */
export class ModelClient<Request extends Numbered, Reply extends Numbered> {
  readonly #name: string;
  readonly #line: ModelLine<Request, Reply>;
  readonly #pending = new Map<number, Pending<Reply>>();
  #queued: Queued<Request>[] = [];
  #load = 0;
  #closed = false;

  constructor(name: string, line: MessagePort) {
    this.#name = name;
    this.#line = new ModelLine(line, {
      onReply: (reply) => this.#settle(reply.id)?.resolve(reply),
      onLost: () => this.#failAll('its thread ended', true),
      onAttached: () => this.#sendQueued(),
      onClosed: () => this.#end(),
    });
  }

  /** Sum of the weights of what is under way; very high while its thread is down, so that another one is asked. */
  get load(): number {
    return this.#line.attached ? this.#load : this.#load + DOWN_LOAD;
  }

  /** `request.id` must be unique per client. Rejects with EngineError `closed` or `timeout`, worth a retry unless this client was closed. */
  ask(request: Request, options: { weight: number; transfer?: Transferable[] }): Promise<Reply> {
    const transfer = options.transfer ?? [];
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(new EngineError('closed', `${this.#name}: it was closed`, { retry: false }));
        return;
      }
      const sent = this.#line.send(request, transfer);
      if (!sent && this.#queued.length >= MAX_QUEUED) {
        reject(new EngineError('closed', `${this.#name}: no thread is up and ${MAX_QUEUED} requests wait already`, { retry: true }));
        return;
      }
      if (!sent) this.#queued.push({ request, transfer });
      const timer = setTimeout(() => this.#expire(request.id), sent ? REPLY_TIMEOUT_MS : ATTACH_WAIT_MS);
      timer.unref();
      this.#load += options.weight;
      this.#pending.set(request.id, { resolve, reject, timer, weight: options.weight });
    });
  }

  /** Without waiting for an answer. Says nothing when no thread is up. */
  tell(request: Request): void {
    this.#line.send(request);
  }

  close(): void {
    this.#line.close();
    this.#end();
  }

  #end(): void {
    this.#closed = true;
    this.#queued = [];
    this.#failAll('it was closed', false);
  }

  #expire(id: number): void {
    this.#queued = this.#queued.filter((entry) => entry.request.id !== id);
    const error = new EngineError('timeout', `${this.#name}: no answer in time`, { retry: true });
    this.#settle(id)?.reject(error);
  }

  #settle(id: number): Pending<Reply> | undefined {
    const pending = this.#pending.get(id);
    if (!pending) return undefined;
    clearTimeout(pending.timer);
    this.#pending.delete(id);
    this.#load -= pending.weight;
    return pending;
  }

  #sendQueued(): void {
    const queued = this.#queued;
    this.#queued = [];
    for (const { request, transfer } of queued) {
      this.#line.send(request, transfer);
      this.#pending.get(request.id)?.timer.refresh();
    }
  }

  /** What was sent is lost; what waits for the next thread is not. */
  #failAll(why: string, retry: boolean): void {
    const waiting = new Set(this.#queued.map((entry) => entry.request.id));
    for (const id of [...this.#pending.keys()]) {
      if (!waiting.has(id)) this.#settle(id)?.reject(new EngineError('closed', `${this.#name}: ${why}`, { retry }));
    }
  }
}
