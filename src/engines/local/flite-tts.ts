import type { MessagePort } from 'node:worker_threads';
import { EngineError, type Speech, type TtsEngine, type Usage } from '../engine.ts';
import { hasWords, speakable, splitClauses } from './clauses.ts';
import { ModelClient } from './threads/model-line.ts';
import type { TtsReply, TtsRequest } from './threads/thread-messages.ts';
import { wordTimes } from './word-times.ts';

export const FLITE_MODEL = 'local/flite';
/** All speak at 16 kHz. `rms` is understood best over a telephone. */
export const FLITE_VOICES: readonly string[] = ['rms', 'slt', 'awb', 'kal16'];
export const FLITE_DEFAULT_VOICE = 'rms';

const SAMPLES_PER_MS = 16;
const MIN_SPEED = 0.5;
const MAX_SPEED = 2;
/** Peaks below this are the voice's own floor. */
const SILENCE_PEAK = 160;
/** Kept around the sound when silence is trimmed. */
const EDGE_MS = 15;
/** Silence before a piece, by how the piece before it ended. */
const PAUSE_AFTER_SENTENCE_MS = 260;
const PAUSE_AFTER_COMMA_MS = 120;
const PAUSE_WITHIN_MS = 10;

type Client = ModelClient<TtsRequest, TtsReply>;
interface SpeakOptions { voice: string; speed: number; language: string; signal: AbortSignal; onUsage: (usage: Usage) => void }
interface Synthesised { clause: string; reply: Extract<TtsReply, { type: 'synthesised' }> }

/** Flite on this machine: robotic, intelligible, quick. */
export class FliteTts implements TtsEngine {
  readonly model = FLITE_MODEL;
  readonly #clients: Client[];
  #nextId = 1;

  /** `ports`: the `tts` ports of `SpeechPool.connect()`, at least one. */
  constructor(ports: MessagePort[]) {
    this.#clients = ports.map((port, index) => new ModelClient(`text to speech thread ${index}`, port));
    if (this.#clients.length === 0) throw new EngineError('invalid', 'The embedded text-to-speech engine needs at least one model thread', { retry: false });
  }

  /**
   * One piece of speech per clause, one clause ahead of its consumer at most. Throws EngineError `invalid` for a voice that
   * is not there. Usage is the characters synthesised, reported once at the end. English only.
   */
  async *speak(text: AsyncIterable<string>, options: SpeakOptions): AsyncGenerator<Speech> {
    if (!FLITE_VOICES.includes(options.voice)) {
      throw new EngineError('invalid', `Voice "${options.voice}" is not one of ${FLITE_MODEL}'s: ${FLITE_VOICES.join(', ')}`, { retry: false });
    }
    let characters = 0;
    const made = this.#synthesiseAhead(clausesOf(text, options.signal), options, (clause) => {
      characters += clause.length;
    });
    let pauseMs = 0;
    try {
      for await (const { clause, reply } of made) {
        if (options.signal.aborted) return;
        yield toSpeech(clause, reply, pauseMs);
        pauseMs = pauseAfter(clause);
      }
    } finally {
      if (characters > 0) options.onUsage({ component: 'tts', model: this.model, measure: 'character', quantity: characters, source: 'measured' });
    }
  }

  /** Lets go of the model threads; what is under way fails as `closed`. */
  close(): void {
    for (const client of this.#clients) client.close();
  }

  /** Keeps the next clause in the making while the consumer holds the one before. */
  async *#synthesiseAhead(clauses: AsyncGenerator<string>, options: SpeakOptions, onMade: (clause: string) => void): AsyncGenerator<Synthesised> {
    const start = async (urgent: boolean): Promise<Synthesised | undefined> => {
      const next = await untilAborted(clauses.next(), options.signal);
      if (!next || next.done || options.signal.aborted) return undefined;
      const reply = await this.#synthesise(next.value, urgent, options);
      if (reply) onMade(next.value);
      return reply && { clause: next.value, reply };
    };
    let ahead = start(true);
    try {
      for (let current = await ahead; current; current = await ahead) {
        ahead = start(false);
        // Its failure is thrown when its turn comes; until then it must not count as unhandled.
        ahead.catch(() => {});
        yield current;
      }
    } finally {
      ahead.catch(() => {});
      void clauses.return(undefined).catch(() => {});
    }
  }

  async #synthesise(text: string, urgent: boolean, options: SpeakOptions): Promise<Synthesised['reply'] | undefined> {
    const first = this.#ask(text, urgent, options);
    const reply = await first.catch((error: unknown) => {
      // A thread that fell over takes its work with it; the next one may do it.
      if (options.signal.aborted || !(error instanceof EngineError) || !error.retry) throw error;
      return this.#ask(text, urgent, options);
    });
    switch (reply.type) {
      case 'synthesised':
        return reply;
      case 'dropped':
        return undefined;
      case 'failed':
        throw new EngineError('internal', `Text to speech failed: ${reply.message}`, { retry: false });
    }
  }

  async #ask(text: string, urgent: boolean, { voice, speed, signal }: SpeakOptions): Promise<TtsReply> {
    const id = this.#nextId++;
    const client = this.#clients.reduce((least, other) => (other.load < least.load ? other : least));
    const cancel = (): void => client.tell({ type: 'cancel', id });
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const clamped = Math.min(MAX_SPEED, Math.max(MIN_SPEED, speed));
      return await client.ask({ type: 'synthesise', id, text, voice, speed: clamped, urgent }, { weight: text.length });
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }
}

/** Clauses of sentences that are still being written. */
async function* clausesOf(text: AsyncIterable<string>, signal: AbortSignal): AsyncGenerator<string> {
  let first = true;
  for await (const sentence of text) {
    const plain = speakable(sentence);
    if (!hasWords(plain)) continue;
    for (const clause of splitClauses(plain, first)) {
      if (signal.aborted) return;
      yield clause;
      first = false;
    }
  }
}

/** Undefined once `signal` aborts, whatever the promise does: a stalled text must not hold up who left. */
function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve(undefined);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

function pauseAfter(clause: string): number {
  if (/[.!?]["')]*$/.test(clause)) return PAUSE_AFTER_SENTENCE_MS;
  return /[,;:]$/.test(clause) ? PAUSE_AFTER_COMMA_MS : PAUSE_WITHIN_MS;
}

/** Without the silence Flite puts around it, behind the pause the piece before asks for. */
function toSpeech(clause: string, { pcm, phones }: Synthesised['reply'], pauseMs: number): Speech {
  const edge = EDGE_MS * SAMPLES_PER_MS;
  const loudFrom = pcm.findIndex(isLoud);
  const from = Math.max(0, loudFrom - edge);
  const to = Math.min(pcm.length, pcm.findLastIndex(isLoud) + edge);
  const pause = pauseMs * SAMPLES_PER_MS;
  const audio = new Int16Array(pause + Math.max(0, to - from));
  audio.set(pcm.subarray(from, to), pause);
  const words = wordTimes(clause, phones, pauseMs - from / SAMPLES_PER_MS, audio.length / SAMPLES_PER_MS);
  return { audio, text: clause, words };
}

function isLoud(sample: number): boolean {
  return sample > SILENCE_PEAK || sample < -SILENCE_PEAK;
}
