/** Everything the pool, the model threads and the media workers say to each other: types only. */
import type { MessagePort } from 'node:worker_threads';

export type ThreadRole = 'vad' | 'stt' | 'tts';

/** workerData of a model thread. */
export interface ThreadOptions {
  role: ThreadRole;
  /** Where optimised graphs are kept between starts; absent: they are not. */
  cacheDir?: string;
}

/** Pool to model thread. */
export type ToThread =
  /** A media worker's direct port into this thread. */
  | { type: 'connect'; port: MessagePort }
  /** Finish what runs, drop what waits, exit. */
  | { type: 'close' };

/** Model thread to pool. */
export type FromThread = { type: 'ready'; loadMs: number };

/** Pool to media worker, along a line: here is your port into the thread (again, after a crash). */
export interface Attach { type: 'attach'; port: MessagePort }

/** `windows` come as (stream, window index) pairs in `marks`, 512 samples each in `pcm`, in the same order. */
export type VadRequest =
  | { type: 'windows'; marks: Int32Array; pcm: Int16Array }
  | { type: 'closeStream'; stream: number };

export interface VadReply { type: 'probabilities'; marks: Int32Array; probabilities: Float32Array }

/** A request that is answered by exactly one reply with its id. */
export interface Numbered { id: number }

export type SttRequest =
  | {
      type: 'decode';
      id: number;
      /** `partial` may be dropped at any time; `full` is always decoded and preempts partials. */
      kind: 'partial' | 'full';
      pcm: Int16Array;
      /** Token ids to take as given (a partial's agreed beginning). */
      prefix: number[];
      /** Probability of "nothing was said" above which an empty text is believed; 1: never. */
      eosReject: number;
    }
  | { type: 'cancel'; id: number };

export type SttReply =
  | { type: 'decoded'; id: number; text: string; tokens: number[]; confidence: number }
  | { type: 'dropped'; id: number }
  | { type: 'failed'; id: number; message: string };

export type TtsRequest =
  /** `urgent`: the caller hears nothing until it is there; others are made ahead of time. */
  | { type: 'synthesise'; id: number; text: string; voice: string; speed: number; urgent: boolean }
  | { type: 'cancel'; id: number };

export interface Phone { name: string; endMs: number }

export type TtsReply =
  | { type: 'synthesised'; id: number; pcm: Int16Array; sampleRate: number; phones: Phone[] }
  | { type: 'dropped'; id: number }
  | { type: 'failed'; id: number; message: string };

/** What a role of a model thread offers to `model-thread.ts`. */
export interface ModelRole {
  connect(port: MessagePort): void;
  /** Takes no more work, drops what waits, resolves once nothing runs. */
  drain(): Promise<void>;
}
