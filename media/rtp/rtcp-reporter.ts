/** Reports of one session: when the next is due, what it says, and the round trip learnt from the peer's (RFC 3550 6.2–6.4). */
import { randomBytes } from 'node:crypto';
import { buildRtcp, type ReportBlock, type RtcpPacket } from './rtcp.ts';
import type { Reception } from './reception.ts';
import type { RtpSender } from './rtp-sender.ts';

const INTERVAL_MS = 5_000;
/** Seconds from NTP's epoch (1900) to Unix' (1970). */
const NTP_EPOCH_SECONDS = 2_208_988_800;
/** A longer round trip is a confused clock. */
const MAX_RTT_MS = 60_000;

export interface RtcpReporterOptions {
  /** Wall clock minus the session's monotonic clock, ms. */
  wallOffsetMs: number;
  nowMs: number;
  /** In [0, 1). */
  random?: () => number;
}

export class RtcpReporter {
  /** Random per session (RFC 7022), so that it tells nothing about the host. */
  readonly cname = randomBytes(12).toString('base64url');
  readonly #wallOffsetMs: number;
  readonly #random: () => number;
  #nextAt: number;
  #reported = { packets: 0 };
  /** Middle 32 bits of the peer's last SR and when it came. */
  #lastSr = 0;
  #lastSrAt = 0;
  #rttMs: number | undefined;

  constructor(options: RtcpReporterOptions) {
    this.#wallOffsetMs = options.wallOffsetMs;
    this.#random = options.random ?? Math.random;
    // The first report comes after half the interval (RFC 3550 6.2).
    this.#nextAt = options.nowMs + (INTERVAL_MS / 2) * (0.5 + this.#random());
  }

  get rttMs(): number | undefined {
    return this.#rttMs;
  }

  /** Whether a report is due; if so, the next one is planned, 2.5 to 7.5 s on so that sessions do not fall into step. */
  due(nowMs: number): boolean {
    if (nowMs < this.#nextAt) return false;
    this.#nextAt = nowMs + INTERVAL_MS * (0.5 + this.#random());
    return true;
  }

  /** A sender report when anything was sent since the last, else a receiver report; `bye` ends the session. */
  build(nowMs: number, sender: RtpSender, reception: Reception, jitterMs: number, bye = false): Uint8Array {
    const { ssrc, timestamp, sent } = sender;
    const reports = reception.ssrc === -1 ? [] : [this.#block(nowMs, reception, jitterMs)];
    const sending = sent.packets !== this.#reported.packets;
    this.#reported = sent;
    const ntp = this.#ntp(nowMs);
    const packets: RtcpPacket[] = [
      sending
        ? { kind: 'sr', ssrc, ntpSeconds: ntp.seconds, ntpFraction: ntp.fraction, rtpTimestamp: timestamp, packetCount: sent.packets, octetCount: sent.octets, reports }
        : { kind: 'rr', ssrc, reports },
      { kind: 'sdes', chunks: [{ ssrc, cname: this.cname }] },
    ];
    if (bye) packets.push({ kind: 'bye', ssrcs: [ssrc], reason: '' });
    return buildRtcp(packets);
  }

  /** Takes a valid compound packet of the peer. */
  receive(packets: RtcpPacket[], nowMs: number, ownSsrc: number): void {
    for (const packet of packets) {
      if (packet.kind === 'sr') {
        this.#lastSr = ((packet.ntpSeconds << 16) | (packet.ntpFraction >>> 16)) >>> 0;
        this.#lastSrAt = nowMs;
      }
      if (packet.kind === 'sr' || packet.kind === 'rr') {
        for (const report of packet.reports) if (report.ssrc === ownSsrc) this.#roundTrip(report, nowMs);
      }
    }
  }

  #roundTrip(report: ReportBlock, nowMs: number): void {
    if (report.lastSr === 0) return;
    const now = this.#ntp(nowMs);
    const middle = ((now.seconds << 16) | (now.fraction >>> 16)) >>> 0;
    const rttMs = (((middle - report.lastSr - report.delaySinceLastSr) | 0) * 1000) / 65_536;
    // Rounding can make it a hair negative on loopback.
    if (rttMs > -1 && rttMs < MAX_RTT_MS) this.#rttMs = Math.max(0, rttMs);
  }

  #block(nowMs: number, reception: Reception, jitterMs: number): ReportBlock {
    return {
      ssrc: reception.ssrc,
      ...reception.report(),
      jitter: Math.round(jitterMs * 8),
      lastSr: this.#lastSr,
      delaySinceLastSr: this.#lastSr === 0 ? 0 : Math.round(((nowMs - this.#lastSrAt) * 65_536) / 1000),
    };
  }

  #ntp(nowMs: number): { seconds: number; fraction: number } {
    const wallMs = nowMs + this.#wallOffsetMs;
    const seconds = Math.floor(wallMs / 1000);
    return { seconds: (seconds + NTP_EPOCH_SECONDS) >>> 0, fraction: Math.floor(((wallMs - seconds * 1000) / 1000) * 2 ** 32) >>> 0 };
  }
}
