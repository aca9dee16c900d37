import { FRAME_SAMPLES, SILENCE } from '../../media/audio-frame.ts';
import type { SttEngine, SttEvent, SttStream } from '../../src/engines/engine.ts';

/** What the VAD needs to open an utterance and to call a pause. */
const ONSET_FRAMES = 5;
const PAUSE_FRAMES = 10;
const END_FRAMES = 22;

/** A caller for an STT engine: writes sound frame by frame and marks it as a VAD would, as fast as it goes. */
export class SttCaller {
  readonly events: SttEvent[] = [];
  readonly stream: SttStream;
  readonly #abort = new AbortController();
  #waiting: { matches: (event: SttEvent) => boolean; resolve: (event: SttEvent) => void }[] = [];

  constructor(engine: SttEngine) {
    this.stream = engine.open({ language: 'en-US', endpointingMs: 300, signal: this.#abort.signal, onEvent: (event) => this.#onEvent(event) });
  }

  /** Resolves with the next event of the kind that was not waited for before. */
  next<Kind extends SttEvent['kind']>(kind: Kind): Promise<Extract<SttEvent, { kind: Kind }>> {
    return new Promise((resolve) => {
      this.#waiting.push({ matches: (event) => event.kind === kind, resolve: (event) => resolve(event as Extract<SttEvent, { kind: Kind }>) });
    });
  }

  /** Sound, without any mark. The last frame is filled with silence. */
  write(pcm: Int16Array): void {
    for (let at = 0; at < pcm.length; at += FRAME_SAMPLES) {
      const frame = new Int16Array(FRAME_SAMPLES);
      frame.set(pcm.subarray(at, at + FRAME_SAMPLES));
      this.stream.write(frame);
    }
  }

  silence(frames: number): void {
    for (let i = 0; i < frames; i++) this.stream.write(SILENCE);
  }

  /** A clip up to its pause, marked as a VAD would. */
  speak(pcm: Int16Array): void {
    this.write(pcm.subarray(0, ONSET_FRAMES * FRAME_SAMPLES));
    this.stream.mark('speech_started');
    this.write(pcm.subarray(ONSET_FRAMES * FRAME_SAMPLES));
    this.silence(PAUSE_FRAMES);
    this.stream.mark('pause');
  }

  /** A whole utterance; resolves with its final. */
  async utter(pcm: Int16Array): Promise<Extract<SttEvent, { kind: 'final' }>> {
    const final = this.next('final');
    this.speak(pcm);
    this.silence(END_FRAMES - PAUSE_FRAMES);
    this.stream.mark('speech_ended');
    return final;
  }

  hangUp(): void {
    this.#abort.abort();
  }

  #onEvent(event: SttEvent): void {
    this.events.push(event);
    const index = this.#waiting.findIndex((waiter) => waiter.matches(event));
    if (index >= 0) this.#waiting.splice(index, 1)[0]?.resolve(event);
  }
}
