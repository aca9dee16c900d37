import t from 'tap';
import { FRAME_SAMPLES } from '../../../../media/audio-frame.ts';
import type { VadStream } from '../../../../src/engines/engine.ts';
import { SileroVadEngine } from '../../../../src/engines/local/silero-vad.ts';
import { SpeechPool } from '../../../../src/engines/local/speech-pool.ts';
import { newSileroState, SileroModel, WINDOW_SAMPLES } from '../../../../src/engines/local/threads/silero-model.ts';
import { overTelephone, readSpeech, readSpeechFile } from '../../../support/speech-fixtures.ts';

// Models on a busy machine: seconds when alone, more beside other test files.
t.setTimeout(120_000);

const clips = readSpeech().slice(0, 8).map((fixture) => overTelephone(readSpeechFile(fixture.path, 16_000)));
const windowsOf = (pcm: Int16Array): Int16Array[] =>
  Array.from({ length: Math.floor(pcm.length / WINDOW_SAMPLES) }, (_, index) => pcm.subarray(index * WINDOW_SAMPLES, (index + 1) * WINDOW_SAMPLES));

/** Alone, window by window. */
async function unbatched(model: SileroModel, pcm: Int16Array): Promise<number[]> {
  const state = newSileroState();
  const probabilities: number[] = [];
  for (const window of windowsOf(pcm)) probabilities.push((await model.run([{ state, window }]))[0] ?? -1);
  return probabilities;
}

t.test('batched and unbatched probabilities are the same, to the bit', async (t) => {
  const model = await SileroModel.load();
  const alone = await Promise.all(clips.map((clip) => unbatched(model, clip)));
  const states = clips.map(() => newSileroState());
  const together: number[][] = clips.map(() => []);
  for (let index = 0; index < 60; index++) {
    const batch = clips.flatMap((clip, row) => {
      const window = windowsOf(clip)[index];
      // Streams come and go: each batch lacks another one.
      return window && (index + row) % 7 !== 0 ? [{ row, state: states[row] ?? newSileroState(), window }] : [];
    });
    const skipped = clips.flatMap((clip, row) => {
      const window = windowsOf(clip)[index];
      return window && (index + row) % 7 === 0 ? [{ row, state: states[row] ?? newSileroState(), window }] : [];
    });
    for (const part of [batch, skipped]) {
      if (part.length === 0) continue;
      const probabilities = await model.run(part);
      for (const [at, { row }] of part.entries()) together[row]?.push(probabilities[at] ?? -1);
    }
  }
  for (const [row, probabilities] of together.entries()) t.same(probabilities, alone[row]?.slice(0, probabilities.length), `clip ${row}`);
  t.ok(Math.max(...(alone[0] ?? [])) > 0.9, 'speech is speech');
});

t.test('many streams through the thread decide as one alone', async (t) => {
  const pool = await SpeechPool.start({ sttThreads: 1, ttsThreads: 1 });
  const engine = new SileroVadEngine(pool.connect().vad);
  t.teardown(async () => {
    engine.close();
    await pool.close();
  });
  const model = await SileroModel.load();
  const clip = clips[0] ?? new Int16Array();
  const frames = Math.floor(clip.length / FRAME_SAMPLES);
  const expected = await unbatched(model, clip);
  const streams: { stream: VadStream; heard: { probability: number; endMs: number }[] }[] = Array.from({ length: 12 }, () => ({ stream: engine.open(), heard: [] }));
  const gather = (): void => streams.forEach(({ stream, heard }) => void heard.push(...stream.take()));
  for (let index = 0; index < frames; index++) {
    streams.forEach(({ stream }) => stream.write(clip.subarray(index * FRAME_SAMPLES, (index + 1) * FRAME_SAMPLES)));
    // Never further ahead than the thread keeps.
    const whole = Math.floor(((index + 1) * FRAME_SAMPLES) / WINDOW_SAMPLES);
    while (index % 16 === 15 && streams.some(({ heard }) => heard.length < whole)) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      gather();
    }
  }
  for (const { heard } of streams) {
    t.same(heard.map((window) => window.probability), expected.slice(0, heard.length));
    t.same(heard.slice(0, 3).map((window) => window.endMs), [32, 64, 96]);
    t.ok(heard.length > 40);
  }
  const late = streams[0]?.stream;
  late?.close();
  late?.write(new Int16Array(FRAME_SAMPLES));
  t.same(late?.take(), [], 'a closed stream says nothing');
});
