import { FRAME_MS, SAMPLE_RATE, type AudioFrame } from '../../media/audio-frame.ts';
import type { ChatMessage, LlmEngine, LlmEvent, Speech, SttEngine, SttEvent, SttStream, TimedWord, ToolCall, ToolSpec, TtsEngine, Usage } from '../../src/engines/engine.ts';

/**
 * Engines that say what a script tells them, after delays the script fixes, on a clock the test owns. They fit engine.ts
 * exactly, so that conversations and benches cannot tell them from real ones.
 */

/** Waits of the scripted engines. The real one is `timerClock`; tests bring their own. */
export interface WaitClock {
  /** Resolves after `ms`, or at once when `signal` aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export const timerClock: WaitClock = {
  wait: (ms, signal) => new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  }),
};

/** A clock that stands still until it is told to move; whoever waits is woken in the order of time. */
export class ManualWaitClock implements WaitClock {
  #nowMs = 0;
  #waiting: { atMs: number; wake: () => void }[] = [];

  get nowMs(): number {
    return this.#nowMs;
  }

  wait(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const entry = { atMs: this.#nowMs + ms, wake: resolve };
      this.#waiting.push(entry);
      signal.addEventListener('abort', () => {
        this.#waiting = this.#waiting.filter((other) => other !== entry);
        resolve();
      }, { once: true });
    });
  }

  /** Moves time on; what is woken runs, and may wait again, before the next is woken. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settle();
    for (;;) {
      const next = this.#waiting.filter((entry) => entry.atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (!next) break;
      this.#waiting = this.#waiting.filter((entry) => entry !== next);
      this.#nowMs = next.atMs;
      next.wake();
      await settle();
    }
    this.#nowMs = untilMs;
  }
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export interface SttScript {
  /** What the utterances say, in order; '' (noise) once it is used up. */
  utterances: string[];
  /** From the first mark of an utterance to its only partial; absent: no partial. */
  partialMs?: number;
  /** From `pause` to `eager`; absent: no eager. */
  eagerMs?: number;
  /** From `speech_ended` to `final`. */
  finalMs: number;
}

/** An ear that hears what the script says, when the marks say so; the sound does not matter. */
export class ScriptedStt implements SttEngine {
  readonly model = 'scripted/stt';
  readonly #script: SttScript;
  readonly #clock: WaitClock;

  constructor(script: SttScript, clock: WaitClock = timerClock) {
    this.#script = script;
    this.#clock = clock;
  }

  /** Each stream starts the script anew. */
  open(options: { signal: AbortSignal; onEvent: (event: SttEvent) => void }): SttStream {
    return new ScriptedSttStream(this.#script, this.#clock, options);
  }
}

class ScriptedSttStream implements SttStream {
  readonly #script: SttScript;
  readonly #clock: WaitClock;
  readonly #options: { signal: AbortSignal; onEvent: (event: SttEvent) => void };
  #next = 0;
  #writtenMs = 0;
  #open: { text: string; startMs: number; pausedMs?: number; over: AbortController } | undefined;

  constructor(script: SttScript, clock: WaitClock, options: { signal: AbortSignal; onEvent: (event: SttEvent) => void }) {
    this.#script = script;
    this.#clock = clock;
    this.#options = options;
  }

  write(_frame: AudioFrame): void {
    this.#writtenMs += FRAME_MS;
  }

  mark(mark: 'speech_started' | 'pause' | 'speech_ended'): void {
    switch (mark) {
      case 'speech_started':
        this.#started();
        return;
      case 'pause':
        this.#paused();
        return;
      case 'speech_ended':
        this.#ended();
    }
  }

  #started(): void {
    if (this.#open) {
      delete this.#open.pausedMs;
      return;
    }
    const utterance = { text: this.#script.utterances[this.#next++] ?? '', startMs: this.#writtenMs, over: new AbortController() };
    this.#open = utterance;
    if (this.#script.partialMs !== undefined && utterance.text !== '') {
      this.#later(this.#script.partialMs, () => this.#open === utterance, { kind: 'partial', text: utterance.text });
    }
  }

  #paused(): void {
    const utterance = this.#open;
    if (!utterance || utterance.pausedMs !== undefined) return;
    utterance.pausedMs = this.#writtenMs;
    const still = (): boolean => this.#open === utterance && utterance.pausedMs !== undefined;
    if (this.#script.eagerMs !== undefined && utterance.text !== '') this.#later(this.#script.eagerMs, still, { kind: 'eager', text: utterance.text, confidence: 0.95 });
  }

