/** RTP packets (RFC 3550 section 5.1): parsed into a reused object, built into a reused buffer. */

/** A parsed header; the payload is bytes [payloadStart, payloadEnd) of the datagram it was parsed from. */
export interface RtpPacket {
  marker: boolean;
  payloadType: number;
  sequence: number;
  timestamp: number;
  ssrc: number;
  payloadStart: number;
  payloadEnd: number;
}

export const RTP_HEADER_BYTES = 12;
const VERSION_BITS = 0x80;

export function emptyRtpPacket(): RtpPacket {
  return { marker: false, payloadType: 0, sequence: 0, timestamp: 0, ssrc: 0, payloadStart: 0, payloadEnd: 0 };
}

/**
 * Parses a datagram into `into` and returns it; undefined when it is not RTP: too short, another version, or a CSRC list,
 * extension or padding that does not fit. CSRCs, the extension and padding are stepped over.
 */
export function parseRtp(bytes: Uint8Array, into: RtpPacket): RtpPacket | undefined {
  const length = bytes.length;
  if (length < RTP_HEADER_BYTES) return undefined;
  const first = bytes[0]!;
  if ((first & 0xc0) !== VERSION_BITS) return undefined;
  let start = RTP_HEADER_BYTES + (first & 0x0f) * 4;
  if (first & 0x10) {
    if (start + 4 > length) return undefined;
    start += 4 + ((bytes[start + 2]! << 8) | bytes[start + 3]!) * 4;
  }
  let end = length;
  if (first & 0x20) {
    const padding = bytes[length - 1]!;
    if (padding === 0) return undefined;
    end -= padding;
  }
  if (start > end) return undefined;
  into.marker = (bytes[1]! & 0x80) !== 0;
  into.payloadType = bytes[1]! & 0x7f;
  into.sequence = (bytes[2]! << 8) | bytes[3]!;
  into.timestamp = readUint32(bytes, 4);
  into.ssrc = readUint32(bytes, 8);
  into.payloadStart = start;
  into.payloadEnd = end;
  return into;
}

/** What a built packet says in its header. */
export interface RtpHeader {
  marker: boolean;
  payloadType: number;
  sequence: number;
  timestamp: number;
  ssrc: number;
}

/** Writes the fixed 12 bytes to the start of `out`: no padding, extension or CSRC. */
export function writeRtpHeader(out: Uint8Array, header: RtpHeader): void {
  out[0] = VERSION_BITS;
  out[1] = (header.marker ? 0x80 : 0) | header.payloadType;
  out[2] = header.sequence >>> 8;
  out[3] = header.sequence;
  writeUint32(out, 4, header.timestamp);
  writeUint32(out, 8, header.ssrc);
}

/** A whole packet in a new buffer; `csrcs` (at most 15), `extension` (a multiple of 4 bytes) and `paddingBytes` are optional parts. */
export function buildRtp(
  header: RtpHeader,
  payload: Uint8Array,
  parts: { csrcs?: number[]; extension?: { profile: number; data: Uint8Array }; paddingBytes?: number } = {},
): Uint8Array {
  const { csrcs = [], extension, paddingBytes = 0 } = parts;
  const extensionAt = RTP_HEADER_BYTES + csrcs.length * 4;
  const payloadAt = extensionAt + (extension ? 4 + extension.data.length : 0);
  const out = new Uint8Array(payloadAt + payload.length + paddingBytes);
  writeRtpHeader(out, header);
  out[0]! |= csrcs.length | (extension ? 0x10 : 0) | (paddingBytes > 0 ? 0x20 : 0);
  csrcs.forEach((csrc, i) => writeUint32(out, RTP_HEADER_BYTES + i * 4, csrc));
  if (extension) {
    writeUint32(out, extensionAt, ((extension.profile << 16) | (extension.data.length / 4)) >>> 0);
    out.set(extension.data, extensionAt + 4);
  }
  out.set(payload, payloadAt);
  if (paddingBytes > 0) out[out.length - 1] = paddingBytes;
  return out;
}

/** How far sequence number `a` is ahead of `b`, around the 16-bit wrap: -32768 to 32767. */
export function sequenceDistance(a: number, b: number): number {
  return ((a - b) << 16) >> 16;
}

/** How far RTP timestamp `a` is ahead of `b`, around the 32-bit wrap. */
export function timestampDistance(a: number, b: number): number {
  return (a - b) | 0;
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}

export function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}
