/**
 * Whose packets a call listens to (against RTPBleed: AST-2017-005, -008). The signalled address is believed at once. Another
 * source, a caller behind NAT, must send five packets in sequence within the first two seconds. Then the lock closes: the
 * source is never learnt again until a re-INVITE opens it.
 */
import type { RtpPacket } from './packet.ts';

export interface RtpAddress { address: string; port: number }

const CONSISTENT_PACKETS = 5;
const WINDOW_MS = 2_000;
/** Sources on probation at once; a spray of more pushes out the oldest. */
const MAX_CANDIDATES = 8;

interface Candidate { address: string; port: number; ssrc: number; next: number; count: number }

export class SourceLock {
  #signalled: RtpAddress;
  #source: RtpAddress | undefined;
  #candidates: Candidate[] = [];
  #openUntil: number | undefined;

  constructor(signalled: RtpAddress) {
    this.#signalled = signalled;
  }

  /** The source listened to and sent to; undefined while it has not been heard. */
  get source(): RtpAddress | undefined {
    return this.#source;
  }

  /** Where to send: the locked source, until then the signalled address. */
  get target(): RtpAddress {
    return this.#source ?? this.#signalled;
  }

  /** Whether the source is final: the signalled one, or one that latched and was not corrected within the window. */
  settled(nowMs: number): boolean {
    const source = this.#source;
    if (source === undefined) return false;
    return this.#isSignalled(source.address, source.port) || this.#openUntil === undefined || nowMs > this.#openUntil;
  }

  /** Opens the lock for a new signalled address. The window of two seconds starts at the next packet on probation. */
  reopen(signalled: RtpAddress): void {
    this.#signalled = signalled;
    this.#source = undefined;
    this.#candidates = [];
    this.#openUntil = undefined;
  }

  /** Whether a packet from this source is to be heard. */
  accepts(address: string, port: number, packet: RtpPacket, nowMs: number): boolean {
    const source = this.#source;
    if (source !== undefined && source.port === port && source.address === address) return true;
    if (this.#isSignalled(address, port) && !this.settled(nowMs)) {
      // Within the window the signalled source also takes the call back from one that latched before it spoke.
      this.#source = { address, port };
      this.#candidates = [];
      return true;
    }
    return source === undefined && this.#latches(address, port, packet, nowMs);
  }

  #isSignalled(address: string, port: number): boolean {
    return port === this.#signalled.port && address === this.#signalled.address;
  }

  #latches(address: string, port: number, packet: RtpPacket, nowMs: number): boolean {
    this.#openUntil ??= nowMs + WINDOW_MS;
    if (nowMs > this.#openUntil) return false;
    let candidate = this.#candidates.find((one) => one.port === port && one.address === address);
    if (candidate === undefined) {
      if (this.#candidates.length === MAX_CANDIDATES) this.#candidates.shift();
      candidate = { address, port, ssrc: packet.ssrc, next: packet.sequence, count: 0 };
      this.#candidates.push(candidate);
    }
    const consistent = candidate.ssrc === packet.ssrc && candidate.next === packet.sequence;
    candidate.count = consistent ? candidate.count + 1 : 1;
    candidate.ssrc = packet.ssrc;
    candidate.next = (packet.sequence + 1) & 0xffff;
    if (candidate.count < CONSISTENT_PACKETS) return false;
    this.#source = { address, port };
    this.#candidates = [];
    return true;
  }
}
