/** G.711 u-law, enough for a measuring peer; kept apart from media/ so that the gateway is not measured with its own tables. */

const BIAS = 0x84;
const CLIP = 32_635;

/** ITU-T G.711, table 2a: 16-bit linear to u-law. */
export function encodeUlaw(samples: ArrayLike<number>): Uint8Array {
  return Uint8Array.from({ length: samples.length }, (_, i) => {
    const sample = Math.round(samples[i] ?? 0);
    const sign = sample < 0 ? 0x80 : 0;
    const magnitude = Math.min(Math.abs(sample), CLIP) + BIAS;
    const exponent = 31 - Math.clz32(magnitude >> 7);
    return ~(sign | (exponent << 4) | ((magnitude >> (exponent + 3)) & 0x0f)) & 0xff;
  });
}

const MAGNITUDES = Uint16Array.from({ length: 256 }, (_, code) => {
  const bits = ~code & 0xff;
  return (((bits & 0x0f) << 3) + BIAS << ((bits >> 4) & 7)) - BIAS;
});

/** True when any sample from `start` on is louder than `threshold` (16-bit linear). */
export function isVoiced(payload: Uint8Array, start: number, threshold = 600): boolean {
  for (let i = start; i < payload.length; i++) if ((MAGNITUDES[payload[i] ?? 0xff] ?? 0) > threshold) return true;
  return false;
}
