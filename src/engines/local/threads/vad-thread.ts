import type { MessagePort } from 'node:worker_threads';
import { newSileroState, SileroModel, type SileroState, WINDOW_SAMPLES } from './silero-model.ts';
import type { ModelRole, VadReply, VadRequest } from './thread-messages.ts';

/** With so few open streams a batch is not worth waiting for. */
const EAGER_STREAMS = 4;
/** Longest wait for other streams' windows, however many are open. */
const MAX_WAIT_MS = 6;
/** Windows of one stream that may wait (0.5 s); older ones are dropped: a late decision is worth nothing. */
const MAX_WAITING_WINDOWS = 16;
const MAX_BATCH = 64;

interface WaitingWindow { index: number; pcm: Int16Array }
interface OpenStream { port: MessagePort; id: number; state: SileroState; waiting: WaitingWindow[] }
interface Answer { marks: number[]; probabilities: number[] }

/** The VAD role: gathers the windows of many calls and decides them in one run. */
export class VadThread implements ModelRole {
  readonly #model: SileroModel;
  readonly #ports = new Map<MessagePort, Map<number, OpenStream>>();
  readonly #ready = new Set<OpenStream>();
  #open = 0;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #closing = false;

  private constructor(model: SileroModel) {
    this.#model = model;
  }

  static async load(): Promise<VadThread> {
    return new VadThread(await SileroModel.load());
  }

  connect(port: MessagePort): void {
    this.#ports.set(port, new Map());
    port.on('message', (request: VadRequest) => this.#onRequest(port, request));
    port.on('close', () => this.#forgetPort(port));
  }

  async drain(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#timer);
    this.#ready.clear();
    await this.#running;
  }

  #onRequest(port: MessagePort, request: VadRequest): void {
    const streams = this.#ports.get(port);
    if (!streams || this.#closing) return;
    switch (request.type) {
      case 'closeStream': {
        const stream = streams.get(request.stream);
        if (stream) this.#forget(streams, stream);
        return;
      }
      case 'windows':
        for (let row = 0; row < request.marks.length / 2; row++) {
          const stream = this.#stream(port, streams, request.marks[2 * row] ?? 0);
          stream.waiting.push({ index: request.marks[2 * row + 1] ?? 0, pcm: request.pcm.subarray(row * WINDOW_SAMPLES, (row + 1) * WINDOW_SAMPLES) });
          if (stream.waiting.length > MAX_WAITING_WINDOWS) stream.waiting.shift();
          this.#ready.add(stream);
        }
        this.#schedule();
    }
  }

  #stream(port: MessagePort, streams: Map<number, OpenStream>, id: number): OpenStream {
    const known = streams.get(id);
    if (known) return known;
    const stream: OpenStream = { port, id, state: newSileroState(), waiting: [] };
    streams.set(id, stream);
    this.#open++;
    return stream;
  }

  #forget(streams: Map<number, OpenStream>, stream: OpenStream): void {
    if (streams.delete(stream.id)) this.#open--;
    this.#ready.delete(stream);
  }

  #forgetPort(port: MessagePort): void {
    const streams = this.#ports.get(port);
    if (!streams) return;
    for (const stream of [...streams.values()]) this.#forget(streams, stream);
    this.#ports.delete(port);
  }

  /** Runs at once when few streams are open or every one of them has a window here; else lets a batch gather. */
  #schedule(): void {
    if (this.#running || this.#closing || this.#ready.size === 0) return;
    const full = this.#ready.size >= Math.min(this.#open, MAX_BATCH);
    if (full || this.#open <= EAGER_STREAMS) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#running = this.#run();
    } else {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#running ??= this.#run();
      }, Math.min(MAX_WAIT_MS, this.#open - EAGER_STREAMS));
    }
  }

  async #run(): Promise<void> {
    const batch: { stream: OpenStream; state: SileroState; index: number; window: Int16Array }[] = [];
    for (const stream of this.#ready) {
      const next = stream.waiting.shift();
      if (next) batch.push({ stream, state: stream.state, index: next.index, window: next.pcm });
      if (stream.waiting.length === 0) this.#ready.delete(stream);
      if (batch.length === MAX_BATCH) break;
    }
    if (batch.length > 0) {
      const probabilities = await this.#model.run(batch);
      const answers = new Map<MessagePort, Answer>();
      for (const [row, { stream, index }] of batch.entries()) {
        let answer = answers.get(stream.port);
        if (!answer) answers.set(stream.port, (answer = { marks: [], probabilities: [] }));
        answer.marks.push(stream.id, index);
        answer.probabilities.push(probabilities[row] ?? 0);
      }
      for (const [port, answer] of answers) {
        port.postMessage({ type: 'probabilities', marks: Int32Array.from(answer.marks), probabilities: Float32Array.from(answer.probabilities) } satisfies VadReply);
      }
    }
    this.#running = undefined;
    this.#schedule();
  }
}
