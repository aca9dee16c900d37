import type { MessagePort } from 'node:worker_threads';
import { FliteModel } from './flite-model.ts';
import type { ModelRole, TtsReply, TtsRequest } from './thread-messages.ts';

type Synthesise = Extract<TtsRequest, { type: 'synthesise' }>;
interface Job { port: MessagePort; request: Synthesise }

/** The TTS role: one clause after another, urgent ones first, else in order of arrival; between two of them it reads what was cancelled. */
export class TtsThread implements ModelRole {
  readonly #model: FliteModel;
  #jobs: Job[] = [];
  #scheduled = false;
  #closing = false;

  private constructor(model: FliteModel) {
    this.#model = model;
  }

  static async load(): Promise<TtsThread> {
    return new TtsThread(await FliteModel.load());
  }

  connect(port: MessagePort): void {
    port.on('message', (request: TtsRequest) => {
      if (request.type === 'cancel') this.#dropWhere((job) => job.port === port && job.request.id === request.id);
      else this.#add({ port, request });
    });
    port.on('close', () => this.#dropWhere((job) => job.port === port));
  }

  drain(): Promise<void> {
    this.#closing = true;
    this.#dropWhere(() => true);
    return Promise.resolve();
  }

  #add(job: Job): void {
    if (this.#closing) return;
    this.#jobs.push(job);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#speakOne();
    });
  }

  #speakOne(): void {
    const job = this.#next();
    if (!job) {
      if (!this.#closing) this.#model.prepare();
      return;
    }
    const { id, text, voice, speed } = job.request;
    try {
      const { pcm, sampleRate, phones } = this.#model.synthesise(text, voice, speed);
      const answer: TtsReply = { type: 'synthesised', id, pcm, sampleRate, phones };
      job.port.postMessage(answer, [pcm.buffer as ArrayBuffer]);
    } catch (error) {
      job.port.postMessage({ type: 'failed', id, message: error instanceof Error ? error.message : String(error) } satisfies TtsReply);
    }
    // Once more with an empty list: that is when the next instance is prepared.
    this.#schedule();
  }

  #next(): Job | undefined {
    const urgent = this.#jobs.findIndex((job) => job.request.urgent);
    return urgent < 0 ? this.#jobs.shift() : this.#jobs.splice(urgent, 1)[0];
  }

  #dropWhere(matches: (job: Job) => boolean): void {
    for (const job of this.#jobs) {
      if (matches(job)) job.port.postMessage({ type: 'dropped', id: job.request.id } satisfies TtsReply);
    }
    this.#jobs = this.#jobs.filter((job) => !matches(job));
  }
}
