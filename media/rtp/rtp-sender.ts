/** The outgoing half of a call's RTP stream: 16 kHz frames in, G.711 packets out, one continuous sequence and timestamp. */
import { randomInt } from 'node:crypto';
import { encodeG711, type G711Codec } from '../codec/g711.ts';
import { HalfBandDown } from '../half-band.ts';
import { DtmfSender } from './dtmf-sender.ts';
import { buildRtp, RTP_HEADER_BYTES, writeRtpHeader, type RtpHeader } from './packet.ts';

const UNITS_PER_MS = 8;
const FRAME_MS = 20;
const FRAME_UNITS = FRAME_MS * UNITS_PER_MS;
/** A full socket keeps a packet's buffer for a moment: it is written again only after this many others. */
const BUFFERS = 8;
/** A 20 ms frame completes two packets at most; whoever never flushes still sends. */
const MAX_READY = 4;
/** A break in writing this long is a pause: timestamps follow wall time and the next packet is marked. */
const PAUSE_MS = 300;

export interface SendFormat { codec: G711Codec; payloadType: number; telephoneEventPayloadType?: number; ptimeMs: number }

export class RtpSender {
  readonly #send: (packet: Uint8Array) => void;
  readonly #down = new HalfBandDown();
  readonly #pcm = new Int16Array(FRAME_UNITS);
  readonly #header: RtpHeader;
  #codec: G711Codec = 'PCMU';
  #buffers: Uint8Array[] = [];
  #turn = 0;
  /** Packets built and not yet sent. */
  #ready = 0;
  /** Payload bytes already in the packet being filled. */
  #filled = 0;
  #payloadBytes = FRAME_UNITS;
  #paused = false;
  #lastWriteAt: number | undefined;
  #keyPayloadType: number | undefined;
  #keys: DtmfSender | undefined;
  #keyTimestamp = 0;
  #packets = 0;
  #octets = 0;

  constructor(format: SendFormat, send: (packet: Uint8Array) => void) {
    this.#send = send;
    this.#header = { marker: true, payloadType: format.payloadType, sequence: randomInt(1 << 16), timestamp: randomInt(2 ** 32), ssrc: randomInt(1, 2 ** 32) };
    this.configure(format);
  }

  get ssrc(): number {
    return this.#header.ssrc;
  }

  /** Packets and payload bytes sent under the present SSRC. */
  get sent(): { packets: number; octets: number } {
    return { packets: this.#packets, octets: this.#octets };
  }

  /** Timestamp of the packet being filled: what a sender report calls now. */
  get timestamp(): number {
    return this.#header.timestamp;
  }

  /** Sets the format from the next packet on; what has not filled a packet is dropped. `ptimeMs` is 10 to 120, a multiple of 10. */
  configure(format: SendFormat): void {
    this.flush();
    if (!Number.isInteger(format.ptimeMs / 10) || format.ptimeMs < 10 || format.ptimeMs > 120) {
      throw new RangeError(`Packet time ${format.ptimeMs} ms cannot be sent: give a multiple of 10 from 10 to 120`);
    }
    this.#codec = format.codec;
    this.#header.payloadType = format.payloadType;
    this.#payloadBytes = format.ptimeMs * UNITS_PER_MS;
    this.#keyPayloadType = format.telephoneEventPayloadType;
    if (this.#keyPayloadType === undefined) this.#keys = undefined;
    this.#buffers = Array.from({ length: BUFFERS }, () => new Uint8Array(RTP_HEADER_BYTES + this.#payloadBytes));
    this.#filled = 0;
  }

  /** While paused nothing is sent and time goes on; the first packet after it is marked as the start of a talkspurt. */
  setPaused(paused: boolean): void {
    this.#paused = paused;
  }

  /** Sends keys (`DtmfSender.press`) in place of sound. Undefined: the peer takes none. False: too many wait. */
  press(digits: string): boolean | undefined {
    if (this.#keyPayloadType === undefined) return undefined;
    if (digits === '') return true;
    this.#keys ??= new DtmfSender();
    return this.#keys.press(digits);
  }

  /** Encodes the next 20 ms; `flush` sends every packet that it completed. */
  encode(frame: Int16Array, nowMs: number): void {
    const idleMs = nowMs - (this.#lastWriteAt ?? nowMs);
    this.#lastWriteAt = nowMs;
    if (idleMs > PAUSE_MS) this.#skip(Math.round(idleMs / FRAME_MS - 1) * FRAME_UNITS);
    this.#down.process(frame, this.#pcm);
    if (this.#paused) {
      this.#skip(FRAME_UNITS);
      return;
    }
    if (this.#keys !== undefined && this.#sendKey(this.#keys)) return;
    for (let from = 0; from < FRAME_UNITS; ) {
      const count = Math.min(FRAME_UNITS - from, this.#payloadBytes - this.#filled);
      const packet = this.#buffers[this.#turn]!;
      encodeG711(this.#codec, this.#pcm, from, from + count, packet, RTP_HEADER_BYTES + this.#filled);
      from += count;
      this.#filled += count;
      if (this.#filled === this.#payloadBytes) this.#finish(packet);
    }
  }

  /** Sends what is ready. */
  flush(): void {
    for (; this.#ready > 0; this.#ready--) this.#send(this.#buffers[(this.#turn + BUFFERS - this.#ready) % BUFFERS]!);
  }

  /** Takes another SSRC after a collision (RFC 3550 8.2); sequence and timestamps go on. */
  changeSsrc(): void {
    this.#header.ssrc = randomInt(1, 2 ** 32);
    this.#packets = 0;
    this.#octets = 0;
  }

  #finish(packet: Uint8Array): void {
    writeRtpHeader(packet, this.#header);
    this.#header.marker = false;
    this.#header.sequence = (this.#header.sequence + 1) & 0xffff;
    this.#header.timestamp = (this.#header.timestamp + this.#payloadBytes) >>> 0;
    this.#filled = 0;
    this.#turn = (this.#turn + 1) % BUFFERS;
    this.#packets++;
    this.#octets += this.#payloadBytes;
    if (++this.#ready === MAX_READY) this.flush();
  }

  /** Puts a key's packet in place of this frame's sound; false when no key sounds. */
  #sendKey(keys: DtmfSender): boolean {
    const key = keys.next();
    if (key === undefined) return false;
    this.flush();
    if (key.first) {
      this.#skip(0);
      this.#keyTimestamp = this.#header.timestamp;
    }
    this.#send(buildRtp({ ...this.#header, marker: key.first, payloadType: this.#keyPayloadType ?? 0, timestamp: this.#keyTimestamp }, key.payload));
    this.#header.sequence = (this.#header.sequence + 1) & 0xffff;
    this.#packets++;
    this.#octets += key.payload.length;
    this.#skip(FRAME_UNITS);
    return true;
  }

  #skip(units: number): void {
    this.#header.timestamp = (this.#header.timestamp + this.#filled + units) >>> 0;
    this.#header.marker = true;
    this.#filled = 0;
  }
}
