import { Readable } from 'node:stream';
import { WAV_HEADER_BYTES, wavHeader, type WavInfo } from '../../../media/wav.ts';
import type { Channel } from './schema.ts';

/** Bytes that can be read from any place; `to` is included. */
export interface Bytes { bytes: number; read: (from: number, to: number) => Readable }

const SAMPLE_BYTES = 2;

/** One channel of a recording as a WAV file of its own; a range of it is read from the matching range of the recording. */
export function channelOf(recording: Bytes, wav: WavInfo, channel: Channel): Bytes {
  const frameBytes = SAMPLE_BYTES * wav.channels;
  const dataBytes = Math.floor(wav.dataBytes / frameBytes) * SAMPLE_BYTES;
  const header = Buffer.from(wavHeader({ sampleRate: wav.sampleRate, channels: 1, dataBytes }));
  const samples = (from: number, to: number): AsyncIterable<Buffer> => {
    const [first, last] = [Math.floor(from / SAMPLE_BYTES), Math.floor(to / SAMPLE_BYTES)];
    const source = recording.read(wav.dataStart + first * frameBytes, wav.dataStart + (last + 1) * frameBytes - 1);
    return trimmed(pick(source, wav.channels, channel), from % SAMPLE_BYTES, to - from + 1);
  };
  async function* range(from: number, to: number): AsyncGenerator<Buffer> {
    if (from < WAV_HEADER_BYTES) yield header.subarray(from, to + 1);
    if (to >= WAV_HEADER_BYTES) yield* samples(Math.max(0, from - WAV_HEADER_BYTES), to - WAV_HEADER_BYTES);
  }
  return { bytes: WAV_HEADER_BYTES + dataBytes, read: (from, to) => Readable.from(range(from, to), { objectMode: false }) };
}

/** The samples of one channel, from a stream that begins with a whole frame. */
async function* pick(source: Readable, channels: number, channel: Channel): AsyncGenerator<Buffer> {
  const frameBytes = SAMPLE_BYTES * channels;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const frames = Math.floor(bytes.length / frameBytes);
    const out = Buffer.alloc(frames * SAMPLE_BYTES);
    for (let frame = 0; frame < frames; frame++) out.writeInt16LE(sampleOf(bytes, frame * frameBytes, channels, channel), frame * SAMPLE_BYTES);
    rest = bytes.subarray(frames * frameBytes);
    yield out;
  }
}

function sampleOf(bytes: Buffer, at: number, channels: number, channel: Channel): number {
  const left = bytes.readInt16LE(at);
  if (channels === 1 || channel === 'caller') return left;
  const right = bytes.readInt16LE(at + SAMPLE_BYTES);
  return channel === 'agent' ? right : Math.max(-32_768, Math.min(32_767, left + right));
}

async function* trimmed(source: AsyncIterable<Buffer>, skip: number, length: number): AsyncGenerator<Buffer> {
  let [toSkip, left] = [skip, length];
  for await (const chunk of source) {
    const part = chunk.subarray(toSkip, toSkip + left);
    toSkip -= Math.min(toSkip, chunk.length);
    left -= part.length;
    if (part.length > 0) yield part;
  }
}
