/** RTCP compound packets (RFC 3550 section 6): sender and receiver reports, SDES, BYE, as values with parse and build. */
import { readUint32, writeUint32 } from './packet.ts';

/** RFC 3550 6.4.1. `fractionLost` is in 1/256, `jitter` in timestamp units, `lastSr` and `delaySinceLastSr` in 1/65536 s. */
export interface ReportBlock {
  ssrc: number;
  fractionLost: number;
  /** Signed 24 bits: duplicates can make it negative. */
  cumulativeLost: number;
  highestSequence: number;
  jitter: number;
  lastSr: number;
  delaySinceLastSr: number;
}

export type RtcpPacket =
  | { kind: 'sr'; ssrc: number; ntpSeconds: number; ntpFraction: number; rtpTimestamp: number; packetCount: number; octetCount: number; reports: ReportBlock[] }
  | { kind: 'rr'; ssrc: number; reports: ReportBlock[] }
  | { kind: 'sdes'; chunks: { ssrc: number; cname: string }[] }
  | { kind: 'bye'; ssrcs: number[]; reason: string }
  /** APP and anything newer: stepped over. */
  | { kind: 'other'; type: number };

const SR = 200;
const RR = 201;
const SDES = 202;
const BYE = 203;
const CNAME = 1;
const BLOCK_BYTES = 24;
/** A compound packet of ours is under 200 bytes; a peer's is at most a datagram without fragments. */
const MAX_COMPOUND_BYTES = 1500;

/** Parses a compound packet; undefined unless it is valid by RFC 3550 A.2 (first packet a report, lengths that add up). */
export function parseRtcp(bytes: Uint8Array): RtcpPacket[] | undefined {
  if (bytes.length < 8 || bytes.length > MAX_COMPOUND_BYTES) return undefined;
  if ((bytes[0]! & 0xe0) !== 0x80 || (bytes[1] !== SR && bytes[1] !== RR)) return undefined;
  const packets: RtcpPacket[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = endOfPacket(bytes, at);
    const padding = end === undefined ? undefined : paddingOf(bytes, at, end);
    if (end === undefined || padding === undefined) return undefined;
    const packet = parseOne(bytes, at, end - padding);
    if (packet === undefined) return undefined;
    packets.push(packet);
    at = end;
  }
  return packets;
}

/** Where the packet at `at` ends by its own length; undefined when that is no packet or not there. */
function endOfPacket(bytes: Uint8Array, at: number): number | undefined {
  if (at + 4 > bytes.length || (bytes[at]! & 0xc0) !== 0x80) return undefined;
  const end = at + 4 + ((bytes[at + 2]! << 8) | bytes[at + 3]!) * 4;
  return end <= bytes.length ? end : undefined;
}

/** Only the last packet may be padded, by a multiple of four bytes that leaves its header; undefined otherwise. */
function paddingOf(bytes: Uint8Array, at: number, end: number): number | undefined {
  if ((bytes[at]! & 0x20) === 0) return 0;
  const padding = bytes[end - 1]!;
  const allowed = end === bytes.length && padding > 0 && padding % 4 === 0 && end - padding >= at + 4;
  return allowed ? padding : undefined;
}

function parseOne(bytes: Uint8Array, at: number, end: number): RtcpPacket | undefined {
  const count = bytes[at]! & 0x1f;
  const type = bytes[at + 1]!;
  if (type === SR) return parseSenderReport(bytes, at, end, count);
  if (type === RR) {
    const reports = parseBlocks(bytes, at + 8, end, count);
    return reports && { kind: 'rr', ssrc: readUint32(bytes, at + 4), reports };
  }
  if (type === SDES) return parseSdes(bytes, at + 4, end, count);
  if (type === BYE) return parseBye(bytes, at + 4, end, count);
  return { kind: 'other', type };
}

function parseSenderReport(bytes: Uint8Array, at: number, end: number, count: number): RtcpPacket | undefined {
  const reports = parseBlocks(bytes, at + 28, end, count);
  return reports && {
    kind: 'sr',
    ssrc: readUint32(bytes, at + 4),
    ntpSeconds: readUint32(bytes, at + 8),
    ntpFraction: readUint32(bytes, at + 12),
    rtpTimestamp: readUint32(bytes, at + 16),
    packetCount: readUint32(bytes, at + 20),
    octetCount: readUint32(bytes, at + 24),
    reports,
  };
}

function parseBlocks(bytes: Uint8Array, from: number, end: number, count: number): ReportBlock[] | undefined {
  if (from + count * BLOCK_BYTES > end) return undefined;
  return Array.from({ length: count }, (_, i) => {
    const at = from + i * BLOCK_BYTES;
    return {
      ssrc: readUint32(bytes, at),
      fractionLost: bytes[at + 4]!,
      cumulativeLost: (readUint32(bytes, at + 4) << 8) >> 8,
      highestSequence: readUint32(bytes, at + 8),
      jitter: readUint32(bytes, at + 12),
      lastSr: readUint32(bytes, at + 16),
      delaySinceLastSr: readUint32(bytes, at + 20),
    };
  });
}

