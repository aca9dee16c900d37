/**
 * How long a WebM recording is, by the times of its blocks: what a browser's MediaRecorder writes says no duration (RFC 8794,
 * RFC 9559). Elements are read one after another, entering those that hold others, so that sizes left open need no care.
 */

const INFO_TIMESTAMP_SCALE = 0x2ad7b1;
const CLUSTER_TIMESTAMP = 0xe7;
const SIMPLE_BLOCK = 0xa3;
const BLOCK = 0xa1;
/** Segment, Info, Cluster, BlockGroup. */
const ENTERED: ReadonlySet<number> = new Set([0x18538067, 0x1549a966, 0x1f43b675, 0xa0]);
const DEFAULT_SCALE_NS = 1_000_000;
const NS_PER_MS = 1_000_000;
/** Hours' worth: more is no recording. */
const MAX_ELEMENTS = 500_000;

/** Milliseconds from the first block's start to the last one's; undefined when there are no blocks. Never throws. */
export function webmDurationMs(file: Buffer): number | undefined {
  let scale = DEFAULT_SCALE_NS;
  let cluster = 0;
  let first: number | undefined;
  let last = 0;
  for (let at = 0, count = 0; count < MAX_ELEMENTS; count++) {
    const element = readElement(file, at);
    if (!element) break;
    const { id, start, size } = element;
    if (id === INFO_TIMESTAMP_SCALE) scale = readUnsigned(file, start, size) || DEFAULT_SCALE_NS;
    else if (id === CLUSTER_TIMESTAMP) cluster = readUnsigned(file, start, size);
    else if (id === SIMPLE_BLOCK || id === BLOCK) {
      const time = cluster + blockTime(file, start);
      first = Math.min(first ?? time, time);
      last = Math.max(last, time);
    }
    at = ENTERED.has(id) ? start : start + size;
  }
  return first === undefined ? undefined : ((last - first) * scale) / NS_PER_MS;
}

/** Undefined at the end, or where no element can begin. */
function readElement(file: Buffer, at: number): { id: number; start: number; size: number } | undefined {
  const idLength = lengthOf(file[at], 4);
  const sizeAt = at + idLength;
  const sizeLength = lengthOf(file[sizeAt], 8);
  const start = sizeAt + sizeLength;
  if (idLength === 0 || sizeLength === 0 || start > file.length) return undefined;
  // The marker goes before the rest is added: eight bytes with it would not fit a number exactly.
  const head = (file[sizeAt] ?? 0) - 2 ** (8 - sizeLength);
  const size = head * 256 ** (sizeLength - 1) + readUnsigned(file, sizeAt + 1, sizeLength - 1);
  return { id: readUnsigned(file, at, idLength), start, size };
}

/** Bytes of a variable-length number by its first byte: as many as it has leading zeros, and one. 0: none can begin here. */
function lengthOf(byte: number | undefined, most: number): number {
  const length = byte ? Math.clz32(byte) - 23 : 0;
  return length > most ? 0 : length;
}

function readUnsigned(file: Buffer, at: number, length: number): number {
  let value = 0;
  const end = Math.min(at + Math.min(length, 8), file.length);
  for (let position = at; position < end; position++) value = value * 256 + (file[position] ?? 0);
  return value;
}

/** Relative to its cluster: signed, after the track's number. */
function blockTime(file: Buffer, start: number): number {
  const at = start + lengthOf(file[start], 8);
  return at + 2 <= file.length ? file.readInt16BE(at) : 0;
}
