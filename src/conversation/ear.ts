import { FRAME_MS, type AudioFrame } from '../../media/audio-frame.ts';
import { VadGate } from '../../media/vad.ts';
import type { EngineError, SttEngine, SttEvent, SttStream, Usage, VadEngine, VadStream } from '../engines/engine.ts';
import type { TranscriptEvent } from './caller-words.ts';
import type { VoiceActivity } from './voice-burst.ts';

export interface EarOptions {
  stt: SttEngine;
  vad: VadEngine;
  language: string;
  endpointingMs: number;
  /** The call's lifetime. */
  signal: AbortSignal;
  now: () => number;
  onUsage: (usage: Usage) => void;
  /** What the open utterance says so far. */
  onPartial: (text: string) => void;
  /** Speech-to-text failed and was opened again. */
  onReopened: (error: EngineError) => void;
  /** Speech-to-text failed for good. */
  onLost: (error: EngineError) => void;
}

/** Silence after which the recogniser may think ahead: six windows of 32 ms. */
const PAUSE_MS = 192;
/** Frames whose arrival time is remembered: 10 s. */
const REMEMBERED_FRAMES = 500;
/** A model decides windows of 32 ms, the energy detector single frames: it needs one more to be as sure. */
const MODEL_WINDOW_MS = 30;
/** Failures without a single transcript in between, after which speech-to-text is lost. */
const MAX_FAILURES = 2;

/** One call's hearing: each frame goes to the voice detector and to speech-to-text, which is told what the detector finds. */
export class Ear {
  readonly #options: EarOptions;
  readonly #vad: VadStream;
  readonly #arrivals = new Float64Array(REMEMBERED_FRAMES);
  readonly #life = new AbortController();
  #gate = new VadGate();
  #gateReady = false;
  #stt: SttStream;
  /** Heard audio before the open recogniser's stream began. */
  #sttStartMs = 0;
  #failures = 0;
  #utterance: 'none' | 'open' | 'paused' = 'none';
  #transcripts: TranscriptEvent[] = [];
  #frames = 0;

  constructor(options: EarOptions) {
    this.#options = options;
    this.#vad = options.vad.open();
    options.signal.addEventListener('abort', () => this.#close(), { once: true });
    this.#stt = this.#open();
    if (options.signal.aborted) this.#close();
  }

  get heardMs(): number {
    return this.#frames * FRAME_MS;
  }

  get voice(): VoiceActivity {
    return this.#gate;
  }

  hear(frame: AudioFrame): void {
    this.#arrivals[this.#frames % REMEMBERED_FRAMES] = this.#options.now();
    this.#frames++;
    this.#vad.write(frame);
    this.#stt.write(frame);
    for (const window of this.#vad.take()) {
      if (!this.#gateReady) this.#gate = new VadGate({ startWindows: window.windowMs < MODEL_WINDOW_MS ? 3 : 2 });
      this.#gateReady = true;
      this.#gate.push(window);
    }
    this.#markVoice();
  }

  /** Transcripts that arrived since the last call, oldest first, on the clock of heard audio. */
  take(): readonly TranscriptEvent[] {
    const transcripts = this.#transcripts;
    if (transcripts.length > 0) this.#transcripts = [];
    return transcripts;
  }

  /** Has speech-to-text finish what it has; nothing when it has nothing open or the caller is speaking. */
  closeUtterance(): void {
    if (this.#utterance === 'none' || this.#gate.speaking) return;
    this.#utterance = 'none';
    this.#stt.mark('speech_ended');
  }

  /** When the audio that ends at `heardMs` arrived; undefined when that is more than 10 s ago. */
  arrivedAt(heardMs: number): number | undefined {
    const frame = Math.ceil(heardMs / FRAME_MS) - 1;
    if (frame < 0 || frame >= this.#frames || frame < this.#frames - REMEMBERED_FRAMES) return undefined;
    return this.#arrivals[frame % REMEMBERED_FRAMES];
  }

  #markVoice(): void {
    const { speaking, silentMs } = this.#gate;
    if (speaking && this.#utterance !== 'open') {
      this.#utterance = 'open';
      this.#stt.mark('speech_started');
    } else if (this.#utterance === 'open' && !speaking && silentMs >= PAUSE_MS) {
      this.#utterance = 'paused';
      this.#stt.mark('pause');
    }
  }

  #open(): SttStream {
    const { stt, language, endpointingMs } = this.#options;
    this.#sttStartMs = this.heardMs;
    const { signal } = this.#life;
    const life = { signal, over: false };
    return stt.open({ language, endpointingMs, signal, onEvent: (event) => {
      if (life.over || signal.aborted) return;
      if (event.kind === 'failed') life.over = true;
      this.#onEvent(event);
    } });
  }

  #onEvent(event: SttEvent): void {
    switch (event.kind) {
      case 'usage': this.#options.onUsage(event.usage); break;
      case 'failed': this.#onFailed(event.error); break;
      case 'partial':
      case 'eager':
        this.#transcripts.push(event);
        this.#options.onPartial(event.text);
        break;
      case 'final':
        this.#failures = 0;
        this.#transcripts.push({ ...event, startMs: event.startMs + this.#sttStartMs, endMs: event.endMs + this.#sttStartMs });
        break;
    }
  }

  #onFailed(error: EngineError): void {
    this.#failures++;
    if (!error.retry || this.#failures >= MAX_FAILURES) {
      this.#options.onLost(error);
      return;
    }
    this.#utterance = 'none';
    this.#stt = this.#open();
    this.#options.onReopened(error);
  }

  #close(): void {
    this.#life.abort(this.#options.signal.reason);
    this.#vad.close();
    this.#transcripts = [];
  }
}
