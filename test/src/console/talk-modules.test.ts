import t from 'tap';
import { tone, toneToRestDb } from '../../support/browser-session.ts';

/** The page's own module: JavaScript without types, so its shape is said here. */
async function load<T>(file: string): Promise<T> {
  return (await import(new URL(`../../../src/console/assets/${file}`, import.meta.url).href)) as T;
}

interface Resampler { process(piece: Float32Array): Float32Array }
interface Playback {
  waitingMs: number;
  push(samples: Int16Array): void;
  start(itemId: string): void;
  end(): void;
  clear(): { itemId: string; playedMs: number } | undefined;
  fill(output: Float32Array): { itemId: string; playedMs: number } | undefined;
  position(): { itemId: string; playedMs: number } | undefined;
}

const { StreamResampler } = await load<{ StreamResampler: new (from: number, to: number) => Resampler }>('resampler.js');
const { PlaybackBuffer } = await load<{ PlaybackBuffer: new (from: number, to: number) => Playback }>('playback-buffer.js');

for (const [from, to] of [[48_000, 16_000], [44_100, 16_000], [16_000, 48_000], [16_000, 44_100], [16_000, 16_000], [96_000, 16_000]] as const) {
  t.test(`${from} to ${to} Hz keeps a tone, in any pieces`, (t) => {
    const sound = Float32Array.from(tone(700, 1000, from), (sample) => sample / 32_768);
    const whole = collect(new StreamResampler(from, to), sound, 128);
    t.ok(Math.abs(whole.length - (to * sound.length) / from) < 60, `${whole.length} samples`);
    const heard = Int16Array.from(whole.subarray(400), (sample) => Math.round(sample * 32_768));
    t.ok(toneToRestDb(heard, 700, to) > 60, `${toneToRestDb(heard, 700, to).toFixed(1)} dB`);
    const other = collect(new StreamResampler(from, to), sound, 777);
    t.ok(whole.every((sample, index) => index >= other.length || Math.abs(sample - other[index]!) < 1e-6));
    t.end();
  });
}

t.test('what a lower rate cannot carry is gone', (t) => {
  const high = Float32Array.from(tone(11_000, 500, 48_000), (sample) => sample / 32_768);
  const out = collect(new StreamResampler(48_000, 16_000), high, 128).subarray(100);
  t.ok(out.every((sample) => Math.abs(sample) < 0.002));
  t.end();
});

const RATE = 48_000;
/** Plays `ms` and returns the samples, with the final position of what ended meanwhile. */
function playFor(buffer: Playback, ms: number): { samples: Float32Array; finished: { itemId: string; playedMs: number } | undefined } {
  const samples = new Float32Array((RATE / 1000) * ms);
  let finished;
  for (let at = 0; at < samples.length; at += 96) finished = buffer.fill(samples.subarray(at, at + 96)) ?? finished;
  return { samples, finished };
}

function push(buffer: Playback, samples: Int16Array): void {
  for (let at = 0; at + 320 <= samples.length; at += 320) buffer.push(samples.subarray(at, at + 320));
}

t.test('sound waits for 80 ms before it is played', (t) => {
  const buffer = new PlaybackBuffer(16_000, RATE);
  push(buffer, tone(500, 60));
  t.ok(playFor(buffer, 20).samples.every((sample) => sample === 0));
  push(buffer, tone(500, 40));
  t.ok(playFor(buffer, 20).samples.some((sample) => Math.abs(sample) > 0.3));
  t.end();
});

t.test('a position is that of the item which is heard, and its end is told', (t) => {
  const buffer = new PlaybackBuffer(16_000, RATE);
  push(buffer, new Int16Array(16 * 200));
  buffer.start('first');
  push(buffer, tone(500, 300));
  buffer.end();
  push(buffer, tone(500, 100));
  playFor(buffer, 150);
  t.equal(buffer.position(), undefined);
  playFor(buffer, 150);
  t.match(buffer.position(), { itemId: 'first' });
  t.ok(Math.abs(buffer.position()!.playedMs - 100) < 5);
  const { finished } = playFor(buffer, 250);
  t.ok(finished && finished.itemId === 'first' && Math.abs(finished.playedMs - 300) < 5, JSON.stringify(finished));
  t.equal(buffer.position(), undefined);
  t.end();
});

t.test('clear empties at once, tells what was heard, and does not click', (t) => {
  const buffer = new PlaybackBuffer(16_000, RATE);
  buffer.start('first');
  push(buffer, tone(500, 600));
  playFor(buffer, 200);
  const heard = buffer.clear();
  t.ok(heard && Math.abs(heard.playedMs - 200) < 5, JSON.stringify(heard));
  t.equal(buffer.waitingMs, 0);
  const { samples } = playFor(buffer, 20);
  t.ok(samples.subarray(1).every((sample, index) => Math.abs(sample - samples[index]!) < 0.06), 'it fades');
  t.ok(samples.subarray(480).every((sample) => Math.abs(sample) < 0.001), 'within 10 ms');
  t.equal(buffer.position(), undefined);
  t.end();
});

t.test('delay that a stall left behind is worked off in quiet moments, and memory is bounded', (t) => {
  const buffer = new PlaybackBuffer(16_000, RATE);
  push(buffer, tone(500, 900));
  for (let round = 0; round < 60; round++) {
    push(buffer, new Int16Array(320));
    playFor(buffer, 20);
  }
  t.ok(buffer.waitingMs <= 220, `${buffer.waitingMs.toFixed(0)} ms`);
  push(buffer, tone(500, 9000));
  t.ok(buffer.waitingMs <= 2000);
  t.end();
});

t.test('a quiet piece left out counts for the item it was in, once it would have been heard', (t) => {
  const buffer = new PlaybackBuffer(16_000, RATE);
  buffer.start('first');
  push(buffer, tone(500, 300));
  push(buffer, new Int16Array(320 * 2));
  buffer.end();
  push(buffer, new Int16Array(320 * 3));
  playFor(buffer, 200);
  t.ok(Math.abs(buffer.position()!.playedMs - 200) < 5, 'not before');
  const { finished } = playFor(buffer, 150);
  t.ok(finished && Math.abs(finished.playedMs - 340) < 5, JSON.stringify(finished));
  t.end();
});

function collect(through: Resampler, sound: Float32Array, piece: number): Float32Array {
  const out: number[] = [];
  for (let at = 0; at < sound.length; at += piece) out.push(...through.process(sound.subarray(at, at + piece)));
  return Float32Array.from(out);
}
