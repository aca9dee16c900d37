import t from 'tap';
import { Resampler, resampleAll } from '../../media/resampler.ts';

const RATES = [8000, 16_000, 24_000, 48_000];
const AMPLITUDE = 16_000;

const tone = (rate: number, hz: number, samples: number): Int16Array =>
  Int16Array.from({ length: samples }, (_, i) => Math.round(AMPLITUDE * Math.sin((2 * Math.PI * hz * i) / rate)));

/** Level of one frequency in dB against AMPLITUDE, by correlation over a Hann window. */
function levelAt(samples: Int16Array, rate: number, hz: number): number {
  let re = 0;
  let im = 0;
  let weight = 0;
  for (let i = 0; i < samples.length; i++) {
    const w = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / samples.length);
    re += w * samples[i]! * Math.cos((2 * Math.PI * hz * i) / rate);
    im += w * samples[i]! * Math.sin((2 * Math.PI * hz * i) / rate);
    weight += w;
  }
  return 20 * Math.log10((2 * Math.hypot(re, im)) / weight / AMPLITUDE + 1e-9);
}

const convert = (from: number, to: number, input: Int16Array): Int16Array => {
  const out = resampleAll(input, from, to);
  return out.subarray(Math.round(to * 0.02), out.length - Math.round(to * 0.02));
};

for (const from of RATES) {
  for (const to of RATES) {
    t.test(`${from} to ${to} Hz: flat passband, images and aliases 60 dB down`, async (t) => {
      const edge = 0.85 * (Math.min(from, to) / 2);
      for (let share = 0.05; share <= 1.001; share += 0.1) {
        const hz = Math.round(edge * share);
        const out = convert(from, to, tone(from, hz, from / 5));
        t.ok(Math.abs(levelAt(out, to, hz)) < 0.1, `${hz} Hz passes at ${levelAt(out, to, hz).toFixed(2)} dB`);
        if (to > from) t.ok(levelAt(out, to, from - hz) < -60, `image at ${from - hz} Hz: ${levelAt(out, to, from - hz).toFixed(1)} dB`);
      }
      if (to >= from) return;
      // Whatever lies above what the lower rate can carry and would fold into the passband.
      for (let hz = Math.ceil(to - edge); hz < from / 2; hz += 150) {
        const folded = Math.abs(hz - to * Math.round(hz / to));
        if (folded > edge) continue;
        const level = levelAt(convert(from, to, tone(from, hz, from / 5)), to, folded);
        t.ok(level < -60, `${hz} Hz folds to ${folded} Hz at ${level.toFixed(1)} dB`);
      }
    });

    t.test(`${from} to ${to} Hz: streaming in any pieces equals one piece, delayed by delayMs`, async (t) => {
      const input = tone(from, 440, from / 10);
      const whole = new Int16Array(to / 10);
      const resampler = new Resampler(from, to);
      t.equal(resampler.process(input, whole), whole.length);
      resampler.reset();
      const pieces: number[] = [];
      const out = new Int16Array(2000);
      for (let at = 0, size = 1; at < input.length; at += size, size = (size % 37) + 1) {
        const written = resampler.process(input.subarray(at, at + size), out);
        pieces.push(...out.subarray(0, written));
      }
      t.same(pieces, [...whole]);
      const delay = (resampler.delayMs * to) / 1000;
      t.equal(delay, Math.round(delay), 'a whole number of samples');
      const aligned = resampleAll(input, from, to);
      const late = Array.from(whole.subarray(delay));
      t.same(late, [...aligned.subarray(0, late.length)]);
    });
  }
}

t.test('20 ms frames stay 20 ms frames', async (t) => {
  for (const from of RATES) {
    for (const to of RATES) {
      const resampler = new Resampler(from, to);
      const out = new Int16Array(to / 50);
      for (let i = 0; i < 5; i++) t.equal(resampler.process(new Int16Array(from / 50), out), to / 50);
    }
  }
});

t.test('full-scale input clips instead of wrapping', async (t) => {
  const square = Int16Array.from({ length: 1600 }, (_, i) => (i % 16 < 8 ? 32767 : -32768));
  for (const to of [16_000, 48_000]) {
    const out = resampleAll(square, 8000, to);
    // A wrapped sample would jump over the whole range between two neighbours in the flat part of the wave.
    let flips = 0;
    for (let i = 1; i < out.length; i++) if (Math.abs(out[i]! - out[i - 1]!) > 60_000) flips++;
    t.equal(flips, 0);
    t.equal(Math.max(...out), 32767);
  }
});

t.test('bad rates and small outputs are refused', async (t) => {
  t.throws(() => new Resampler(11_025, 8000), RangeError);
  t.throws(() => new Resampler(8000, 0), RangeError);
  t.throws(() => new Resampler(8000, 16_000).process(new Int16Array(160), new Int16Array(319)), RangeError);
});
