import { SAMPLE_RATE, type AudioFrame } from '../../media/audio-frame.ts';
import { EnergyVad, levelDb, VadGate } from '../../media/vad.ts';
import type { LlmEngine, LlmEvent, Speech, SttEngine, SttEvent, SttStream, TtsEngine, VadEngine, VadStream, VadWindow } from '../../src/engines/engine.ts';
import type { EngineDelays, EngineFact, Script } from './gateway-protocol.ts';
import { voicedSamples } from './speech-pattern.ts';

const CHUNK_MS = 200;
/** The opening and the lines spoken into silence. */
const LINE_MS = 1000;
const REPLY = 'This is a long answer to what was asked.';
const REPLY_MS = 8000;
/** The first partial text of an utterance, after its speech began. */
const PARTIAL_AFTER_MS = 250;
/** Digital silence decodes to exact zeros. */
const SILENT_DB = -99;
const FRAME_MS = 20;
/** EnergyVad's own advice (media/vad.ts). */
const START_WINDOWS = 3;

const chunk = voicedSamples((SAMPLE_RATE * CHUNK_MS) / 1000, SAMPLE_RATE);

/** Spreads turns evenly over [0, 1). */
function spread(turn: number, salt: number): number {
  return (turn * 0.618033988749895 + salt) % 1;
}

type Log = (fact: EngineFact) => void;

/** Resolves after `delayMs`, or at once when `signal` aborts. */
function delay(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, delayMs);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done, { once: true });
  });
}

/** EnergyVad, and beside it what a measurement must know: silence heard so far, and when speech was decided. */
class LoggedVad implements VadStream {
  readonly #vad = new EnergyVad();
  readonly #gate = new VadGate({ startWindows: START_WINDOWS });
  readonly #shadow = new EnergyVad();
  readonly #log: Log;
  silentMs = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  write(frame: AudioFrame): void {
    // The first silent packet still carries the resampler's tail of the last voiced one: it counts, though it is not zero.
    this.silentMs = levelDb(frame) > SILENT_DB ? FRAME_MS : this.silentMs + FRAME_MS;
    this.#vad.write(frame);
    this.#shadow.write(frame);
    const before = this.#gate.speaking;
    for (const window of this.#shadow.take()) this.#gate.push(window);
    if (!before && this.#gate.speaking) this.#log({ kind: 'voice_started' });
  }

  take(): VadWindow[] {
    return this.#vad.take();
  }

  close(): void {
    this.#vad.close();
  }
}

/** The scripted engines of one call: real interfaces, fixed delays, no model. */
export class TimedEngines {
  readonly #script: Script;
  readonly #log: Log;
  #vad: LoggedVad | undefined;
  #utterances = 0;
  #spoken = 0;

  constructor(script: Script, log: Log) {
    this.#script = script;
    this.#log = script.kind === 'exchange' ? log : () => {};
  }

  readonly vad: VadEngine = {
    open: () => {
      if (this.#script.kind === 'monologue') return new EnergyVad();
      this.#vad = new LoggedVad(this.#log);
      return this.#vad;
    },
  };

  readonly stt: SttEngine = {
    model: 'timed',
    open: ({ signal, onEvent }) => {
      let heardMs = 0;
      let startMs = 0;
      const emit = (event: SttEvent, afterMs: number): void => {
        const timer = setTimeout(() => {
          if (!signal.aborted) onEvent(event);
        }, afterMs);
        signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
      };
      const stream: SttStream = {
        write: () => {
          heardMs += FRAME_MS;
        },
        mark: (mark) => {
          if (mark === 'speech_started') {
            startMs = heardMs;
            emit({ kind: 'partial', text: this.#text(this.#utterances) }, PARTIAL_AFTER_MS);
          } else if (mark === 'speech_ended') {
            this.#log({ kind: 'speech_ended', silentMs: this.#vad?.silentMs ?? 0 });
            const afterMs = this.#work('stt', this.#utterances, 0.11);
            emit({ kind: 'final', text: this.#text(this.#utterances++), confidence: 0.95, startMs, endMs: heardMs }, afterMs);
          }
        },
      };
      return stream;
    },
  };

  readonly llm: LlmEngine = {
    model: 'timed',
    reply: ({ signal }) => this.#reply(signal),
  };

  readonly tts: TtsEngine = {
    model: 'timed',
    speak: (text, { signal }) => this.#speak(text, signal),
  };

  /** Every monologue's caller is understood once; what comes over the agent is noise, or the transcript would grow for ever. */
  #text(utterance: number): string {
    if (this.#script.kind === 'monologue') return utterance === 0 ? 'Tell me everything you know.' : '';
    return `This is my question number ${utterance + 1}.`;
  }

  async *#reply(signal: AbortSignal): AsyncGenerator<LlmEvent> {
    await delay(this.#work('llm', this.#spoken, 0.37), signal);
    if (!signal.aborted) yield { kind: 'text', text: REPLY };
  }

  async *#speak(text: AsyncIterable<string>, signal: AbortSignal): AsyncGenerator<Speech> {
    for await (const sentence of text) {
      const reply = sentence === REPLY;
      await delay(reply ? this.#work('tts', this.#spoken, 0.71) : 0, signal);
      this.#spoken++;
      const lengthMs = lengthOf(reply, this.#script);
      for (let atMs = 0; atMs < lengthMs && !signal.aborted; atMs += CHUNK_MS) {
        // A piece belongs to whoever pulls it, as with a real engine.
        yield { audio: chunk.slice(), text: atMs === 0 ? sentence : '', words: [] };
      }
    }
  }

  /** Logs that an engine works from now on and returns for how long. */
  #work(engine: 'stt' | 'llm' | 'tts', turn: number, salt: number): number {
    if (this.#script.kind === 'monologue') return 0;
    const { delays } = this.#script;
    const delayMs = baseDelay(delays, engine) + spread(turn, salt) * delays.spreadMs;
    this.#log({ kind: 'work', engine, delayMs });
    return delayMs;
  }
}

function baseDelay(delays: EngineDelays, engine: 'stt' | 'llm' | 'tts'): number {
  switch (engine) {
    case 'stt': return delays.sttMs;
    case 'llm': return delays.llmMs;
    case 'tts': return delays.ttsMs;
  }
}

function lengthOf(reply: boolean, script: Script): number {
  if (!reply) return LINE_MS;
  return script.kind === 'monologue' ? Number.POSITIVE_INFINITY : REPLY_MS;
}
