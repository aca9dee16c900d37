import t from 'tap';
import { Concealment } from '../../media/rtp/concealment.ts';
import { seeded } from './simulated-network.ts';
import { speechLike } from './speech.ts';

const FRAME = 160;

/** Runs a signal through, concealing the frames that `lost` names. */
function repair(signal: Int16Array, lost: (frame: number) => boolean, rate: 8000 | 16_000 = 8000): Int16Array {
  const size = rate / 50;
  const concealment = new Concealment(rate);
  const out = signal.slice();
  for (let f = 0; (f + 1) * size <= out.length; f++) {
    const frame = out.subarray(f * size, (f + 1) * size);
    if (lost(f)) concealment.conceal(frame);
    else concealment.good(frame);
  }
  return out;
}

/** Mean distance of log spectra (dB) over the frames named, in bands of 250 Hz up to 3.5 kHz: what the ear compares. */
function spectralDistance(a: Int16Array, b: Int16Array, frames: number[]): number {
  const power = (s: Int16Array, from: number, hz: number): number => {
    let re = 0;
    let im = 0;
    for (let i = 0; i < FRAME; i++) {
      re += s[from + i]! * Math.cos((2 * Math.PI * hz * i) / 8000);
      im += s[from + i]! * Math.sin((2 * Math.PI * hz * i) / 8000);
    }
    return 10 * Math.log10(re * re + im * im + 1e6);
  };
  let sum = 0;
  for (const f of frames) for (let hz = 125; hz < 3500; hz += 250) sum += Math.abs(power(a, f * FRAME, hz) - power(b, f * FRAME, hz));
  return sum / frames.length / 14;
}

t.test('on speech, a concealed frame is far nearer to the lost one than silence is', async (t) => {
  const speech = speechLike(20, 8000);
  const random = seeded(5);
  const lost = new Set(Array.from({ length: 1000 }, (_, f) => f).filter(() => random() < 0.1));
  const repaired = repair(speech, (f) => lost.has(f));
  const silent = speech.slice();
  for (const f of lost) silent.fill(0, f * FRAME, (f + 1) * FRAME);
  const voiced = [...lost].filter((f) => speech.subarray(f * FRAME, (f + 1) * FRAME).some((s) => Math.abs(s) > 1500));
  const withPlc = spectralDistance(speech, repaired, voiced);
  const withSilence = spectralDistance(speech, silent, voiced);
  t.comment(`spectral distance: concealed ${withPlc.toFixed(1)} dB, silence ${withSilence.toFixed(1)} dB over ${voiced.length} frames`);
  t.ok(withPlc < withSilence / 2, `${withPlc} against ${withSilence}`);
});

t.test('a steady voice goes on through a lost frame almost unchanged, at both rates', async (t) => {
  for (const rate of [8000, 16_000] as const) {
    const voice = Int16Array.from({ length: rate / 2 }, (_, i) => 6000 * Math.sin((2 * Math.PI * 125 * i) / rate) + 3000 * Math.sin((2 * Math.PI * 625 * i) / rate));
    const repaired = repair(voice, (f) => f === 12, rate);
    let error = 0;
    let energy = 0;
    for (let i = (12 * rate) / 50; i < (14 * rate) / 50; i++) {
      error += (repaired[i]! - voice[i]!) ** 2;
      energy += voice[i]! ** 2;
    }
    t.ok(error < energy / 10, `${rate} Hz: error ${(10 * Math.log10(error / energy)).toFixed(1)} dB`);
  }
});

t.test('no clicks: no step larger than the voice itself has, into the loss, in it and out of it', async (t) => {
  const voice = Int16Array.from({ length: 8000 }, (_, i) => 8000 * Math.sin((2 * Math.PI * 147 * i) / 8000));
  const ownStep = 8000 * 2 * Math.sin((Math.PI * 147) / 8000);
  for (let length = 1; length <= 5; length++) {
    const repaired = repair(voice, (f) => f >= 20 && f < 20 + length);
    let worst = 0;
    for (let i = 20 * FRAME - 1; i < (22 + length) * FRAME; i++) worst = Math.max(worst, Math.abs(repaired[i + 1]! - repaired[i]!));
    t.ok(worst < 2.5 * ownStep, `${length} frames: ${worst.toFixed(0)} against ${ownStep.toFixed(0)}`);
  }
});

t.test('a long loss fades to silence by 60 ms and stays silent; what follows starts from silence', async (t) => {
  const repaired = repair(speechLike(2, 8000), (f) => f >= 30 && f < 60);
  const peak = (f: number): number => Math.max(...repaired.subarray(f * FRAME, (f + 1) * FRAME).map(Math.abs));
  t.ok(peak(30) > 0);
  t.ok(repaired.subarray(33 * FRAME, 60 * FRAME).every((s) => s === 0));
  t.ok(repaired.subarray(33 * FRAME - 16, 33 * FRAME).every((s) => Math.abs(s) < 500));
  t.ok(Math.abs(repaired[60 * FRAME]!) < 800, 'fades in');
});

t.test('nothing heard yet: a loss is silence', async (t) => {
  const out = new Int16Array(FRAME).fill(9);
  new Concealment(8000).conceal(out);
  t.ok(out.every((s) => s === 0));
});
