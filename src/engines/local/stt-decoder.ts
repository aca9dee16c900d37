import type { MessagePort } from 'node:worker_threads';
import { EngineError } from '../engine.ts';
import { ModelClient } from './threads/model-line.ts';
import type { SttReply, SttRequest } from './threads/thread-messages.ts';

export type Decoded = Extract<SttReply, { type: 'decoded' }>;
export interface DecodeRequest { kind: 'partial' | 'full'; pcm: Int16Array<ArrayBuffer>; prefix: number[]; eosReject: number }

/** A decode under way; `result` is undefined when it was dropped for something more urgent or cancelled. */
export interface Decode { result: Promise<Decoded | undefined>; cancel(): void }

type Client = ModelClient<SttRequest, SttReply>;

/** All STT threads behind one door: each decode goes to the one with the least audio under way. */
export class SttDecoder {
  readonly #clients: Client[];
  #nextId = 1;

  /** `ports`: the `stt` ports of `SpeechPool.connect()`, at least one. */
  constructor(ports: MessagePort[]) {
    this.#clients = ports.map((port, index) => new ModelClient(`speech to text thread ${index}`, port));
    if (this.#clients.length === 0) throw new EngineError('invalid', 'The embedded speech-to-text engine needs at least one model thread', { retry: false });
  }

  /** Starts decoding. The PCM is transferred away, except that a full decode keeps a copy for its one retry. */
  decode(request: DecodeRequest): Decode {
    const spare = request.kind === 'full' ? request.pcm.slice() : undefined;
    const first = this.#ask(request);
    if (!spare) return { result: first.result, cancel: first.cancel };
    let current = first;
    let cancelled = false;
    const result = first.result.catch((error: unknown) => {
      // A thread that fell over takes its work with it; the next one may do it.
      if (cancelled || !(error instanceof EngineError) || !error.retry) throw error;
      current = this.#ask({ ...request, pcm: spare });
      return current.result;
    });
    const cancel = (): void => {
      cancelled = true;
      current.cancel();
    };
    return { result, cancel };
  }

  /** Whether a thread has nothing to do: partials are only worth their time then. */
  get idle(): boolean {
    return this.#clients.some((client) => client.load === 0);
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }

  #ask(request: DecodeRequest): Decode {
    const id = this.#nextId++;
    const client = this.#clients.reduce((least, other) => (other.load < least.load ? other : least));
    const reply = client.ask({ type: 'decode', id, ...request }, { weight: request.pcm.length, transfer: [request.pcm.buffer] });
    return { result: reply.then(unwrap), cancel: () => client.tell({ type: 'cancel', id }) };
  }
}

function unwrap(reply: SttReply): Decoded | undefined {
  switch (reply.type) {
    case 'decoded':
      return reply;
    case 'dropped':
      return undefined;
    case 'failed':
      throw new EngineError('internal', `Speech to text failed: ${reply.message}`, { retry: false });
  }
}
