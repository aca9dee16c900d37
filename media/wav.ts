/** WAV files of PCM16 (RIFF/WAVE): a header for a writer, a parser that trusts no length, and the repair after a crash. */
import { open, type FileHandle } from 'node:fs/promises';

/** Bytes of the header that `wavHeader` makes. */
export const WAV_HEADER_BYTES = 44;
const PCM = 1;
const MAX_UINT32 = 0xffff_ffff;
/** Chunks looked through before the audio; more is not a recording. */
const MAX_CHUNKS = 64;
/** Bytes of a `fmt ` chunk that say what is needed. */
const FORMAT_BYTES = 16;

export interface WavInfo {
  sampleRate: number;
  channels: number;
  bitsPerSample: number;
  /** Where the samples start, and how many bytes of them the file really has. */
  dataStart: number;
  dataBytes: number;
  durationMs: number;
}

/** Header for PCM16 of `dataBytes` bytes; more than a WAV file can say is written as the most it can. */
export function wavHeader(options: { sampleRate: number; channels: number; dataBytes: number }): Uint8Array {
  const { sampleRate, channels } = options;
  const dataBytes = Math.min(options.dataBytes, MAX_UINT32 - WAV_HEADER_BYTES);
  const header = Buffer.alloc(WAV_HEADER_BYTES);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(dataBytes + WAV_HEADER_BYTES - 8, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(FORMAT_BYTES, 16);
  header.writeUInt16LE(PCM, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(sampleRate * channels * 2, 28);
  header.writeUInt16LE(channels * 2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(dataBytes, 40);
  return header;
}

/** Reads what a WAV file holds. The data length is what is really there, whatever the header claims. Throws for anything but PCM. */
export async function readWavInfo(file: string | FileHandle): Promise<WavInfo> {
  if (typeof file !== 'string') return parseChunks(file);
  const handle = await open(file, 'r');
  try {
    return await parseChunks(handle);
  } finally {
    await handle.close();
  }
}

/**
 * Sets the sizes of a recording whose writer died to what the file holds, cut to whole samples. A file that is whole stays as
 * it is. Throws when it is no WAV file of PCM.
 */
export async function repairWav(path: string): Promise<{ durationMs: number }> {
  const handle = await open(path, 'r+');
  try {
    const info = await parseChunks(handle, true);
    const { size } = await handle.stat();
    const end = info.dataStart + info.dataBytes;
    if (end < size) await handle.truncate(end);
    const field = Buffer.alloc(4);
    field.writeUInt32LE(Math.min(end - 8, MAX_UINT32));
    await handle.write(field, 0, 4, 4);
    field.writeUInt32LE(Math.min(info.dataBytes, MAX_UINT32));
    await handle.write(field, 0, 4, info.dataStart - 4);
    return { durationMs: info.durationMs };
  } finally {
    await handle.close();
  }
}

/** `toTheEnd`: a data chunk that claims nothing, as an unfinished recording's does, reaches to the end of the file. */
async function parseChunks(handle: FileHandle, toTheEnd = false): Promise<WavInfo> {
  const { size } = await handle.stat();
  const head = await readAt(handle, 0, 12);
  if (head.length < 12 || head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE') {
    throw new Error('Not a WAV file: it does not start with RIFF and WAVE');
  }
  let format: Buffer | undefined;
  let at = 12;
  for (let chunk = 0; chunk < MAX_CHUNKS && at + 8 <= size; chunk++) {
    const header = await readAt(handle, at, 8);
    const id = header.toString('latin1', 0, 4);
    const length = header.readUInt32LE(4);
    if (id === 'fmt ') format = await readAt(handle, at + 8, Math.min(length, FORMAT_BYTES));
    if (id === 'data') {
      const present = size - at - 8;
      return describe(format, at + 8, toTheEnd || length > present ? present : length);
    }
    // Chunks are padded to an even length.
    at += 8 + length + (length % 2);
  }
  throw new Error('Not a playable WAV file: it has no data chunk');
}

function describe(format: Buffer | undefined, dataStart: number, present: number): WavInfo {
  if (format === undefined || format.length < FORMAT_BYTES) throw new Error('Not a playable WAV file: no format comes before its data');
  const channels = format.readUInt16LE(2);
  const sampleRate = format.readUInt32LE(4);
  const bitsPerSample = format.readUInt16LE(14);
  if (format.readUInt16LE(0) !== PCM || channels === 0 || sampleRate === 0 || bitsPerSample !== 16) {
    throw new Error(`WAV format ${format.readUInt16LE(0)} with ${channels} channels, ${sampleRate} Hz, ${bitsPerSample} bits is not PCM16`);
  }
  const dataBytes = present - (present % (2 * channels));
  return { sampleRate, channels, bitsPerSample, dataStart, dataBytes, durationMs: (dataBytes / (2 * channels) / sampleRate) * 1000 };
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
