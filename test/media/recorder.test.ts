import { mkdtempSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { Recorder, type RecorderDisk } from '../../media/recorder.ts';
import { readWavInfo, repairWav, WAV_HEADER_BYTES, wavHeader } from '../../media/wav.ts';

const dir = mkdtempSync(join(tmpdir(), 'wirevoice-recorder-'));
const frame = (value: number): Int16Array => new Int16Array(320).fill(value);

/** First sample of each 20 ms: [caller, agent]. */
function sides(path: string): [number, number][] {
  const bytes = readFileSync(path).subarray(WAV_HEADER_BYTES);
  return Array.from({ length: bytes.length / 1280 }, (_, i) => [bytes.readInt16LE(i * 1280), bytes.readInt16LE(i * 1280 + 2)]);
}

t.test('header by bytes', async (t) => {
  t.equal(Buffer.from(wavHeader({ sampleRate: 16_000, channels: 2, dataBytes: 1280 })).toString('hex'),
    '52494646' + '24050000' + '57415645' + '666d7420' + '10000000' + '0100' + '0200' + '803e0000' + '00fa0000' + '0400' + '1000' + '64617461' + '00050000');
  t.equal(Buffer.from(wavHeader({ sampleRate: 16_000, channels: 2, dataBytes: 1e12 })).readUInt32LE(40), 0xffffffff - 44);
});

t.test('both sides in step, with silence where the caller has nothing, over several blocks', async (t) => {
  const path = join(dir, 'both.wav');
  const recorder = await Recorder.open(path);
  const shared = new Int16Array(320);
  for (let i = 0; i < 230; i++) {
    shared.fill(i + 1);
    if (i % 7 !== 3) recorder.caller(shared);
    recorder.agent(frame(-i - 1));
    shared.fill(12_345);
  }
  t.same(await recorder.close(), { durationMs: 4600 });
  t.same(sides(path), Array.from({ length: 230 }, (_, i) => [i % 7 === 3 ? 0 : i + 1, -i - 1]));
  t.match(await readWavInfo(path), { sampleRate: 16_000, channels: 2, bitsPerSample: 16, dataStart: 44, dataBytes: 230 * 1280, durationMs: 4600 });
  t.equal(statSync(path).mode & 0o777, 0o600, 'for nobody else to read');
  t.same(await recorder.close(), { durationMs: 4600 }, 'closing twice is the same');
  recorder.agent(frame(1));
});

t.test('a caller who runs ahead: the quietest waiting frame is left out', async (t) => {
  const path = join(dir, 'ahead.wav');
  const recorder = await Recorder.open(path);
  for (const value of [500, 600, 7, 700, 800, 900, 1000]) recorder.caller(frame(value));
  for (let i = 0; i < 6; i++) recorder.agent(frame(0));
  await recorder.close();
  t.same(sides(path).map(([caller]) => caller), [600, 700, 800, 900, 1000, 0]);
});

t.test('written as the call goes, and readable after a crash', async (t) => {
  const path = join(dir, 'crash.wav');
  const recorder = await Recorder.open(path);
  for (let i = 0; i < 125; i++) {
    recorder.agent(frame(i));
    if (i % 25 === 24) await new Promise((resolve) => setTimeout(resolve, 30));
  }
  t.equal(statSync(path).size, 44 + 100 * 1280, 'two blocks are on disk before the end');
  t.equal((await readWavInfo(path)).dataBytes, 0, 'the header does not know yet');
  writeFileSync(join(dir, 'copy.wav'), readFileSync(path).subarray(0, 44 + 100 * 1280 - 3));
  t.same(await repairWav(join(dir, 'copy.wav')), { durationMs: ((100 * 1280 - 4) / 64_000) * 1000 });
  t.equal((await readWavInfo(join(dir, 'copy.wav'))).dataBytes, 100 * 1280 - 4, 'cut to whole samples');
  await recorder.close();
  t.same(await repairWav(path), { durationMs: 2500 }, 'a whole file stays whole');
  t.same(sides(path).map(([, agent]) => agent), Array.from({ length: 125 }, (_, i) => i));
});

t.test('a slow disk loses nothing within eight seconds, then leaves a gap of silence and keeps the length', async (t) => {
  const path = join(dir, 'slow.wav');
  const waiting: (() => void)[] = [];
  let open = false;
  const real = (await import('node:fs/promises')).open;
  const handle = await real(path, 'w+');
  const slow: RecorderDisk = {
    write: async (_, bytes, length, position) => {
      if (!open) await new Promise<void>((resolve) => waiting.push(resolve));
      await handle.write(bytes, 0, length, position);
    },
  };
  const recorder = await Recorder.open(path, { disk: slow });
  for (let i = 0; i < 500; i++) recorder.agent(frame(i + 1));
  t.equal(recorder.gapMs, 2000);
  open = true;
  for (const go of waiting) go();
  await new Promise((resolve) => setTimeout(resolve, 100));
  for (let i = 500; i < 560; i++) recorder.agent(frame(i + 1));
  t.same(await recorder.close(), { durationMs: 11_200 });
  await handle.close();
  t.same(sides(path).map(([, agent]) => agent), Array.from({ length: 560 }, (_, i) => (i >= 400 && i < 500 ? 0 : i + 1)));
});

t.test('a full disk is reported once and the call goes on', async (t) => {
  const path = join(dir, 'full.wav');
  const errors: Error[] = [];
  const recorder = await Recorder.open(path, { disk: { write: () => Promise.reject(new Error('ENOSPC')) }, onError: (error) => void errors.push(error) });
  for (let i = 0; i < 300; i++) {
    recorder.caller(frame(1));
    recorder.agent(frame(1));
    if (i % 60 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  t.same(await recorder.close(), { durationMs: 6000 });
  t.same(errors.map(({ message }) => message), ['ENOSPC']);
  await t.rejects(Recorder.open(join(dir, 'no', 'such', 'folder.wav')), { code: 'ENOENT' });
});

t.test('other WAV files: odd chunks are stepped over, false lengths are not believed, what is no WAV is refused', async (t) => {
  const header = Buffer.from(wavHeader({ sampleRate: 8000, channels: 1, dataBytes: 0xffff_0000 }));
  const odd = Buffer.concat([header.subarray(0, 36), Buffer.from('LIST\x03\0\0\0abc\0', 'latin1'), header.subarray(36), Buffer.alloc(160)]);
  const path = join(dir, 'odd.wav');
  writeFileSync(path, odd);
  t.match(await readWavInfo(path), { sampleRate: 8000, channels: 1, dataStart: 56, dataBytes: 160, durationMs: 10 });
  const bad: Record<string, Buffer> = {
    empty: Buffer.alloc(0), short: header.subarray(0, 20), 'no data': header.subarray(0, 36), text: Buffer.from('x'.repeat(100)),
    'data first': Buffer.concat([header.subarray(0, 12), header.subarray(36), Buffer.alloc(10)]),
    float: Buffer.concat([header.subarray(0, 20), Buffer.from([3, 0]), header.subarray(22)]),
    'endless chunks': Buffer.concat([header.subarray(0, 12), Buffer.alloc(4000)]),
  };
  for (const [name, bytes] of Object.entries(bad)) {
    writeFileSync(path, bytes);
    await t.rejects(readWavInfo(path), /WAV/, name);
    await t.rejects(repairWav(path), /WAV/, name);
  }
  writeFileSync(path, header);
  truncateSync(path, 44);
  t.same(await repairWav(path), { durationMs: 0 });
});