function parseSdes(bytes: Uint8Array, from: number, end: number, count: number): RtcpPacket | undefined {
  const chunks: { ssrc: number; cname: string }[] = [];
  let at = from;
  for (let i = 0; i < count; i++) {
    if (at + 4 > end) return undefined;
    const chunk = { ssrc: readUint32(bytes, at), cname: '' };
    at += 4;
    for (; at < end && bytes[at] !== 0; at += 2 + bytes[at + 1]!) {
      if (at + 2 > end || at + 2 + bytes[at + 1]! > end) return undefined;
      if (bytes[at] === CNAME) chunk.cname = decodeText(bytes, at + 2, at + 2 + bytes[at + 1]!);
    }
    // Items end with a zero byte, then zeros to the next 32-bit boundary (RFC 3550 6.5).
    at += 4 - ((at - from) % 4);
    chunks.push(chunk);
  }
  return at <= end ? { kind: 'sdes', chunks } : undefined;
}

function parseBye(bytes: Uint8Array, from: number, end: number, count: number): RtcpPacket | undefined {
  const reasonAt = from + count * 4;
  if (reasonAt > end) return undefined;
  const ssrcs = Array.from({ length: count }, (_, i) => readUint32(bytes, from + i * 4));
  if (reasonAt === end) return { kind: 'bye', ssrcs, reason: '' };
  const reasonEnd = reasonAt + 1 + bytes[reasonAt]!;
  return reasonEnd <= end ? { kind: 'bye', ssrcs, reason: decodeText(bytes, reasonAt + 1, reasonEnd) } : undefined;
}

function decodeText(bytes: Uint8Array, from: number, to: number): string {
  return new TextDecoder().decode(bytes.subarray(from, to));
}

/** Builds a compound packet in a new buffer. At most 31 reports, chunks or sources each; texts are cut at 255 bytes. */
export function buildRtcp(packets: RtcpPacket[]): Uint8Array {
  const parts = packets.map(buildOne);
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function buildOne(packet: RtcpPacket): Uint8Array {
  switch (packet.kind) {
    case 'sr': {
      const out = start(SR, packet.reports.length, 28 + packet.reports.length * BLOCK_BYTES);
      const { ssrc, ntpSeconds, ntpFraction, rtpTimestamp, packetCount, octetCount } = packet;
      [ssrc, ntpSeconds, ntpFraction, rtpTimestamp, packetCount, octetCount].forEach((value, i) => writeUint32(out, 4 + i * 4, value));
      writeBlocks(out, 28, packet.reports);
      return out;
    }
    case 'rr': {
      const out = start(RR, packet.reports.length, 8 + packet.reports.length * BLOCK_BYTES);
      writeUint32(out, 4, packet.ssrc);
      writeBlocks(out, 8, packet.reports);
      return out;
    }
    case 'sdes':
      return buildSdes(packet.chunks);
    case 'bye': {
      const reason = encodeText(packet.reason);
      const out = start(BYE, packet.ssrcs.length, 4 + packet.ssrcs.length * 4 + (reason.length > 0 ? roundUp4(1 + reason.length) : 0));
      packet.ssrcs.forEach((ssrc, i) => writeUint32(out, 4 + i * 4, ssrc));
      if (reason.length > 0) {
        out[4 + packet.ssrcs.length * 4] = reason.length;
        out.set(reason, 5 + packet.ssrcs.length * 4);
      }
      return out;
    }
    case 'other':
      return start(packet.type, 0, 8);
  }
}

function buildSdes(chunks: { ssrc: number; cname: string }[]): Uint8Array {
  const names = chunks.map((chunk) => encodeText(chunk.cname));
  const out = start(SDES, chunks.length, 4 + names.reduce((sum, name) => sum + 4 + roundUp4(2 + name.length + 1), 0));
  let at = 4;
  chunks.forEach((chunk, i) => {
    const name = names[i]!;
    writeUint32(out, at, chunk.ssrc);
    out[at + 4] = CNAME;
    out[at + 5] = name.length;
    out.set(name, at + 6);
    at += 4 + roundUp4(2 + name.length + 1);
  });
  return out;
}

function writeBlocks(out: Uint8Array, from: number, reports: ReportBlock[]): void {
  reports.forEach((report, i) => {
    const at = from + i * BLOCK_BYTES;
    writeUint32(out, at, report.ssrc);
    writeUint32(out, at + 4, ((report.fractionLost << 24) | (report.cumulativeLost & 0xffffff)) >>> 0);
    writeUint32(out, at + 8, report.highestSequence);
    writeUint32(out, at + 12, report.jitter);
    writeUint32(out, at + 16, report.lastSr);
    writeUint32(out, at + 20, report.delaySinceLastSr);
  });
}

function start(type: number, count: number, bytes: number): Uint8Array {
  const out = new Uint8Array(bytes);
  out[0] = 0x80 | count;
  out[1] = type;
  out[2] = (bytes / 4 - 1) >>> 8;
  out[3] = bytes / 4 - 1;
  return out;
}

function encodeText(text: string): Uint8Array {
  return new TextEncoder().encode(text).subarray(0, 255);
}

const roundUp4 = (bytes: number): number => Math.ceil(bytes / 4) * 4;
