/**
 * G.711 by table (ITU-T G.711, bit-exact with the G.191 reference): one byte is one sample at 8 kHz. Compression looks at
 * 14 bits (µ-law) and 12 bits (A-law) of a PCM16 sample, so the tables stay small enough for the first-level cache.
 */

export type G711Codec = 'PCMU' | 'PCMA';

export const PCMU_TO_LINEAR = new Int16Array(256);
export const PCMA_TO_LINEAR = new Int16Array(256);
const LINEAR_TO_PCMU = new Uint8Array(1 << 14);
const LINEAR_TO_PCMA = new Uint8Array(1 << 12);

/** The byte that decodes to silence: what a hole is filled with. */
export const SILENT_BYTE: Record<G711Codec, number> = { PCMU: 0xff, PCMA: 0xd5 };

/** µ-law magnitude segments: 33 is the bias that makes every segment start at a power of two (G.711 table 2a). */
function compressPcmu(value14: number): number {
  const magnitude = Math.min((value14 < 0 ? ~value14 : value14) + 33, 0x1fff);
  let segment = 1;
  for (let rest = magnitude >> 6; rest !== 0; rest >>= 1) segment++;
  const code = ((8 - segment) << 4) | (15 - ((magnitude >> segment) & 15));
  return value14 < 0 ? code : code | 0x80;
}

/** A-law, even bits inverted (G.711 table 1a). */
function compressPcma(value12: number): number {
  let magnitude = value12 < 0 ? ~value12 : value12;
  if (magnitude > 15) {
    let exponent = 1;
    for (; magnitude > 31; magnitude >>= 1) exponent++;
    magnitude += (exponent << 4) - 16;
  }
  return (value12 < 0 ? magnitude : magnitude | 0x80) ^ 0x55;
}

for (let code = 0; code < 256; code++) {
  const mu = ~code & 0xff;
  const muMagnitude = ((((mu & 15) << 3) + 0x84) << ((mu & 0x70) >> 4)) - 0x84;
  PCMU_TO_LINEAR[code] = mu & 0x80 ? -muMagnitude : muMagnitude;
  const a = code ^ 0x55;
  const segment = (a & 0x70) >> 4;
  const step = ((a & 15) << 4) + 8;
  const aMagnitude = segment === 0 ? step : (step + 0x100) << (segment - 1);
  PCMA_TO_LINEAR[code] = a & 0x80 ? aMagnitude : -aMagnitude;
}
for (let value = -(1 << 13); value < 1 << 13; value++) LINEAR_TO_PCMU[value & 0x3fff] = compressPcmu(value);
for (let value = -(1 << 11); value < 1 << 11; value++) LINEAR_TO_PCMA[value & 0xfff] = compressPcma(value);

/** Decodes bytes [from, to) of `src` to the start of `out`; returns the samples written. */
export function decodePcmu(src: Uint8Array, from: number, to: number, out: Int16Array): number {
  for (let i = from, o = 0; i < to; i++, o++) out[o] = PCMU_TO_LINEAR[src[i]!]!;
  return to - from;
}

/** As decodePcmu, for A-law. */
export function decodePcma(src: Uint8Array, from: number, to: number, out: Int16Array): number {
  for (let i = from, o = 0; i < to; i++, o++) out[o] = PCMA_TO_LINEAR[src[i]!]!;
  return to - from;
}

/** Encodes samples [from, to) of `src` into `out` from byte `at` on; returns the bytes written. */
export function encodePcmu(src: Int16Array, from: number, to: number, out: Uint8Array, at = 0): number {
  for (let i = from, o = at; i < to; i++, o++) out[o] = LINEAR_TO_PCMU[(src[i]! >> 2) & 0x3fff]!;
  return to - from;
}

/** As encodePcmu, for A-law. */
export function encodePcma(src: Int16Array, from: number, to: number, out: Uint8Array, at = 0): number {
  for (let i = from, o = at; i < to; i++, o++) out[o] = LINEAR_TO_PCMA[(src[i]! >> 4) & 0xfff]!;
  return to - from;
}

export function decodeG711(codec: G711Codec, src: Uint8Array, from: number, to: number, out: Int16Array): number {
  return codec === 'PCMU' ? decodePcmu(src, from, to, out) : decodePcma(src, from, to, out);
}

export function encodeG711(codec: G711Codec, src: Int16Array, from: number, to: number, out: Uint8Array, at = 0): number {
  return codec === 'PCMU' ? encodePcmu(src, from, to, out, at) : encodePcma(src, from, to, out, at);
}
