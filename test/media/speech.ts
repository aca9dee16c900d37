/** Speech-like sound made by rule: a gliding voice pitch through moving formants, with fricatives and pauses between syllables. */
import { seeded } from './simulated-network.ts';

/** `seconds` of it at `sampleRate`, the same each time for the same seed. */
export function speechLike(seconds: number, sampleRate: number, seed = 1): Int16Array {
  const random = seeded(seed);
  const out = new Int16Array(seconds * sampleRate);
  let phase = 0;
  const resonators = [0, 1, 2].map(() => ({ y1: 0, y2: 0 }));
  for (let at = 0; at < out.length; ) {
    const length = Math.round(sampleRate * (0.12 + 0.16 * random()));
    const kind = random();
    const pitch = [100 + 80 * random(), 100 + 80 * random()] as const;
    const formants = [300 + 500 * random(), 1000 + 1200 * random(), 2400 + 600 * random()];
    const pause = kind > 0.85 ? Math.round(sampleRate * 0.25 * random()) : 0;
    for (let i = 0; i < length && at < out.length; i++, at++) {
      const share = i / length;
      phase += (pitch[0] + (pitch[1] - pitch[0]) * share) / sampleRate;
      // A glottal pulse is one sharp sample per period; a fricative is noise.
      const pulse = phase >= 1 ? 1 : 0;
      phase -= pulse;
      const source = kind < 0.2 ? 0.04 * (random() - 0.5) : pulse + 0.005 * (random() - 0.5);
      let sum = 0;
      resonators.forEach((state, f) => {
        const radius = Math.exp((-Math.PI * (60 + 40 * f)) / sampleRate);
        const y = source + 2 * radius * Math.cos((2 * Math.PI * formants[f]!) / sampleRate) * state.y1 - radius * radius * state.y2;
        state.y2 = state.y1;
        state.y1 = y;
        sum += y / (f + 1);
      });
      out[at] = Math.max(-32000, Math.min(32000, Math.round(3500 * sum * Math.sin(Math.PI * share))));
    }
    at += pause;
  }
  return out;
}
