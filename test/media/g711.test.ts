import t from 'tap';
import { decodeG711, decodePcma, decodePcmu, encodeG711, encodePcma, encodePcmu, PCMA_TO_LINEAR, PCMU_TO_LINEAR, SILENT_BYTE } from '../../media/codec/g711.ts';

const encodeOne = (codec: 'PCMU' | 'PCMA', sample: number): number => {
  const out = new Uint8Array(1);
  encodeG711(codec, Int16Array.of(sample), 0, 1, out);
  return out[0]!;
};

t.test('known values of ITU-T G.711', async (t) => {
  t.same([0x00, 0x80, 0x7f, 0xff, 0xfe, 0x8f, 0x0f].map((code) => PCMU_TO_LINEAR[code]), [-32124, 32124, 0, 0, 8, 16764, -16764]);
  t.same([0x2a, 0xaa, 0x55, 0xd5, 0xd4].map((code) => PCMA_TO_LINEAR[code]), [-32256, 32256, -8, 8, 24]);
  for (const codec of ['PCMU', 'PCMA'] as const) t.equal(encodeOne(codec, 0), SILENT_BYTE[codec]);
  t.same([32767, -32768, 1000, -1000].map((s) => encodeOne('PCMU', s)), [0x80, 0x00, 0xce, 0x4e]);
  t.same([32767, -32768, 1000, -1000].map((s) => encodeOne('PCMA', s)), [0xaa, 0x2a, 0xfa, 0x7a]);
});

t.test('decision values of tables 1a and 2a: one step below a segment start is the segment before', async (t) => {
  // µ-law segment starts in 14-bit units; code of the first value of each segment, from the top.
  for (const [start, first] of [[4063, 0x8f], [2015, 0x9f], [991, 0xaf], [479, 0xbf], [223, 0xcf], [95, 0xdf], [31, 0xef]] as const) {
    t.equal(encodeOne('PCMU', start * 4), first, `µ-law ${start}`);
    t.equal(encodeOne('PCMU', start * 4 - 1), first + 1, `µ-law below ${start}`);
  }
  for (const [start, code] of [[2048, 0xf0], [1024, 0xe0], [512, 0xd0], [256, 0xc0], [128, 0xb0], [64, 0xa0]] as const) {
    t.equal(encodeOne('PCMA', start * 8), code ^ 0x55, `A-law ${start}`);
    t.equal(encodeOne('PCMA', start * 8 - 1), (code - 1) ^ 0x55, `A-law below ${start}`);
  }
});

t.test('the digital milliwatt of tables 5 and 6 is 1 kHz at 0 dBm0', async (t) => {
  const rms = (codec: 'PCMU' | 'PCMA', codes: number[]): number => {
    const pcm = new Int16Array(8);
    decodeG711(codec, Uint8Array.from(codes), 0, 8, pcm);
    t.equal(pcm[0]! + pcm[4]!, 0, 'half periods mirror each other');
    return Math.sqrt(pcm.reduce((sum, s) => sum + s * s, 0) / 8);
  };
  // Overload is +3.17 dBm0 (µ-law) and +3.14 dBm0 (A-law) for a sine, whose RMS is peak / √2.
  const mu = rms('PCMU', [0x1e, 0x0b, 0x0b, 0x1e, 0x9e, 0x8b, 0x8b, 0x9e]);
  const a = rms('PCMA', [0x34, 0x21, 0x21, 0x34, 0xb4, 0xa1, 0xa1, 0xb4]);
  t.ok(Math.abs(20 * Math.log10((8159 * 4) / Math.SQRT2 / mu) - 3.17) < 0.05, `µ-law ${mu}`);
  t.ok(Math.abs(20 * Math.log10((4096 * 8) / Math.SQRT2 / a) - 3.14) < 0.05, `A-law ${a}`);
});

t.test('all 256 codes survive decoding and encoding; neighbours in level stay in order', async (t) => {
  const codes = Uint8Array.from({ length: 256 }, (_, i) => i);
  const pcm = new Int16Array(256);
  const back = new Uint8Array(256);
  t.equal(decodePcmu(codes, 0, 256, pcm), 256);
  encodePcmu(pcm, 0, 256, back);
  // Code 0x7f is minus zero, which PCM cannot say.
  codes.forEach((code) => t.equal(back[code], code === 0x7f ? 0xff : code));
  decodePcma(codes, 0, 256, pcm);
  encodePcma(pcm, 0, 256, back);
  t.same(back, codes);
});

t.test('the error of every sample is within half a step: about 2 % of its level', async (t) => {
  for (const codec of ['PCMU', 'PCMA'] as const) {
    const table = codec === 'PCMU' ? PCMU_TO_LINEAR : PCMA_TO_LINEAR;
    let worst = 0;
    for (let sample = -32000; sample <= 32000; sample += 3) {
      const error = Math.abs(table[encodeOne(codec, sample)]! - sample) - 10;
      worst = Math.max(worst, error / Math.max(1, Math.abs(sample)));
    }
    t.ok(worst <= 1 / 31, `${codec} ${worst}`);
  }
});

t.test('ranges and offsets', async (t) => {
  const out = new Uint8Array(4);
  t.equal(encodePcmu(Int16Array.of(1, 0, 0, 1), 1, 3, out, 2), 2);
  t.same([...out], [0, 0, 0xff, 0xff]);
  const pcm = new Int16Array(2);
  t.equal(decodePcma(Uint8Array.of(0, 0xd5, 0x55, 0), 1, 3, pcm), 2);
  t.same([...pcm], [8, -8]);
});
