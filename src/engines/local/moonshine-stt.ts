import type { MessagePort } from 'node:worker_threads';
import type { SttEngine, SttEvent, SttStream } from '../engine.ts';
import { MoonshineStream } from './moonshine-stream.ts';
import { SttDecoder } from './stt-decoder.ts';

export const MOONSHINE_MODEL = 'local/moonshine-tiny-en';

/**
 * Moonshine tiny-en on this machine. It has no endpointing of its own: the call's VAD opens, pauses and ends utterances
 * by `mark`. After a `pause`, `speech_started` says the caller went on within the same utterance.
 */
export class MoonshineStt implements SttEngine {
  readonly model = MOONSHINE_MODEL;
  readonly #decoder: SttDecoder;

  /** `ports`: the `stt` ports of `SpeechPool.connect()`. */
  constructor(ports: MessagePort[]) {
    this.#decoder = new SttDecoder(ports);
  }

  /** English only: `language` is not looked at. The VAD's marks rule, so neither is `endpointingMs`. */
  open(options: { language: string; endpointingMs: number; signal: AbortSignal; onEvent: (event: SttEvent) => void }): SttStream {
    return new MoonshineStream({ decoder: this.#decoder, model: this.model, signal: options.signal, onEvent: options.onEvent });
  }

  /** Lets go of the model threads; decodes under way fail as `closed`. */
  close(): void {
    this.#decoder.close();
  }
}
