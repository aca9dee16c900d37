/** Offer and answer of one audio stream (RFC 3264), PCMU or PCMA with telephone-event (RFC 4733). */
import { isIP } from 'node:net';
import sdpTransform, { type SdpMedia } from 'sdp-transform';
import { parseSdp, type Direction, type MediaSection, type PayloadFormat } from './session-description.ts';

export type Codec = 'PCMU' | 'PCMA';

/** Our side of the stream. */
export interface LocalMedia {
  /** Where the peer shall send RTP: an IP address, and a port. */
  readonly address: string;
  readonly port: number;
  /** Digits: the same for the whole dialog (RFC 8866 section 5.2). */
  readonly sessionId: string;
  /** Grows by one with every description that differs from the last; `SdpNegotiation` counts. */
  readonly version: number;
  readonly codecs: readonly Codec[];
}

export interface AnswerMedia {
  readonly codec: Codec;
  readonly payloadType: number;
  /** What telephone events come in with; absent: the peer has none. */
  readonly telephoneEventPayloadType?: number;
  /** What we send in a packet. */
  readonly ptimeMs: number;
  readonly remote: { readonly address: string; readonly port: number; readonly rtcpPort?: number };
  /** Ours: `recvonly` and `inactive` while the peer holds us. */
  readonly direction: Direction;
}

export type SdpRefusal = { readonly ok: false; readonly status: 488; readonly reason: string };
export type SdpAnswer = { readonly ok: true; readonly sdp: string; readonly media: AnswerMedia } | SdpRefusal;
export type SdpReading = { readonly ok: true; readonly media: AnswerMedia } | SdpRefusal;

const REVERSED: Record<Direction, Direction> = { sendrecv: 'sendrecv', sendonly: 'recvonly', recvonly: 'sendonly', inactive: 'inactive' };
const STATIC_TYPES: Record<Codec, number> = { PCMU: 0, PCMA: 8 };
/** Our own dynamic payload type for telephone-event, the customary one. */
const TELEPHONE_EVENT_TYPE = 101;
const CLOCK_RATE = 8000;
const FRAME_MS = 20;
const MAX_PTIME_MS = 60;

function refuse(reason: string): SdpRefusal {
  return { ok: false, status: 488, reason };
}

/**
 * Answers an offer (RFC 3264 section 6): the first plain RTP audio stream with one of our codecs, in
 * the offerer's order; every other stream is declined with port 0. `reason` is for a log, not for the wire.
 * Throws TypeError if `local` could not stand in SDP.
 */
export function answerOffer(offer: string, local: LocalMedia): SdpAnswer {
  const parsed = parseSdp(offer);
  if (!parsed.ok) return refuse(parsed.reason);
  const { sections, timing } = parsed.description;
  const reasons: string[] = [];
  for (const [index, section] of sections.entries()) {
    const media = negotiate(section, local);
    if (typeof media === 'string') {
      reasons.push(media);
      continue;
    }
    const answered = sections.map((other, at) => (at === index ? acceptedLine(media, section.protocol, local.port) : declinedLine(other)));
    return { ok: true, sdp: write(local, timing, answered), media };
  }
  return refuse(reasons.join('; '));
}

/**
 * Our offer, for a caller that sent none (RFC 3261 section 13.2.1). `previous`: our last description in the
 * same dialog, whose media lines keep their places (RFC 3264 section 8). Throws TypeError if `local` could not stand in SDP.
 */
export function makeOffer(local: LocalMedia, previous?: string): string {
  const payloads = [...local.codecs.map((codec) => STATIC_TYPES[codec]), TELEPHONE_EVENT_TYPE];
  const line: SdpMedia = {
    type: 'audio',
    port: local.port,
    protocol: 'RTP/AVP',
    payloads: payloads.join(' '),
    rtp: [...local.codecs.map((codec) => ({ payload: STATIC_TYPES[codec], codec, rate: CLOCK_RATE })), { payload: TELEPHONE_EVENT_TYPE, codec: 'telephone-event', rate: CLOCK_RATE }],
    fmtp: [{ payload: TELEPHONE_EVENT_TYPE, config: '0-15' }],
    ptime: FRAME_MS,
    direction: 'sendrecv',
  };
  const before = previous === undefined ? undefined : parseSdp(previous);
  const lines = before?.ok ? before.description.sections.map((section) => (section.port === 0 ? declinedLine(section) : line)) : [line];
  return write(local, { start: 0, stop: 0 }, lines);
}

