import type { MessagePort } from 'node:worker_threads';
import { MoonshineModel } from './moonshine-model.ts';
import type { ModelRole, SttReply, SttRequest } from './thread-messages.ts';

type Decode = Extract<SttRequest, { type: 'decode' }>;
interface Job { port: MessagePort; request: Decode; aborted: boolean }

/** The STT role: full decodes in order of arrival, partials in what time is left. */
export class SttThread implements ModelRole {
  readonly #model: MoonshineModel;
  #fulls: Job[] = [];
  #partials: Job[] = [];
  #current: Job | undefined;
  #running: Promise<void> | undefined;
  #closing = false;

  private constructor(model: MoonshineModel) {
    this.#model = model;
  }

  static async load(cacheDir?: string): Promise<SttThread> {
    return new SttThread(await MoonshineModel.load(cacheDir));
  }

  connect(port: MessagePort): void {
    port.on('message', (request: SttRequest) => this.#onRequest(port, request));
    port.on('close', () => this.#dropWhere((job) => job.port === port));
  }

  async drain(): Promise<void> {
    this.#closing = true;
    this.#dropWhere(() => true);
    await this.#running;
  }

  #onRequest(port: MessagePort, request: SttRequest): void {
    if (request.type === 'cancel') {
      this.#dropWhere((job) => job.port === port && job.request.id === request.id);
      return;
    }
    const job: Job = { port, request, aborted: this.#closing };
    if (request.kind === 'full') {
      this.#fulls.push(job);
      // Someone waits for a full decode; a partial can be had again half a second later.
      if (this.#current?.request.kind === 'partial') this.#current.aborted = true;
    } else {
      this.#partials.push(job);
    }
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    for (let job = this.#next(); job; job = this.#next()) {
      this.#current = job;
      reply(job.port, await this.#decode(job));
    }
    this.#current = undefined;
    this.#running = undefined;
  }

  #next(): Job | undefined {
    return this.#fulls.shift() ?? this.#partials.shift();
  }

  async #decode(job: Job): Promise<SttReply> {
    const { id, kind, pcm, prefix, eosReject } = job.request;
    if (job.aborted) return { type: 'dropped', id };
    try {
      const decoding = await this.#model.decode(pcm, { prefix, eosReject, tail: kind === 'full', isAborted: () => job.aborted });
      return job.aborted ? { type: 'dropped', id } : { type: 'decoded', id, ...decoding };
    } catch (error) {
      return { type: 'failed', id, message: error instanceof Error ? error.message : String(error) };
    }
  }

  #dropWhere(matches: (job: Job) => boolean): void {
    for (const job of [...this.#fulls, ...this.#partials]) {
      if (matches(job)) reply(job.port, { type: 'dropped', id: job.request.id });
    }
    this.#fulls = this.#fulls.filter((job) => !matches(job));
    this.#partials = this.#partials.filter((job) => !matches(job));
    if (this.#current && matches(this.#current)) this.#current.aborted = true;
  }
}

function reply(port: MessagePort, message: SttReply): void {
  port.postMessage(message);
}