  #ended(): void {
    const utterance = this.#open;
    if (!utterance) return;
    this.#open = undefined;
    const { text, startMs } = utterance;
    const endMs = utterance.pausedMs ?? this.#writtenMs;
    this.#later(this.#script.finalMs, () => true, { kind: 'final', text, confidence: text === '' ? 0 : 0.95, startMs, endMs }, () => {
      this.#options.onEvent({ kind: 'usage', usage: { component: 'stt', model: 'scripted/stt', measure: 'ms', quantity: endMs - startMs, source: 'measured' } });
    });
  }

  #later(ms: number, wanted: () => boolean, event: SttEvent, after?: () => void): void {
    void this.#clock.wait(ms, this.#options.signal).then(() => {
      if (this.#options.signal.aborted || !wanted()) return;
      this.#options.onEvent(event);
      after?.();
    });
  }
}

export interface LlmScript {
  /** Replies in order, the last one again and again; a function sees the messages. */
  replies: (ScriptedReply | ((messages: ChatMessage[]) => ScriptedReply))[];
  /** To the first piece of text. */
  firstMs: number;
  /** Between two pieces. */
  pieceMs?: number;
}

export interface ScriptedReply {
  /** Pieces as they stream. */
  text: string[];
  toolCalls?: ToolCall[];
  /** Thrown after the text. */
  error?: Error;
}

/** A language model that reads its lines. */
export class ScriptedLlm implements LlmEngine {
  readonly model = 'scripted/llm';
  /** What it was asked, in order. */
  readonly asked: { messages: ChatMessage[]; tools: ToolSpec[] }[] = [];
  readonly #script: LlmScript;
  readonly #clock: WaitClock;

  constructor(script: LlmScript, clock: WaitClock = timerClock) {
    this.#script = script;
    this.#clock = clock;
  }

  async *reply(options: { messages: ChatMessage[]; tools: ToolSpec[]; signal: AbortSignal }): AsyncGenerator<LlmEvent> {
    const entry = this.#script.replies[Math.min(this.asked.length, this.#script.replies.length - 1)];
    this.asked.push({ messages: structuredClone(options.messages), tools: options.tools });
    const reply = typeof entry === 'function' ? entry(options.messages) : (entry ?? { text: [] });
    for (const [index, text] of reply.text.entries()) {
      await this.#clock.wait(index === 0 ? this.#script.firstMs : (this.#script.pieceMs ?? 0), options.signal);
      if (options.signal.aborted) return;
      yield { kind: 'text', text };
    }
    if (reply.error) throw reply.error;
    for (const call of reply.toolCalls ?? []) yield { kind: 'toolCall', call };
    const quantity = Math.max(1, Math.ceil(reply.text.join('').length / 4));
    yield { kind: 'usage', usage: { component: 'llm', model: this.model, measure: 'output_token', quantity, source: 'measured' } };
  }
}

export interface TtsScript {
  /** From a piece of text to its speech. */
  firstMs: number;
  /** How long one word lasts. */
  wordMs?: number;
  sound?: 'tone' | 'noise';
}

/** A voice that beeps (or hisses) once per word: 80 % sound, 20 % silence, with exact word times. */
export class ScriptedTts implements TtsEngine {
  readonly model = 'scripted/tts';
  /** Every text it was given, in order. */
  readonly spoken: string[] = [];
  readonly #script: TtsScript;
  readonly #clock: WaitClock;

  constructor(script: TtsScript, clock: WaitClock = timerClock) {
    this.#script = script;
    this.#clock = clock;
  }

  async *speak(text: AsyncIterable<string>, options: { signal: AbortSignal; onUsage: (usage: Usage) => void }): AsyncGenerator<Speech> {
    let characters = 0;
    try {
      for await (const piece of text) {
        await this.#clock.wait(this.#script.firstMs, options.signal);
        if (options.signal.aborted) return;
        this.spoken.push(piece);
        characters += piece.length;
        yield scriptedSpeech(piece, this.#script.wordMs ?? 300, this.#script.sound ?? 'tone');
      }
    } finally {
      if (characters > 0) options.onUsage({ component: 'tts', model: this.model, measure: 'character', quantity: characters, source: 'measured' });
    }
  }
}

const TONE_HZ = 440;
const AMPLITUDE = 8000;
const VOICED_SHARE = 0.8;

/** Sound for a text: the same for the same text, always. */
export function scriptedSpeech(text: string, wordMs: number, sound: 'tone' | 'noise'): Speech {
  const spoken = text.split(/\s+/).filter((word) => word !== '');
  const perWord = Math.round((wordMs * SAMPLE_RATE) / 1000);
  const audio = new Int16Array(perWord * spoken.length);
  let seed = 1;
  for (let i = 0; i < audio.length; i++) {
    if (i % perWord >= perWord * VOICED_SHARE) continue;
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    audio[i] = sound === 'tone' ? AMPLITUDE * Math.sin((2 * Math.PI * TONE_HZ * i) / SAMPLE_RATE) : AMPLITUDE * ((2 * seed) / 2_147_483_648 - 1);
  }
  const words = spoken.map((word, index): TimedWord => ({ text: word, startMs: index * wordMs, endMs: Math.round((index + VOICED_SHARE) * wordMs) }));
  return { audio, text, words };
}
