import t from 'tap';
import { parseBuffer } from 'music-metadata';
import { embeddedSpeak } from '../../src/embedded-speak.ts';
import { SpeechPool } from '../../src/engines/local/speech-pool.ts';

t.test('the embedded voices speak WAV files', async (t) => {
  const pool = SpeechPool.open({ sttThreads: 1, ttsThreads: 1 });
  const spoken = embeddedSpeak(pool);
  t.teardown(async () => {
    spoken.close();
    await pool.close();
  });
  const { signal } = new AbortController();
  const [short, long] = await Promise.all(['Hello.', 'Hello there, this is the voice that you have chosen. Is it a good one?'].map((text) => spoken.speak(text, 'slt', signal)));
  const { format: one } = await parseBuffer(short ?? Buffer.alloc(0), { mimeType: 'audio/wav' });
  const { format: other } = await parseBuffer(long ?? Buffer.alloc(0), { mimeType: 'audio/wav' });
  t.match(one, { container: 'WAVE', sampleRate: 16_000, numberOfChannels: 1, bitsPerSample: 16 });
  t.ok((one.duration ?? 0) > 0.2 && (other.duration ?? 0) > 3 * (one.duration ?? 0), `${one.duration} s, ${other.duration} s`);
  t.ok(new Int16Array(new Uint8Array(long?.subarray(44) ?? []).buffer).some((sample) => Math.abs(sample) > 3000), 'with sound in it');
});
