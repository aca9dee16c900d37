import type { AudioFrame } from '../../media/audio-frame.ts';

/** What one engine of each kind must do. Adapters are small; conversion to a vendor's format happens inside them. */

/** Where a usage figure comes from. */
export type UsageSource = 'vendor' | 'measured' | 'estimated';

/** One metered quantity in its finest measure (milliseconds, tokens, characters): an integer. */
export interface Usage {
  component: 'stt' | 'llm' | 'tts' | 'realtime';
  model: string;
  measure: 'ms' | 'input_token' | 'cached_input_token' | 'output_token' | 'character';
  quantity: number;
  source: UsageSource;
}

/** An engine's failure that knows its verdict: whether trying the same thing again can help. */
export class EngineError extends Error {
  readonly kind: 'connect' | 'auth' | 'rate' | 'invalid' | 'timeout' | 'stalled' | 'closed' | 'internal';
  readonly retry: boolean;
  constructor(kind: EngineError['kind'], message: string, options: { retry: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = 'EngineError';
    this.kind = kind;
    this.retry = options.retry;
  }
}

/** A word with its times on the clock of the stream that carried it, in milliseconds. */
export interface TimedWord { text: string; startMs: number; endMs: number }

// ---------------------------------------------------------------- speech to text

export type SttEvent =
  /** What the open utterance says so far; replaces the partial before it. */
  | { kind: 'partial'; text: string }
  /** The utterance's text as it stands at a pause, good enough to think ahead on; a `partial` or `final` may still follow. */
  | { kind: 'eager'; text: string; confidence: number }
  /** The utterance is over; '' when it was noise. Times are milliseconds of audio written so far. */
  | { kind: 'final'; text: string; confidence: number; startMs: number; endMs: number; words?: TimedWord[] }
  | { kind: 'usage'; usage: Usage }
  | { kind: 'failed'; error: EngineError };

/** One call's ear. Lives until `signal` of its options aborts. */
export interface SttStream {
  /** The next 20 ms heard, in order. Copies what it keeps. Never waits. */
  write(frame: AudioFrame): void;
  /** What the call's VAD decided: engines without endpointing of their own open, pause (speculate) and close the utterance by it. */
  mark(mark: 'speech_started' | 'pause' | 'speech_ended'): void;
}

export interface SttEngine {
  readonly model: string;
  /** `onEvent` is called on the media thread, never from inside `write` or `mark`. */
  open(options: { language: string; endpointingMs: number; signal: AbortSignal; onEvent: (event: SttEvent) => void }): SttStream;
}

// ---------------------------------------------------------------- language model

export type ChatMessage =
  | { role: 'system' | 'user' | 'assistant'; content: string; toolCalls?: ToolCall[] }
  | { role: 'tool'; toolCallId: string; content: string };

export interface ToolCall { id: string; name: string; arguments: Record<string, unknown> }
export interface ToolSpec { name: string; description: string; parameters: Record<string, unknown> }

export type LlmEvent =
  | { kind: 'text'; text: string }
  | { kind: 'toolCall'; call: ToolCall }
  | { kind: 'usage'; usage: Usage };

export interface LlmEngine {
  readonly model: string;
  /** Streams one reply. Throws EngineError; ends quietly (no throw) once `signal` aborts. */
  reply(options: { messages: ChatMessage[]; tools: ToolSpec[]; temperature: number; maxTokens: number; signal: AbortSignal }): AsyncIterable<LlmEvent>;
}

// ---------------------------------------------------------------- text to speech

/** A piece of speech at 16 kHz and the words in it; times are milliseconds from the start of this piece. */
export interface Speech { audio: Int16Array; text: string; words: TimedWord[] }

export interface TtsEngine {
  readonly model: string;
  /**
   * Speaks sentences as they come, in order, and stops pulling text when its consumer stops pulling speech.
   * After `signal` aborts no further piece is yielded. `onUsage` reports what was really synthesised.
   */
  speak(text: AsyncIterable<string>, options: { voice: string; speed: number; language: string; signal: AbortSignal; onUsage: (usage: Usage) => void }): AsyncIterable<Speech>;
}

// ---------------------------------------------------------------- voice activity

/** One call's voice activity detector: frames in, the newest speech probability out. */
export interface VadStream {
  /** The next 20 ms heard. Copies what it keeps. Never waits. */
  write(frame: AudioFrame): void;
  /**
   * Decisions that arrived since the last call, oldest first, each for one window that ends `endMs` of audio after the
   * stream's start. Empties the list.
   */
  take(): VadWindow[];
  close(): void;
}

export interface VadWindow { probability: number; endMs: number; windowMs: number }

export interface VadEngine { open(): VadStream }
