import t from 'tap';
import { HalfBandDown, HalfBandUp } from '../../media/half-band.ts';

const AMPLITUDE = 16_000;
const EDGE_HZ = 3400;

const tone = (rate: number, hz: number): Int16Array =>
  Int16Array.from({ length: rate / 5 }, (_, i) => Math.round(AMPLITUDE * Math.sin((2 * Math.PI * hz * i) / rate)));

/** Level of one frequency in dB against AMPLITUDE and its phase, by correlation over a Hann window. */
function at(samples: Int16Array, rate: number, hz: number): { db: number; phase: number } {
  let re = 0;
  let im = 0;
  let weight = 0;
  for (let i = 0; i < samples.length; i++) {
    const w = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / samples.length);
    re += w * samples[i]! * Math.cos((2 * Math.PI * hz * i) / rate);
    im += w * samples[i]! * Math.sin((2 * Math.PI * hz * i) / rate);
    weight += w;
  }
  return { db: 20 * Math.log10((2 * Math.hypot(re, im)) / weight / AMPLITUDE + 1e-9), phase: Math.atan2(re, im) };
}

function up(input: Int16Array): Int16Array {
  const out = new Int16Array(2 * input.length);
  new HalfBandUp().process(input, out);
  return out;
}

function down(input: Int16Array): Int16Array {
  const out = new Int16Array(input.length / 2);
  new HalfBandDown().process(input, out);
  return out;
}

t.test('up: speech passes unchanged, its images are 60 dB down', async (t) => {
  for (let hz = 50; hz <= EDGE_HZ; hz += 150) {
    const out = up(tone(8000, hz)).subarray(400);
    t.ok(Math.abs(at(out, 16_000, hz).db) < 0.02, `${hz} Hz passes at ${at(out, 16_000, hz).db.toFixed(3)} dB`);
    t.ok(at(out, 16_000, 8000 - hz).db < -60, `image at ${8000 - hz} Hz: ${at(out, 16_000, 8000 - hz).db.toFixed(1)} dB`);
  }
});

t.test('down: speech passes unchanged, what would fold into it is 60 dB down', async (t) => {
  for (let hz = 50; hz <= EDGE_HZ; hz += 150) {
    const level = at(down(tone(16_000, hz)).subarray(200), 8000, hz).db;
    t.ok(Math.abs(level) < 0.02, `${hz} Hz passes at ${level.toFixed(3)} dB`);
  }
  for (let hz = 8000 - EDGE_HZ; hz < 8000; hz += 150) {
    const level = at(down(tone(16_000, hz)).subarray(200), 8000, 8000 - hz).db;
    t.ok(level < -60, `${hz} Hz folds to ${8000 - hz} Hz at ${level.toFixed(1)} dB`);
  }
});

t.test('a sound leaves within half a millisecond', async (t) => {
  for (const hz of [100, 300, 1000, 2000, 3000]) {
    const out = up(tone(8000, hz)).subarray(320, 320 + 2560);
    const start = (2 * Math.PI * hz * 320) / 16_000;
    const turns = ((start - at(out, 16_000, hz).phase) / (2 * Math.PI)) % 1;
    const lateMs = (((turns % 1) + 1) % 1) * (1000 / hz);
    t.ok(lateMs < 0.5, `${hz} Hz leaves ${lateMs.toFixed(3)} ms late`);
  }
});

t.test('frames join without a seam', async (t) => {
  const input = tone(8000, 440);
  const whole = up(input);
  const filter = new HalfBandUp();
  const joined = new Int16Array(whole.length);
  for (let i = 0; i < input.length; i += 160) filter.process(input.subarray(i, i + 160), joined.subarray(2 * i));
  t.same([...joined], [...whole]);
  const halved = down(whole);
  const back = new HalfBandDown();
  const pieces = new Int16Array(halved.length);
  for (let i = 0; i < whole.length; i += 320) back.process(whole.subarray(i, i + 320), pieces.subarray(i / 2));
  t.same([...pieces], [...halved]);
});

t.test('full scale clips instead of wrapping', async (t) => {
  const square = Int16Array.from({ length: 1600 }, (_, i) => (i % 16 < 8 ? 32767 : -32768));
  for (const out of [up(square), down(square)]) {
    let flips = 0;
    for (let i = 1; i < out.length; i++) if (Math.abs(out[i]! - out[i - 1]!) > 65_000) flips++;
    t.equal(flips, 0);
    t.equal(Math.max(...out), 32767);
    t.equal(Math.min(...out), -32768);
  }
});

t.test('silence after a sound is silence, and stays so', async (t) => {
  const filter = new HalfBandUp();
  const out = new Int16Array(320);
  filter.process(tone(8000, 1000).subarray(0, 160), out);
  for (let i = 0; i < 5; i++) filter.process(new Int16Array(160), out);
  t.ok(out.every((sample) => sample === 0));
});

t.test('what does not fit is refused', async (t) => {
  t.throws(() => new HalfBandUp().process(new Int16Array(160), new Int16Array(319)), RangeError);
  t.throws(() => new HalfBandDown().process(new Int16Array(320), new Int16Array(159)), RangeError);
  t.throws(() => new HalfBandDown().process(new Int16Array(321), new Int16Array(320)), RangeError);
});
