import t from 'tap';
import { EnergyVad, levelDb, VadGate } from '../../media/vad.ts';
import { resampleAll } from '../../media/resampler.ts';
import { seeded } from './simulated-network.ts';
import { speechLike } from './speech.ts';

const FRAME = 320;

function noise(ms: number, levelDbfs: number, seed = 9): Int16Array {
  const random = seeded(seed);
  const peak = 32768 * 10 ** (levelDbfs / 20) * Math.sqrt(3);
  return Int16Array.from({ length: ms * 16 }, () => peak * (2 * random() - 1));
}

const join = (...parts: Int16Array[]): Int16Array => Int16Array.from(parts.flatMap((part) => [...part]));
const mix = (a: Int16Array, b: Int16Array): Int16Array => a.map((s, i) => s + (b[i] ?? 0));

/** Times (ms) at which the gate opened, and the share of windows it was open in [from, to). */
function judge(signal: Int16Array, from = 0, to = signal.length / 16): { starts: number[]; share: number } {
  const vad = new EnergyVad();
  const gate = new VadGate({ startWindows: 3 });
  const starts: number[] = [];
  let open = 0;
  for (let at = 0; at + FRAME <= signal.length; at += FRAME) {
    vad.write(signal.subarray(at, at + FRAME));
    for (const window of vad.take()) {
      const was = gate.speaking;
      gate.push(window);
      if (gate.speaking && !was) starts.push(window.endMs);
      if (gate.speaking && window.endMs > from && window.endMs <= to) open++;
    }
  }
  return { starts, share: open / ((to - from) / 20) };
}

/** End (ms) of the third frame in a row that is louder than `levelDbfs`. */
function audibleAt(signal: Int16Array, levelDbfs: number): number {
  let run = 0;
  for (let at = 0; at < signal.length; at += FRAME) {
    run = levelDb(signal.subarray(at, at + FRAME)) > levelDbfs ? run + 1 : 0;
    if (run === 3) return (at + FRAME) / 16;
  }
  return Infinity;
}

const speech = resampleAll(speechLike(4, 8000, 3), 8000, 16_000);

t.test('quiet and noisy lines without speech stay closed', async (t) => {
  for (const level of [-90, -65, -55, -45]) {
    const { share } = judge(noise(20_000, level), 3000);
    t.ok(share < 0.01, `${level} dB: ${share}`);
  }
  t.equal(judge(new Int16Array(16_000 * 5)).share, 0, 'digital silence');
  t.equal(judge(new Int16Array(16_000 * 5).fill(900)).share, 0, 'an offset is no sound');
});

t.test('speech opens the gate in the third frame that stands out from the line, on each line', async (t) => {
  for (const level of [-90, -60, -50, -42]) {
    const signal = mix(noise(8000, level), join(new Int16Array(16 * 3000), speech));
    const { starts, share } = judge(signal, 3000, 7000);
    const first = starts.find((at) => at > 3000)!;
    const audible = 3000 + audibleAt(speech, Math.max(-48, level + 13));
    t.ok(first <= audible, `${level} dB: opened at ${first}, audible at ${audible}`);
    t.ok(share > 0.5, `${level} dB: open ${(100 * share).toFixed(0)} %`);
  }
});

t.test('noise that rises is learnt within three seconds', async (t) => {
  const { share } = judge(join(noise(4000, -65), noise(8000, -45)), 7000);
  t.ok(share < 0.02, `${share}`);
});

t.test('a caller who speaks in the first frame is heard', async (t) => {
  t.ok(judge(speech).starts[0]! <= 200);
  t.ok(judge(speech).share > 0.5);
});

t.test('a click of one frame is not speech', async (t) => {
  const click = new Int16Array(16 * 3000);
  click.fill(15_000, 16 * 1500, 16 * 1510);
  t.same(judge(click).starts, []);
});

t.test('windows are taken once, oldest first, and a late reader gets the newest 64', async (t) => {
  const vad = new EnergyVad();
  t.same(vad.take(), []);
  for (let i = 0; i < 3; i++) vad.write(new Int16Array(FRAME));
  t.same(vad.take().map(({ endMs, windowMs }) => [endMs, windowMs]), [[20, 20], [40, 20], [60, 20]]);
  t.same(vad.take(), []);
  for (let i = 0; i < 100; i++) vad.write(new Int16Array(FRAME));
  const kept = vad.take();
  t.same([kept.length, kept[0]!.endMs, kept.at(-1)!.endMs], [64, 60 + 37 * 20, 60 + 100 * 20]);
  vad.close();
  vad.write(new Int16Array(FRAME));
  t.same(vad.take(), []);
});

t.test('the gate: two windows to start, hysteresis, no hangover', async (t) => {
  const gate = new VadGate();
  const push = (...probabilities: number[]): void => {
    for (const probability of probabilities) gate.push({ probability, windowMs: 32, endMs: (at += 32) });
  };
  let at = 0;
  push(0.1, 0.9, 0.4, 0.9);
  t.notOk(gate.speaking, 'one window, a dip, one window');
  t.equal(gate.silentMs, 128);
  push(0.5);
  t.ok(gate.speaking);
  t.same([gate.voicedMs, gate.speechStartMs, gate.silentMs, gate.lastVoicedMs], [64, 96, 0, 160]);
  push(0.36, 0.35);
  t.same([gate.speaking, gate.voicedMs], [true, 128]);
  push(0.34, 0.45);
  t.same([gate.speaking, gate.voicedMs, gate.silentMs, gate.lastVoicedMs, gate.speechStartMs], [false, 128, 64, 224, 96]);
  push(0.6, 0.6);
  t.same([gate.speaking, gate.voicedMs, gate.speechStartMs], [true, 64, 288]);
});

t.test('levels', async (t) => {
  t.equal(levelDb(new Int16Array(FRAME)), -100);
  t.ok(Math.abs(levelDb(Int16Array.from({ length: FRAME }, (_, i) => (i % 2 ? 32767 : -32767)))) < 0.01);
});
