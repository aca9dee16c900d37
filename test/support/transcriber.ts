import { resampleAll } from '../../media/resampler.ts';
import { MoonshineStt } from '../../src/engines/local/moonshine-stt.ts';
import { SpeechPool } from '../../src/engines/local/speech-pool.ts';
import { soundSpans } from './sound-analysis.ts';
import { SttCaller } from './stt-caller.ts';

/** The embedded speech-to-text as a listener to recordings: a model of its own, apart from the service under test. */
export interface Transcriber {
  /** What is said, stretch by stretch. */
  transcribe(sound: Int16Array, rate: number): Promise<string>;
  close(): Promise<void>;
}

/** Pauses at which the sound is cut, and what is kept around a stretch. */
const PAUSE_MS = 350;
const MARGIN_MS = 120;

export async function startTranscriber(): Promise<Transcriber> {
  const pool = await SpeechPool.start({ sttThreads: 1, ttsThreads: 1 });
  const stt = new MoonshineStt(pool.connect().stt);
  return {
    async transcribe(sound, rate) {
      const texts: string[] = [];
      for (const { fromMs, toMs } of soundSpans(sound, rate, PAUSE_MS)) {
        const at = (ms: number): number => Math.max(0, Math.round((ms * rate) / 1000));
        const caller = new SttCaller(stt);
        const { text } = await caller.utter(resampleAll(sound.slice(at(fromMs - MARGIN_MS), at(toMs + MARGIN_MS)), rate, 16_000));
        caller.hangUp();
        texts.push(text);
      }
      return texts.join(' ');
    },
    async close() {
      stt.close();
      await pool.close();
    },
  };
}
