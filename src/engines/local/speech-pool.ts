import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { Attach, FromThread, ThreadOptions, ThreadRole, ToThread } from './threads/thread-messages.ts';

/** A thread that fell over sooner than this after its start waits before it is started again. */
const SETTLED_MS = 10_000;
const MAX_RESTART_WAIT_MS = 30_000;
/** A thread that does not leave by itself in this time is left behind: ending it by force would abort the process. */
const CLOSE_TIMEOUT_MS = 5000;

export type PoolLog = (level: 'info' | 'warn' | 'error', event: string, detail: Record<string, unknown>) => void;

export interface PoolOptions {
  sttThreads: number;
  ttsThreads: number;
  /** Where what was worked out about the models is kept between starts. */
  cacheDir?: string;
  log?: PoolLog;
}

/** Ports for one media worker, one per thread: pass them in its workerData and transfer list. */
export interface SpeechPorts { vad: MessagePort; stt: MessagePort[]; tts: MessagePort[] }

/** One model thread and its successors: restarted when it falls over, its lines attached to the new one. */
class ModelThread {
  readonly name: string;
  readonly #role: ThreadRole;
  readonly #cacheDir: string | undefined;
  readonly #log: PoolLog;
  readonly #lines = new Set<MessagePort>();
  #worker: Worker | undefined;
  #starting: Promise<void> | undefined;
  #closing = false;
  #failures = 0;
  #restart: NodeJS.Timeout | undefined;

  constructor(role: ThreadRole, index: number, options: PoolOptions) {
    this.#role = role;
    this.#cacheDir = options.cacheDir;
    this.name = `${role}-${index}`;
    this.#log = options.log ?? ((): void => {});
  }

  /** Resolves once the model is loaded and warm; rejects with what its start threw. */
  start(): Promise<void> {
    this.#starting = this.#closing ? Promise.reject(new Error('the pool is closing')) : this.#spawn();
    return this.#starting;
  }

  #spawn(): Promise<void> {
    const workerData: ThreadOptions = { role: this.#role, ...(this.#cacheDir === undefined ? {} : { cacheDir: this.#cacheDir }) };
    const worker = new Worker(new URL('./threads/model-thread.ts', import.meta.url), { workerData, name: this.name });
    const startedAt = performance.now();
    return new Promise((resolve, reject) => {
      let failure: Error | undefined;
      worker.on('message', (message: FromThread) => {
        this.#log('info', 'model_thread_ready', { thread: this.name, loadMs: message.loadMs });
        this.#worker = worker;
        for (const line of this.#lines) this.#attach(line, worker);
        resolve();
      });
      worker.on('error', (error) => {
        failure = error instanceof Error ? error : new Error(String(error));
      });
      worker.on('exit', (code) => {
        const wasUp = this.#worker === worker;
        if (wasUp) this.#worker = undefined;
        const error = failure ?? new Error(`model thread ${this.name} left with code ${code}`);
        reject(error);
        if (wasUp && !this.#closing) this.#recover(error, performance.now() - startedAt);
      });
    });
  }

  /** A new line into this thread; the returned end goes to a media worker. */
  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.#lines.add(port1);
    port1.on('close', () => this.#lines.delete(port1));
    port1.unref();
    if (this.#worker) this.#attach(port1, this.#worker);
    return port2;
  }

  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#restart);
    // A thread that is still loading is in the runtime's hands too: wait until it can be asked to leave.
    await this.#starting?.catch(() => {});
    const worker = this.#worker;
    if (worker) {
      const left = new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), CLOSE_TIMEOUT_MS);
        worker.once('exit', () => {
          clearTimeout(timer);
          resolve(true);
        });
      });
      worker.postMessage({ type: 'close' } satisfies ToThread);
      if (!(await left)) {
        this.#log('error', 'model_thread_stuck', { thread: this.name });
        worker.unref();
      }
    }
    for (const line of this.#lines) line.close();
  }

  #attach(line: MessagePort, worker: Worker): void {
    const { port1, port2 } = new MessageChannel();
    worker.postMessage({ type: 'connect', port: port1 } satisfies ToThread, [port1]);
    line.postMessage({ type: 'attach', port: port2 } satisfies Attach, [port2]);
  }

  #recover(error: Error, livedMs: number): void {
    this.#failures = livedMs > SETTLED_MS ? 0 : this.#failures + 1;
    const waitMs = this.#failures <= 1 ? 0 : Math.min(MAX_RESTART_WAIT_MS, 500 * 2 ** this.#failures);
    this.#log('error', 'model_thread_died', { thread: this.name, error: error.message, restartInMs: waitMs });
    this.#restart = setTimeout(() => {
      const startedAt = performance.now();
      this.start().then(
        () => this.#closing && void this.close(),
        (cause: unknown) => {
          if (!this.#closing) this.#recover(cause instanceof Error ? cause : new Error(String(cause)), performance.now() - startedAt);
        },
      );
    }, waitMs);
  }
}

/** The threads that hold the embedded models: speech to text, text to speech, voice activity. Owned by the main process. */
export class SpeechPool {
  readonly #vad: ModelThread;
  readonly #stt: ModelThread[];
  readonly #tts: ModelThread[];

  readonly #first: Promise<void>;
  readonly #all: Promise<void>;

  private constructor(options: PoolOptions) {
    const several = (role: ThreadRole, count: number): ModelThread[] => Array.from({ length: Math.max(1, count) }, (_, index) => new ModelThread(role, index, options));
    this.#vad = new ModelThread('vad', 0, options);
    this.#stt = several('stt', options.sttThreads);
    this.#tts = several('tts', options.ttsThreads);
    this.#first = this.#load([this.#vad, ...this.#stt.slice(0, 1), ...this.#tts.slice(0, 1)]);
    this.#all = this.#first.then(() => this.#load([...this.#stt.slice(1), ...this.#tts.slice(1)]));
    // Whoever waits hears of a failure; nobody has to.
    this.#all.catch(() => {});
  }

  /** Starts to load all models at once; lines can be taken before they are there. On two cores: `sttThreads` 2, `ttsThreads` 1. */
  static open(options: PoolOptions): SpeechPool {
    return new SpeechPool(options);
  }

  /** As `open`, resolved when every model is loaded and warm. Throws what the first failing thread threw (a missing package is named). */
  static async start(options: PoolOptions): Promise<SpeechPool> {
    const pool = new SpeechPool(options);
    await pool.#all;
    return pool;
  }

  /** Resolves when one thread of each kind serves; the others follow. Rejects as `start` throws. */
  ready(): Promise<void> {
    return this.#first;
  }

  /** Fresh ports for one media worker. They stay good when a thread is restarted; closing them forgets the worker. */
  connect(): SpeechPorts {
    return {
      vad: this.#vad.connect(),
      stt: this.#stt.map((thread) => thread.connect()),
      tts: this.#tts.map((thread) => thread.connect()),
    };
  }

  /** Lets every thread finish what runs, drops what waits; resolves when all are gone. Requests under way fail as `closed`. */
  async close(): Promise<void> {
    await Promise.all(this.#threads().map((thread) => thread.close()));
  }

  async #load(threads: ModelThread[]): Promise<void> {
    const starts = await Promise.allSettled(threads.map((thread) => thread.start()));
    const failed = starts.find((start) => start.status === 'rejected');
    if (!failed) return;
    await this.close();
    throw failed.reason;
  }

  #threads(): ModelThread[] {
    return [this.#vad, ...this.#stt, ...this.#tts];
  }
}
