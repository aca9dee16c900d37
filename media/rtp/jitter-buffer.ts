/**
 * Puts a call's packets in order for a listener that hears on arrival: the next packet is readable at once, a hole is waited
 * for only as long as the network's jitter makes it worth while, and time that passes without sound is filled, so that the
 * listener gets one 20 ms frame per 20 ms of wall time whatever the network, the peer's packet time or its clock do.
 *
 * Two clocks meet here. `#anchor` and `#heard` are wall time: frame n is due at anchor + 20 n. `#expected` is the RTP timestamp
 * that belongs to the next frame. Filling moves both on; sound that arrives after its time was filled is still heard as long as
 * the listener does not run ahead of wall time by more than a frame or two, else it is dropped.
 *
 * One payload byte is one sample (G.711).
 */
import { sequenceDistance, timestampDistance, type RtpPacket } from './packet.ts';
import { TransitJitter } from './transit-jitter.ts';

const FRAME_MS = 20;
const UNITS_PER_MS = 8;
/** Bytes, samples and timestamp units in a frame. */
const FRAME_UNITS = FRAME_MS * UNITS_PER_MS;
const SLOTS = 32;
/** Longest payload taken: 120 ms. */
const SLOT_BYTES = 960;
/** Missing sequence numbers that still are one stream (RFC 3550 A.1). */
const MAX_DROPOUT = 3000;
/** Packets this far behind are late; farther ones belong to a restarted stream. */
const MAX_MISORDER = 100;
const SEEN = 128;
/** Consecutive late packets after which the stream is taken to have restarted: without this it would stay deaf. */
const LATE_RESYNC = 5;
/** How far the listener may run ahead of wall time before a quiet frame, and any frame, is dropped. */
const AHEAD_QUIET_MS = 20;
const AHEAD_MS = 40;
/** Holes longer than this are a jump of the sender's clock or a pause, not a loss to conceal before going on. */
const MAX_HOLE_FRAMES = 10;
/** A reader away this long was stalled: what waits in the socket must be heard before anything is filled. */
const STALL_MS = 60;
const AFTER_STALL_MS = 10;
/** Fills owed beyond this are forgotten. */
const MAX_DEBT_MS = 1000;
/** A resumed stream first makes good fills owed beyond this. */
const RESUME_DEBT_MS = 5;
/** Concealed frames counted per loss; what is longer is a pause. */
const COUNTED_RUN = 10;

export type FrameKind = 'media' | 'conceal';

export interface JitterBufferOptions {
  /** Whether payload bytes [from, to) are near silence: such a frame is dropped first when the listener runs ahead. */
  isQuiet?: (payload: Uint8Array, from: number, to: number) => boolean;
}

export class JitterBuffer {
  /** The payload of the last 'media' frame; valid until the next read. */
  readonly frame = new Uint8Array(FRAME_UNITS);
  readonly #isQuiet: (payload: Uint8Array, from: number, to: number) => boolean;
  readonly #jitter = new TransitJitter();
  readonly #payloads = new Uint8Array(SLOTS * SLOT_BYTES);
  /** Sequence number in each slot, -1 when free; length 0 is a packet that carries no sound. */
  readonly #sequences = new Int32Array(SLOTS).fill(-1);
  readonly #lengths = new Int32Array(SLOTS);
  readonly #timestamps = new Float64Array(SLOTS);
  /** Sequence numbers and timestamps received last, to tell duplicates from late packets and restarts. */
  readonly #seen = new Int32Array(SEEN).fill(-1);
  readonly #seenTimestamps = new Float64Array(SEEN);
  #waiting = 0;
  #ssrc = -1;
  #next = 0;
  /** Bytes of the next packet already used, and bytes already in `frame`. */
  #used = 0;
  #gathered = 0;
  #expected = 0;
  #packetUnits = FRAME_UNITS;
  /** NaN before the first packet or read. */
  #anchor = Number.NaN;
  #heard = 0;
  #lastReadAt = 0;
  #fillFrom = -Infinity;
  #fillRun = 0;
  #lateRun = 0;
  #lateNext = -1;
  /** What the next packet of a stream that may be replacing this one must carry (RFC 3550 A.1: two in sequence). */
  #candidateSsrc = -1;
  #candidateNext = -1;
  #late = 0;
  #duplicates = 0;
  #dropped = 0;
  #concealed = 0;
  #resyncs = 0;

  constructor(options: JitterBufferOptions = {}) {
    this.#isQuiet = options.isQuiet ?? (() => false);
  }

  get jitterMs(): number {
    return this.#jitter.jitterMs;
  }

  /** How long a missing packet is waited for past its time. */
  get waitMs(): number {
    return this.#jitter.waitMs;
  }

