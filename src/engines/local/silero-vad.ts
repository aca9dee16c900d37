import type { MessagePort } from 'node:worker_threads';
import type { AudioFrame } from '../../../media/audio-frame.ts';
import type { VadEngine, VadStream, VadWindow } from '../engine.ts';
import { ModelLine } from './threads/model-line.ts';
import type { VadReply, VadRequest } from './threads/thread-messages.ts';

const WINDOW_SAMPLES = 512;
const WINDOW_MS = 32;
/** Decisions nobody takes are dropped beyond this (2 s). */
const MAX_UNTAKEN = 64;
/** With more streams than this, windows of several calls travel together: a message costs as much as deciding a window. */
const EAGER_STREAMS = 4;
const GATHER_MS = 5;

/** What streams use of their engine. */
interface Outbox {
  add(stream: number, index: number, window: Int16Array): void;
  closeStream(stream: number): void;
}

class SileroStream implements VadStream {
  readonly #id: number;
  readonly #outbox: Outbox;
  readonly #window = new Int16Array(WINDOW_SAMPLES);
  #filled = 0;
  #nextIndex = 0;
  #decisions: VadWindow[] = [];

  constructor(id: number, outbox: Outbox) {
    this.#id = id;
    this.#outbox = outbox;
  }

  write(frame: AudioFrame): void {
    let taken = 0;
    while (taken < frame.length) {
      const count = Math.min(WINDOW_SAMPLES - this.#filled, frame.length - taken);
      this.#window.set(frame.subarray(taken, taken + count), this.#filled);
      this.#filled += count;
      taken += count;
      if (this.#filled === WINDOW_SAMPLES) {
        this.#outbox.add(this.#id, this.#nextIndex++, this.#window);
        this.#filled = 0;
      }
    }
  }

  take(): VadWindow[] {
    if (this.#decisions.length === 0) return [];
    const decisions = this.#decisions;
    this.#decisions = [];
    return decisions;
  }

  close(): void {
    this.#outbox.closeStream(this.#id);
  }

  decide(index: number, probability: number): void {
    this.#decisions.push({ probability, endMs: (index + 1) * WINDOW_MS, windowMs: WINDOW_MS });
    if (this.#decisions.length > MAX_UNTAKEN) this.#decisions.shift();
  }
}

/**
 * Silero's media side: cuts frames into windows of 32 ms and sends what all calls gathered in one turn of the event loop
 * (in 5 ms, when there are many) as one message. While the model thread restarts windows are lost and their decisions missing; `endMs` stays right.
 */
export class SileroVadEngine implements VadEngine {
  readonly #line: ModelLine<VadRequest, VadReply>;
  readonly #streams = new Map<number, SileroStream>();
  #nextId = 1;
  #marks: number[] = [];
  #pcm = new Int16Array(16 * WINDOW_SAMPLES);

  /** `port` is the `vad` port of `SpeechPool.connect()`. */
  constructor(port: MessagePort) {
    this.#line = new ModelLine(port, { onReply: (reply) => this.#onReply(reply), onLost: () => {} });
  }

  open(): VadStream {
    const id = this.#nextId++;
    const stream = new SileroStream(id, {
      add: (streamId, index, window) => this.#add(streamId, index, window),
      closeStream: (streamId) => this.#closeStream(streamId),
    });
    this.#streams.set(id, stream);
    return stream;
  }

  /** Lets go of the model thread; open streams hear nothing more. */
  close(): void {
    this.#streams.clear();
    this.#line.close();
  }

  #add(stream: number, index: number, window: Int16Array): void {
    if (!this.#streams.has(stream)) return;
    const rows = this.#marks.length / 2;
    if (rows === 0) this.#flushSoon();
    if ((rows + 1) * WINDOW_SAMPLES > this.#pcm.length) {
      const grown = new Int16Array(this.#pcm.length * 2);
      grown.set(this.#pcm);
      this.#pcm = grown;
    }
    this.#pcm.set(window, rows * WINDOW_SAMPLES);
    this.#marks.push(stream, index);
  }

  #flushSoon(): void {
    if (this.#streams.size > EAGER_STREAMS) setTimeout(() => this.#flush(), GATHER_MS);
    else setImmediate(() => this.#flush());
  }

  #flush(): void {
    const rows = this.#marks.length / 2;
    this.#line.send({ type: 'windows', marks: Int32Array.from(this.#marks), pcm: this.#pcm.slice(0, rows * WINDOW_SAMPLES) });
    this.#marks = [];
  }

  #closeStream(stream: number): void {
    // After a window still in the outbox, so that the thread does not open the stream again for it.
    if (this.#streams.delete(stream)) setTimeout(() => this.#line.send({ type: 'closeStream', stream }), GATHER_MS + 1);
  }

  #onReply(reply: VadReply): void {
    for (let row = 0; row < reply.probabilities.length; row++) {
      this.#streams.get(reply.marks[2 * row] ?? 0)?.decide(reply.marks[2 * row + 1] ?? 0, reply.probabilities[row] ?? 0);
    }
  }
}
