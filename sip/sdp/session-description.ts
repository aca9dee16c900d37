/** SDP text to what the offer/answer rules need (RFC 8866), refusing what is not SDP. */
import { isIP } from 'node:net';
import sdpTransform, { type SdpMedia, type SdpSession } from 'sdp-transform';

export type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';

export interface PayloadFormat {
  readonly payloadType: number;
  /** Upper case: `PCMU`, `TELEPHONE-EVENT`. */
  readonly encoding: string;
  readonly clockRate: number;
  readonly channels: number;
}

export interface MediaSection {
  /** `audio`, `video`, `image`… */
  readonly kind: string;
  readonly port: number;
  /** `RTP/AVP`, `RTP/SAVP`, `udptl`… */
  readonly protocol: string;
  /** The formats as written. */
  readonly formats: readonly string[];
  /** Those of the formats whose encoding is known, in order. */
  readonly payloads: readonly PayloadFormat[];
  /** An IP address; undefined: none, a host name or a multicast address with TTL. */
  readonly address: string | undefined;
  readonly direction: Direction;
  readonly ptimeMs: number | undefined;
  readonly maxPtimeMs: number | undefined;
  readonly rtcpPort: number | undefined;
}

export interface SessionDescription {
  readonly timing: { readonly start: number; readonly stop: number };
  readonly sections: readonly MediaSection[];
}

export type ParsedSdp = { readonly ok: true; readonly description: SessionDescription } | { readonly ok: false; readonly reason: string };

const MAX_CHARACTERS = 16_384;
const MAX_LINES = 512;
const MAX_SECTIONS = 16;
const MAX_FORMATS = 64;

/** Static assignments of RFC 3551 that a voice gateway may be offered without rtpmap. */
const STATIC: ReadonlyMap<number, { encoding: string; clockRate: number }> = new Map([
  [0, { encoding: 'PCMU', clockRate: 8000 }], [3, { encoding: 'GSM', clockRate: 8000 }], [4, { encoding: 'G723', clockRate: 8000 }],
  [8, { encoding: 'PCMA', clockRate: 8000 }], [9, { encoding: 'G722', clockRate: 8000 }], [13, { encoding: 'CN', clockRate: 8000 }], [18, { encoding: 'G729', clockRate: 8000 }],
]);

interface MediaLine {
  readonly kind: string;
  readonly port: number;
  readonly protocol: string;
  readonly formats: string[];
}

/** Parses a session description. Never throws; `reason` says what is wrong with the text. */
export function parseSdp(text: string): ParsedSdp {
  if (text.length > MAX_CHARACTERS) return { ok: false, reason: `SDP of ${text.length} characters, at most ${MAX_CHARACTERS}` };
  const lines = text.split(/\r\n|\n|\r/).filter((line) => line !== '');
  const problem = checkLines(lines);
  if (problem !== undefined) return { ok: false, reason: problem };
  const mediaLines: MediaLine[] = [];
  for (const line of lines.filter((candidate) => candidate.startsWith('m='))) {
    const media = parseMediaLine(line);
    if (media === undefined) return { ok: false, reason: `bad media line "${line.slice(0, 60)}"` };
    mediaLines.push(media);
  }
  const session = sdpTransform.parse(text);
  const timing = /^t=(\d{1,15}) (\d{1,15})$/.exec(lines.find((line) => line.startsWith('t=')) ?? 't=0 0');
  if (timing === null) return { ok: false, reason: 'bad t= line' };
  const sections = mediaLines.map((line, index) => readSection(line, session.media[index], session));
  return { ok: true, description: { timing: { start: Number(timing[1]), stop: Number(timing[2]) }, sections } };
}

function checkLines(lines: string[]): string | undefined {
  if (lines.length > MAX_LINES) return `${lines.length} lines, at most ${MAX_LINES}`;
  if (lines[0] !== 'v=0') return 'SDP does not begin with v=0';
  const bad = lines.find((line) => !/^[a-z]=[^\0]*$/.test(line));
  if (bad !== undefined) return `not an SDP line: "${bad.slice(0, 60).replace(/[^\x20-\x7e]/g, '.')}"`;
  const origin = lines.filter((line) => line.startsWith('o='));
  if (origin.length !== 1 || !/^o=\S+ \d+ \d+ IN IP[46] \S+$/.test(origin[0]!.trimEnd())) return 'no usable o= line';
  const sections = lines.filter((line) => line.startsWith('m=')).length;
  if (sections === 0) return 'no media line';
  return sections > MAX_SECTIONS ? `${sections} media lines, at most ${MAX_SECTIONS}` : undefined;
}

function parseMediaLine(line: string): MediaLine | undefined {
  const match = /^m=([\w!#$%&'*+.^`{|}~-]+) (\d{1,5})(?:\/\d{1,3})? ([\w/.-]+) (\S+(?: \S+)*) *$/.exec(line);
  if (match === null) return undefined;
  const [, kind = '', port = '', protocol = '', formats = ''] = match;
  const list = formats.split(' ');
  if (Number(port) > 65_535 || list.length > MAX_FORMATS) return undefined;
  return { kind: kind.toLowerCase(), port: Number(port), protocol: protocol.toUpperCase() === 'UDPTL' ? protocol : protocol.toUpperCase(), formats: list };
}

function readSection(line: MediaLine, media: SdpMedia | undefined, session: SdpSession): MediaSection {
  return {
    ...line,
    payloads: line.formats.flatMap((format) => readPayload(format, media)),
    address: ipAddress(media?.connection ?? session.connection),
    direction: direction(media?.direction) ?? direction(session.direction) ?? 'sendrecv',
    ptimeMs: milliseconds(media?.ptime ?? session.ptime),
    maxPtimeMs: milliseconds(media?.maxptime ?? session.maxptime),
    rtcpPort: portNumber(media?.rtcp?.port),
  };
}

function ipAddress(connection: SdpSession['connection']): string | undefined {
  if (connection === undefined) return undefined;
  const address = String(connection.ip);
  return isIP(address) === Number(connection.version) ? address : undefined;
}

function readPayload(format: string, media: SdpMedia | undefined): PayloadFormat[] {
  const payloadType = Number(format);
  if (!/^\d{1,3}$/.test(format) || payloadType > 127) return [];
  const mapped = media?.rtp.find((entry) => Number(entry.payload) === payloadType);
  if (mapped !== undefined) {
    return [{ payloadType, encoding: String(mapped.codec).toUpperCase(), clockRate: Number(mapped.rate ?? 0), channels: Number(mapped.encoding ?? 1) }];
  }
  const fixed = STATIC.get(payloadType);
  return fixed === undefined ? [] : [{ payloadType, ...fixed, channels: 1 }];
}

function direction(value: string | undefined): Direction | undefined {
  return value === 'sendrecv' || value === 'sendonly' || value === 'recvonly' || value === 'inactive' ? value : undefined;
}

function milliseconds(value: number | string | undefined): number | undefined {
  const ms = Number(value);
  return value !== undefined && Number.isFinite(ms) && ms > 0 && ms <= 10_000 ? ms : undefined;
}

function portNumber(value: number | string | undefined): number | undefined {
  const port = Number(value);
  return value !== undefined && Number.isInteger(port) && port > 0 && port <= 65_535 ? port : undefined;
}
