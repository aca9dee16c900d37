import { MediaWorker } from './media-worker.ts';
import type { FromWorker, OpenCall, ToWorker, WorkerOptions } from './worker-protocol.ts';

export interface WorkerPoolOptions {
  entry: URL;
  size: number;
  /** Everything a worker needs; called anew for each start, since model ports are transferred. */
  workerData: (index: number) => WorkerOptions;
  log: { info(detail: object, message: string): void; error(detail: object, message: string): void };
}

/** What the owner of a call hears about it; `ended` comes once, last. */
export type CallListener = (message: Exclude<FromWorker, { type: 'ready' | 'pong' }>) => void;

interface Place { worker: MediaWorker | undefined; calls: Map<string, CallListener> }

const RESTART_DELAY_MS = 250;
const NO_FIGURES = { turns: [], interruptions: { byCaller: 0, falseAlarms: 0 } };

/** The media workers: a call goes to the least loaded and stays there; a dead worker's calls end with `internal_error` and it is replaced. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #places: Place[] = [];
  #closing = false;

  private constructor(options: WorkerPoolOptions) {
    this.#options = options;
  }

  static async start(options: WorkerPoolOptions): Promise<WorkerPool> {
    const pool = new WorkerPool(options);
    for (let index = 0; index < options.size; index++) pool.#places.push({ worker: undefined, calls: new Map() });
    await Promise.all(pool.#places.map((_, index) => pool.#startWorker(index)));
    return pool;
  }

  /** True while at least one worker can take a call. */
  get ready(): boolean {
    return !this.#closing && this.#places.some((place) => place.worker?.alive);
  }

  get calls(): number {
    return this.#places.reduce((sum, place) => sum + place.calls.size, 0);
  }

  /** How often SCHED_FIFO was granted, for the start log. */
  get priorities(): string[] {
    return this.#places.map((place) => place.worker?.priority ?? 'normal');
  }

  /** Gives the call to a worker; undefined when none is alive. */
  open(call: OpenCall, listener: CallListener): { browserPort: number } | undefined {
    const place = this.#places.filter((each) => each.worker?.alive).sort((a, b) => a.calls.size - b.calls.size)[0];
    if (!place?.worker || this.#closing) return undefined;
    place.calls.set(call.callId, listener);
    place.worker.post(call);
    return { browserPort: place.worker.browserPort };
  }

  /** Tells the worker that has this call; false when none has. */
  tell(message: Extract<ToWorker, { callId: string }>): boolean {
    const place = this.#placeOf(message.callId);
    place?.worker?.post(message);
    return place !== undefined;
  }

  browserPortOf(callId: string): number | undefined {
    return this.#placeOf(callId)?.worker?.browserPort;
  }

  /** Kills the worker of this call as a crash would. For tests of what happens then. */
  async killWorkerOf(callId: string): Promise<void> {
    await this.#placeOf(callId)?.worker?.kill();
  }

  async close(): Promise<void> {
    this.#closing = true;
    await Promise.all(this.#places.flatMap((place) => (place.worker ? [place.worker.close()] : [])));
  }

  #placeOf(callId: string): Place | undefined {
    return this.#places.find((place) => place.calls.has(callId));
  }

  async #startWorker(index: number): Promise<void> {
    const place = this.#places[index];
    if (!place) return;
    place.worker = await MediaWorker.start({
      entry: this.#options.entry,
      data: this.#options.workerData(index),
      onMessage: (message) => this.#deliver(place, message),
      onDied: (cause) => this.#replace(index, place, cause),
    });
    if (this.#closing) await place.worker.close();
  }

  #deliver(place: Place, message: FromWorker): void {
    if (message.type === 'ready' || message.type === 'pong') return;
    const listener = place.calls.get(message.callId);
    if (message.type === 'ended') place.calls.delete(message.callId);
    listener?.(message);
  }

  #replace(index: number, place: Place, cause: string): void {
    this.#options.log.error({ worker: index, cause, calls: place.calls.size }, 'media worker died; its calls end and it is replaced');
    place.worker = undefined;
    for (const callId of [...place.calls.keys()]) {
      this.#deliver(place, { type: 'ended', callId, reason: 'internal_error', detail: `media worker died (${cause})`, summary: NO_FIGURES });
    }
    const restart = (): void => {
      if (this.#closing) return;
      this.#startWorker(index).catch((error: unknown) => {
        this.#options.log.error({ worker: index, error: String(error) }, 'media worker does not start; trying again');
        setTimeout(restart, RESTART_DELAY_MS * 4);
      });
    };
    setTimeout(restart, RESTART_DELAY_MS);
  }
}
