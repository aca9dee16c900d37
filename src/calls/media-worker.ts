import { Worker } from 'node:worker_threads';
import type { FromWorker, ToWorker, WorkerOptions } from './worker-protocol.ts';

export interface MediaWorkerOptions {
  entry: URL;
  data: WorkerOptions;
  /** Messages other than ready and pong. */
  onMessage: (message: FromWorker) => void;
  /** The thread is gone, for whatever reason but a `close()`; `cause` says it in words. */
  onDied: (cause: string) => void;
  pingEveryMs?: number;
  /** Answers may be this late before the thread counts as dead. */
  pongWithinMs?: number;
}

/** One supervised media thread: pinged, and reported dead once, by exit, error or silence. */
export class MediaWorker {
  readonly #thread: Worker;
  readonly #options: MediaWorkerOptions;
  readonly #exited: Promise<void>;
  #pings: NodeJS.Timeout | undefined;
  #sequence = 0;
  #answeredAt = performance.now();
  #state: 'starting' | 'running' | 'closing' | 'dead' = 'starting';
  browserPort = 0;
  priority: 'realtime' | 'nice' | 'normal' = 'normal';

  private constructor(options: MediaWorkerOptions) {
    this.#options = options;
    const { vad, stt, tts } = options.data.modelPorts;
    this.#thread = new Worker(options.entry, { workerData: options.data, transferList: [vad, ...stt, ...tts], name: `media-${options.data.index}` });
    this.#exited = new Promise((resolve) => this.#thread.once('exit', () => resolve()));
  }

  /** Resolves once the thread has opened its sockets. Throws when it cannot start. */
  static async start(options: MediaWorkerOptions): Promise<MediaWorker> {
    const worker = new MediaWorker(options);
    await worker.#ready();
    worker.#watch();
    return worker;
  }

  get alive(): boolean {
    return this.#state === 'running';
  }

  post(message: ToWorker): void {
    if (this.#state === 'running' || this.#state === 'closing') this.#thread.postMessage(message);
  }

  /** Ends the thread's calls with `service_shutdown`, then the thread; by force after `withinMs`. */
  async close(withinMs = 5000): Promise<void> {
    if (this.#state === 'dead') return;
    this.#state = 'closing';
    clearInterval(this.#pings);
    this.post({ type: 'close' });
    const force = setTimeout(() => void this.#thread.terminate(), withinMs);
    await this.#exited;
    clearTimeout(force);
    this.#state = 'dead';
  }

  /** Ends the thread at once, as a crash would. */
  async kill(): Promise<void> {
    await this.#thread.terminate();
  }

  #ready(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#thread.on('error', (error) => {
        reject(error);
        this.#died(`error: ${error.message}`);
      });
      this.#thread.on('exit', (code) => {
        reject(new Error(`media worker ${this.#options.data.index} exited with code ${code} before it was ready`));
        this.#died(`exit code ${code}`);
      });
      this.#thread.on('message', (message: FromWorker) => {
        if (message.type === 'ready') {
          this.browserPort = message.browserPort;
          this.priority = message.priority;
          this.#state = 'running';
          resolve();
        } else if (message.type === 'pong') {
          this.#answeredAt = performance.now();
        } else {
          this.#options.onMessage(message);
        }
      });
    });
  }

  #watch(): void {
    const pongWithinMs = this.#options.pongWithinMs ?? 10_000;
    this.#answeredAt = performance.now();
    this.#pings = setInterval(() => {
      this.post({ type: 'ping', sequence: this.#sequence++ });
      if (performance.now() - this.#answeredAt > pongWithinMs) void this.#thread.terminate();
    }, this.#options.pingEveryMs ?? 1000);
  }

  #died(cause: string): void {
    clearInterval(this.#pings);
    const expected = this.#state === 'closing' || this.#state === 'dead';
    const wasRunning = this.#state === 'running';
    this.#state = 'dead';
    if (!expected && wasRunning) this.#options.onDied(cause);
  }
}
