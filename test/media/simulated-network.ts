/** A peer that sends G.711 packets over a bad network to a jitter buffer, and a listener on a 20 ms tick; all on one clock. */
import { JitterBuffer } from '../../media/rtp/jitter-buffer.ts';
import { emptyRtpPacket, type RtpPacket } from '../../media/rtp/packet.ts';

export interface SentPacket { sequence: number; timestamp: number; ssrc?: number; marker?: boolean; payload: Uint8Array; sentAt: number; sound?: boolean }
export interface Arrival { at: number; packet: SentPacket }
export interface Heard { at: number; kind: 'media' | 'conceal'; /** The frame's number in its payload. */ number: number }

/** Deterministic random numbers in [0, 1) (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** 20 ms payload that carries its own number (24 bits) and is otherwise constant. */
export function numbered(number: number): Uint8Array {
  const payload = new Uint8Array(160).fill(0x55);
  payload.set([number >>> 16, number >>> 8, number]);
  return payload;
}

const numberIn = (payload: Uint8Array): number => (payload[0]! << 16) | (payload[1]! << 8) | payload[2]!;

/** `count` packets of `ptimeMs`, one every `ptimeMs` of the sender's clock, which runs `ppm` faster than ours. */
export function stream(count: number, options: { ptimeMs?: number; ppm?: number; firstSequence?: number; firstTimestamp?: number; startAt?: number } = {}): SentPacket[] {
  const { ptimeMs = 20, ppm = 0, firstSequence = 65_530, firstTimestamp = 2 ** 32 - 1600, startAt = 0 } = options;
  const units = ptimeMs * 8;
  const frames = Math.ceil((count * ptimeMs) / 20);
  const bytes = new Uint8Array(frames * 160);
  for (let i = 0; i < frames; i++) bytes.set(numbered(i), i * 160);
  return Array.from({ length: count }, (_, i) => ({
    sequence: (firstSequence + i) & 0xffff,
    timestamp: (firstTimestamp + i * units) >>> 0,
    payload: bytes.slice(i * units, (i + 1) * units),
    sentAt: startAt + (i * ptimeMs) / (1 + ppm / 1e6),
  }));
}

/** Each packet arrives `delay(i)` after it was sent; undefined loses it. */
export function deliver(packets: SentPacket[], delay: (index: number) => number | undefined): Arrival[] {
  const arrivals: Arrival[] = [];
  packets.forEach((packet, i) => {
    const ms = delay(i);
    if (ms !== undefined) arrivals.push({ at: packet.sentAt + ms, packet });
  });
  return arrivals.sort((a, b) => a.at - b.at);
}

/** Feeds the arrivals, reading on each arrival and on every 20 ms tick until `endAt`, and returns what was heard. */
export function listen(jitter: JitterBuffer, arrivals: Arrival[], endAt: number, options: { from?: number; stall?: { from: number; to: number } } = {}): Heard[] {
  const heard: Heard[] = [];
  const { from = 0, stall } = options;
  const parsed: RtpPacket = emptyRtpPacket();
  let next = 0;
  const drain = (now: number): void => {
    for (let kind = jitter.read(now); kind !== undefined; kind = jitter.read(now)) {
      heard.push({ at: now, kind, number: kind === 'media' ? numberIn(jitter.frame) : -1 });
    }
  };
  const awake = (at: number): number => (stall && at >= stall.from && at < stall.to ? stall.to : at);
  for (let tick = from; tick <= endAt; tick += 20) {
    for (; next < arrivals.length && arrivals[next]!.at <= tick; next++) {
      const { at, packet } = arrivals[next]!;
      const now = awake(at);
      Object.assign(parsed, { marker: packet.marker ?? false, payloadType: 0, sequence: packet.sequence, timestamp: packet.timestamp, ssrc: packet.ssrc ?? 7, payloadStart: 0, payloadEnd: packet.payload.length });
      jitter.insert(parsed, packet.payload, now, packet.sound ?? true);
      drain(now);
    }
    if (awake(tick) === tick) drain(tick);
  }
  return heard;
}

export const media = (heard: Heard[]): number[] => heard.filter((frame) => frame.kind === 'media').map((frame) => frame.number);