  /** `droppedFrames` were left out to keep step with wall time; `concealedMs` leaves out pauses. */
  get stats(): { latePackets: number; duplicates: number; droppedFrames: number; concealedMs: number; resyncs: number } {
    return { latePackets: this.#late, duplicates: this.#duplicates, droppedFrames: this.#dropped, concealedMs: this.#concealed * FRAME_MS, resyncs: this.#resyncs };
  }

  /**
   * Takes a packet that arrived at `nowMs`; `bytes` is the datagram it was parsed from. A packet that is not audio
   * (telephone-event, comfort noise) is `sound: false`: it only says that its sequence number is not lost.
   */
  insert(packet: RtpPacket, bytes: Uint8Array, nowMs: number, sound = true): void {
    const length = sound ? packet.payloadEnd - packet.payloadStart : 0;
    if (length > SLOT_BYTES || (sound && length === 0)) {
      this.#dropped++;
      return;
    }
    if (!this.#place(packet, sound, nowMs)) return;
    const slot = packet.sequence % SLOTS;
    this.#seen[packet.sequence % SEEN] = packet.sequence;
    this.#seenTimestamps[packet.sequence % SEEN] = packet.timestamp;
    this.#sequences[slot] = packet.sequence;
    this.#lengths[slot] = length;
    this.#timestamps[slot] = packet.timestamp;
    this.#waiting++;
    this.#lateRun = 0;
    const target = slot * SLOT_BYTES;
    for (let i = 0; i < length; i++) this.#payloads[target + i] = bytes[packet.payloadStart + i]!;
    if (!sound) return;
    this.#packetUnits = length;
    const earlierMs = this.#jitter.arrival(packet.timestamp / UNITS_PER_MS, nowMs);
    this.#begin(nowMs);
    if (earlierMs > 0) this.#anchor -= earlierMs;
  }

  /**
   * The next 20 ms: 'media' with `frame` filled, 'conceal' once its time has run out, undefined when it may still come.
   * Read until undefined whenever a packet was inserted and on every tick.
   */
  read(nowMs: number): FrameKind | undefined {
    this.#begin(nowMs);
    if (nowMs - this.#lastReadAt > STALL_MS && this.#lastReadAt > 0) this.#fillFrom = nowMs + AFTER_STALL_MS;
    this.#lastReadAt = nowMs;
    while (this.#waiting > 0) {
      const verdict = this.#gather(nowMs);
      if (verdict !== 'frame') {
        if (verdict === 'nothing') break;
        return verdict === 'fill' ? this.#fill() : undefined;
      }
      const wasFilled = this.#tooFarAhead(nowMs);
      this.#gathered = 0;
      if (wasFilled) {
        this.#dropped++;
        continue;
      }
      this.#heard++;
      this.#fillRun = 0;
      return 'media';
    }
    return this.#overdue(nowMs) ? this.#fill() : undefined;
  }

  /** Drops what waits, for a change of codec; time goes on. */
  clear(): void {
    this.#ssrc = -1;
    this.#restartAt(0);
  }

  #begin(nowMs: number): void {
    if (Number.isNaN(this.#anchor)) this.#anchor = nowMs;
  }

  /** When the next frame is due, on the reader's clock. */
  get #due(): number {
    return this.#anchor + this.#heard * FRAME_MS;
  }

  /** Finds a packet's place. False: it is a duplicate, late, or the first of a stream that has yet to prove itself. */
  #place(packet: RtpPacket, sound: boolean, nowMs: number): boolean {
    if (packet.ssrc !== this.#ssrc) {
      if (this.#ssrc !== -1 && !this.#provesItself(packet)) return false;
      this.#resync(packet);
      return true;
    }
    const distance = sequenceDistance(packet.sequence, this.#next);
    if (distance >= MAX_DROPOUT || distance < -MAX_MISORDER) {
      if (!this.#provesItself(packet)) return false;
      this.#resync(packet);
      return true;
    }
    const memory = packet.sequence % SEEN;
    if (this.#seen[memory] === packet.sequence && this.#seenTimestamps[memory] === packet.timestamp) {
      this.#duplicates++;
      return false;
    }
    if (distance < 0) {
      // What comes late teaches the wait as much as what comes in time.
      if (sound) this.#jitter.arrival(packet.timestamp / UNITS_PER_MS, nowMs);
      return this.#isRestart(packet);
    }
    if (distance >= SLOTS) this.#restartAt(packet.sequence);
    return true;
  }

  /** Whether this is the second packet in sequence of a new stream; one stray packet never replaces a stream. */
  #provesItself(packet: RtpPacket): boolean {
    const proven = packet.ssrc === this.#candidateSsrc && packet.sequence === this.#candidateNext;
    this.#candidateSsrc = packet.ssrc;
    this.#candidateNext = (packet.sequence + 1) & 0xffff;
    return proven;
  }

  /** Counts a late packet; a run of them in sequence, with nothing in time between, is a restarted stream. */
  #isRestart(packet: RtpPacket): boolean {
    this.#late++;
    this.#lateRun = packet.sequence === this.#lateNext ? this.#lateRun + 1 : 1;
    this.#lateNext = (packet.sequence + 1) & 0xffff;
    if (this.#lateRun < LATE_RESYNC) return false;
    this.#resync(packet);
    return true;
  }

  /** Follows a new or restarted stream from this packet on, in step with wall time as before. */
  #resync(packet: RtpPacket): void {
    if (this.#ssrc !== -1) this.#resyncs++;
    this.#ssrc = packet.ssrc;
    this.#candidateSsrc = -1;
    this.#seen.fill(-1);
    this.#restartAt(packet.sequence);
    this.#jitter.restart();
    // As if after a pause: fills owed until now are made good before the new stream's first frame.
    this.#expected = (packet.timestamp - FRAME_UNITS * MAX_HOLE_FRAMES) >>> 0;
  }

  #restartAt(sequence: number): void {
    this.#sequences.fill(-1);
    this.#waiting = 0;
    this.#next = sequence;
    this.#used = 0;
    this.#gathered = 0;
    this.#lateRun = 0;
  }

  /**
   * Moves sound of packets in order into `frame`: 'frame' when it is full, 'nothing' when no packet is left, 'wait' or
   * 'fill' when the next one is missing or its time has not come.
   */
  #gather(nowMs: number): 'frame' | 'nothing' | 'wait' | 'fill' {
    while (this.#gathered < FRAME_UNITS) {
      if (this.#waiting === 0) return 'nothing';
      const slot = this.#next % SLOTS;
      if (this.#sequences[slot] !== this.#next) {
        const verdict = this.#hole(nowMs);
        if (verdict !== 'skip') return verdict;
        continue;
      }
      const length = this.#lengths[slot]!;
      if (length > 0 && this.#used === 0) {
        const pause = timestampDistance(this.#timestamps[slot]!, this.#expected);
        if (pause >= FRAME_UNITS && nowMs - this.#due > RESUME_DEBT_MS) return 'fill';
        this.#expected = (this.#timestamps[slot]! + length) >>> 0;
      }
      const count = Math.min(FRAME_UNITS - this.#gathered, length - this.#used);
      const from = slot * SLOT_BYTES + this.#used;
      for (let i = 0; i < count; i++) this.frame[this.#gathered + i] = this.#payloads[from + i]!;
      this.#gathered += count;
      this.#used += count;
      if (this.#used === length) this.#release(slot);
    }
    return 'frame';
  }

  #release(slot: number): void {
    this.#sequences[slot] = -1;
    this.#waiting--;
    this.#next = (this.#next + 1) & 0xffff;
    this.#used = 0;
  }

  /** The next packet is missing and a later one is here. */
  #hole(nowMs: number): 'skip' | 'wait' | 'fill' {
    let later = this.#next;
    while (this.#sequences[later % SLOTS] !== later) later = (later + 1) & 0xffff;
    const slot = later % SLOTS;
    const sound = this.#lengths[slot]! > 0;
    const missing = sound ? timestampDistance(this.#timestamps[slot]!, this.#expected) : FRAME_UNITS;
    if (missing >= FRAME_UNITS / 2 && !this.#overdue(nowMs)) return 'wait';
    if (sound && missing >= FRAME_UNITS / 2 && missing <= MAX_HOLE_FRAMES * FRAME_UNITS) {
      // The half frame before the hole would be heard after it: leave it out.
      this.#gathered = 0;
      return 'fill';
    }
    this.#next = later;
    return 'skip';
  }

  #overdue(nowMs: number): boolean {
    if (nowMs < this.#fillFrom) return false;
    const debt = nowMs - this.#due;
    if (debt > MAX_DEBT_MS) this.#anchor += debt - this.#jitter.waitMs - FRAME_MS;
    return debt >= this.#jitter.waitMs;
  }

  #fill(): FrameKind {
    this.#heard++;
    this.#expected = (this.#expected + FRAME_UNITS) >>> 0;
    this.#fillRun++;
    // A longer run is a pause of the sender, not a loss that concealment bridges.
    if (this.#ssrc !== -1 && this.#fillRun <= COUNTED_RUN) this.#concealed++;
    return 'conceal';
  }

  /** Whether the gathered frame's time was already filled: the listener would run too far ahead of wall time. */
  #tooFarAhead(nowMs: number): boolean {
    // The frames of one long packet arrive together and are not ahead of each other.
    const ahead = this.#due - nowMs - Math.max(0, this.#packetUnits / UNITS_PER_MS - FRAME_MS);
    const allowance = this.#jitter.jitterMs;
    if (ahead > AHEAD_MS + allowance) return true;
    return ahead > AHEAD_QUIET_MS + allowance && this.#isQuiet(this.frame, 0, FRAME_UNITS);
  }
}