/** Reads the answer to `makeOffer(local)`. A declined stream or a codec we did not offer is a refusal: end the call. */
export function readAnswer(answer: string, local: LocalMedia): SdpReading {
  const parsed = parseSdp(answer);
  if (!parsed.ok) return refuse(parsed.reason);
  const reasons: string[] = [];
  for (const section of parsed.description.sections) {
    const media = negotiate(section, local);
    if (typeof media === 'string') {
      reasons.push(media);
      continue;
    }
    // The peer sends events with the type of our offer, whatever it wants itself.
    const events = media.telephoneEventPayloadType === undefined ? {} : { telephoneEventPayloadType: TELEPHONE_EVENT_TYPE };
    return { ok: true, media: { ...media, ...events } };
  }
  return refuse(reasons.join('; '));
}

/** What a media section and we have in common, or why there is nothing. */
function negotiate(section: MediaSection, local: LocalMedia): AnswerMedia | string {
  const problem = unusable(section, local);
  if (problem !== undefined) return problem;
  const payload = section.payloads.find((candidate) => speech(candidate) && local.codecs.includes(candidate.encoding as Codec));
  if (payload === undefined) return `none of ${local.codecs.join(', ')} among ${section.formats.join(' ')}`;
  const events = section.payloads.find((candidate) => candidate.encoding === 'TELEPHONE-EVENT' && candidate.clockRate === CLOCK_RATE);
  const address = section.address!;
  return {
    codec: payload.encoding as Codec,
    payloadType: payload.payloadType,
    ...(events === undefined ? {} : { telephoneEventPayloadType: events.payloadType }),
    ptimeMs: packetTime(section),
    remote: { address, port: section.port, ...(section.rtcpPort === undefined ? {} : { rtcpPort: section.rtcpPort }) },
    direction: ourDirection(section.direction, address),
  };
}

function unusable(section: MediaSection, local: LocalMedia): string | undefined {
  if (section.kind !== 'audio') return `${section.kind} is not audio`;
  if (section.port === 0) return 'the audio stream is switched off';
  if (section.protocol !== 'RTP/AVP') return `${section.protocol} is not RTP/AVP`;
  if (section.address === undefined) return 'no IP address to send audio to';
  if (isIP(section.address) !== isIP(local.address)) return `${section.address} cannot be reached from ${local.address}: another IP version`;
  return undefined;
}

function speech(payload: PayloadFormat): boolean {
  return payload.clockRate === CLOCK_RATE && payload.channels === 1 && (payload.encoding === 'PCMU' || payload.encoding === 'PCMA');
}

/** Whole frames up to the peer's wish, never above its maxptime; ptime is a wish (RFC 8866 section 6.4). */
function packetTime(section: MediaSection): number {
  const wished = Math.min(section.ptimeMs ?? FRAME_MS, MAX_PTIME_MS);
  const most = section.maxPtimeMs ?? MAX_PTIME_MS;
  if (most < FRAME_MS) return FRAME_MS / 2;
  return Math.max(FRAME_MS, Math.floor(Math.min(wished, most) / FRAME_MS) * FRAME_MS);
}

/** The mirror of theirs; an unspecified address is the hold of RFC 2543: nothing may be sent (RFC 3264 section 8.4). */
function ourDirection(theirs: Direction, address: string): Direction {
  const ours = REVERSED[theirs];
  if (address !== '0.0.0.0' && address !== '::') return ours;
  return ours === 'sendrecv' || ours === 'recvonly' ? 'recvonly' : 'inactive';
}

function acceptedLine(media: AnswerMedia, protocol: string, port: number): SdpMedia {
  const events = media.telephoneEventPayloadType;
  return {
    type: 'audio',
    port,
    protocol,
    payloads: events === undefined ? String(media.payloadType) : `${media.payloadType} ${events}`,
    rtp: [{ payload: media.payloadType, codec: media.codec, rate: CLOCK_RATE }, ...(events === undefined ? [] : [{ payload: events, codec: 'telephone-event', rate: CLOCK_RATE }])],
    fmtp: events === undefined ? [] : [{ payload: events, config: '0-15' }],
    ptime: media.ptimeMs,
    direction: media.direction,
  };
}

function declinedLine(section: MediaSection): SdpMedia {
  return { type: section.kind, port: 0, protocol: section.protocol, payloads: section.formats.join(' '), rtp: [], fmtp: [] };
}

function write(local: LocalMedia, timing: { start: number; stop: number }, media: SdpMedia[]): string {
  const version = isIP(local.address);
  if (version === 0) throw new TypeError(`"${local.address}" is not an IP address; SDP needs one`);
  if (!/^\d{1,19}$/.test(local.sessionId)) throw new TypeError(`the SDP session id "${local.sessionId}" must be 1 to 19 digits`);
  return sdpTransform.write({
    version: 0,
    origin: { username: '-', sessionId: local.sessionId, sessionVersion: local.version, netType: 'IN', ipVer: version, address: local.address },
    name: '-',
    connection: { version, ip: local.address },
    timing,
    media,
  });
}
