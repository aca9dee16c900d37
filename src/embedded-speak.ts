import { wavHeader } from '../media/wav.ts';
import { FliteTts } from './engines/local/flite-tts.ts';
import type { SpeechPool } from './engines/local/speech-pool.ts';
import type { Speak } from './resources/voices/simulated-cloner.ts';

const SAMPLE_RATE = 16_000;
const PCM16_BYTES = 2;

/** Speech of the embedded engine as WAV files: how simulated voices are heard. */
export function embeddedSpeak(speech: SpeechPool): { speak: Speak; close(): void } {
  const engine = new FliteTts(speech.connect().tts);
  return {
    async speak(text, voice, signal) {
      const pieces: Buffer[] = [];
      for await (const { audio } of engine.speak(once(text), { voice, speed: 1, language: 'en-US', signal, onUsage: () => undefined })) {
        pieces.push(Buffer.from(audio.buffer, audio.byteOffset, audio.length * PCM16_BYTES));
      }
      const samples = Buffer.concat(pieces);
      return Buffer.concat([wavHeader({ sampleRate: SAMPLE_RATE, channels: 1, dataBytes: samples.length }), samples]);
    },
    close: () => engine.close(),
  };
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}
