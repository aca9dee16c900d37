/**
 * One call's RTP and RTCP: sockets, source lock, jitter buffer, concealment, codec, resampling, reports. It hears on arrival
 * (`onFrame`, then `read` until undefined) and sends when written to; the caller's 20 ms clock drives everything, so a session
 * has no timer of its own.
 */
import type { RemoteInfo } from 'node:dgram';
import { isIP, SocketAddress } from 'node:net';
import { FRAME_SAMPLES, type AudioFrame } from '../audio-frame.ts';
import { decodeG711, PCMA_TO_LINEAR, PCMU_TO_LINEAR, type G711Codec } from '../codec/g711.ts';
import { HalfBandUp } from '../half-band.ts';
import { Concealment } from './concealment.ts';
import { DtmfReceiver } from './dtmf.ts';
import { JitterBuffer } from './jitter-buffer.ts';
import { emptyRtpPacket, parseRtp, type RtpPacket } from './packet.ts';
import type { PortPair, PortPool } from './port-pool.ts';
import { meanOpinionScore } from './quality.ts';
import { Reception } from './reception.ts';
import { parseRtcp } from './rtcp.ts';
import { RtcpReporter } from './rtcp-reporter.ts';
import { RtpSender } from './rtp-sender.ts';
import { SourceLock, type RtpAddress } from './source-lock.ts';

const RTP_RATE = 8000;
const PCM_SAMPLES = RTP_RATE / 50;
/** Mean level under which a frame may be left out unheard: about -48 dBFS. */
const QUIET_LEVEL = 130;

/** What SDP settled for a call. */
export interface RtpMedia {
  codec: G711Codec;
  payloadType: number;
  /** Payload type of telephone-event; absent: key presses are not signalled in RTP. */
  telephoneEventPayloadType?: number;
  /** Packet time to send, 10 to 120 ms in steps of 10; any is received. */
  ptimeMs: number;
  /** Where the SDP says the peer listens: an IP address, or 0.0.0.0 (old-style hold: nothing is sent). */
  remote: RtpAddress;
  /** False while the peer holds us. Default true. */
  sending?: boolean;
}

export interface RtpSessionOptions extends RtpMedia {
  /** Local address to bind to. */
  host: string;
  ports: PortPool;
  /** Monotonic milliseconds. */
  now?: () => number;
  onDtmf: (digit: string, durationMs: number) => void;
  /** Something new may be readable. Called on packet arrival. */
  onFrame: () => void;
  /** The source was found and locked for the first time. */
  onFirstPacket?: () => void;
}

export interface RtpStats {
  packetsReceived: number;
  packetsSent: number;
  packetsLost: number;
  lostPct: number;
  jitterMs: number;
  rttMs?: number;
  concealedMs: number;
  latePackets: number;
  /** Datagrams from others than the peer that reached us; once locked, the kernel drops them before we could count. */
  strangerPackets: number;
  mos: number;
}

export class RtpSession {
  readonly port: number;
  readonly #pair: PortPair;
  readonly #now: () => number;
  readonly #options: RtpSessionOptions;
  readonly #lock: SourceLock;
  readonly #jitter: JitterBuffer;
  readonly #reception = new Reception();
  readonly #concealment = new Concealment(RTP_RATE);
  readonly #up = new HalfBandUp();
  readonly #dtmf: DtmfReceiver;
  readonly #sender: RtpSender;
  readonly #reporter: RtcpReporter;
  readonly #packet = emptyRtpPacket();
  readonly #pcm = new Int16Array(PCM_SAMPLES);
  readonly #frame: AudioFrame = new Int16Array(FRAME_SAMPLES);
  #media: RtpMedia;
  #remote: RtpAddress;
  /** Whether the RTP socket is bound to the locked source alone. */
  #connection: 'open' | 'connecting' | 'connected' = 'open';
  #rtcpPort: number | undefined;
  #lastPacketAt: number | undefined;
  #packetsSent = 0;
  #strangers = 0;
  #collided = false;
  #heardOnce = false;
  #closed: Promise<void> | undefined;

  /** Binds a port pair and starts to listen. Throws when no port is free, or RangeError/TypeError for media that cannot be. */
  static async open(options: RtpSessionOptions): Promise<RtpSession> {
    const remote = canonical(options.remote);
    const pair = await options.ports.bind(options.host);
    try {
      return new RtpSession(options, remote, pair);
    } catch (error) {
      await pair.release();
      throw error;
    }
  }

  private constructor(options: RtpSessionOptions, remote: RtpAddress, pair: PortPair) {
    this.#options = options;
    this.#media = options;
    this.#remote = remote;
    this.#pair = pair;
    this.port = pair.port;
    this.#now = options.now ?? (() => performance.now());
    this.#lock = new SourceLock(remote);
    this.#jitter = new JitterBuffer({ isQuiet: (payload, from, to) => this.#isQuiet(payload, from, to) });
    this.#dtmf = new DtmfReceiver(options.onDtmf, RTP_RATE);
    this.#sender = new RtpSender(options, (packet) => this.#send(packet));
    const nowMs = this.#now();
    this.#reporter = new RtcpReporter({ wallOffsetMs: Date.now() - nowMs, nowMs });
    this.#applySending();
    pair.rtp.on('message', this.#onRtp);
    pair.rtcp.on('message', this.#onRtcp);
    // A peer that closed its port answers ICMP: the call goes on until its media timeout or BYE.
    pair.rtp.on('error', ignore);
    pair.rtcp.on('error', ignore);
  }

  /** When the last packet of the peer came; undefined before the first. */
  get lastPacketAt(): number | undefined {
    return this.#lastPacketAt;
  }

  /** The next 20 ms heard at 16 kHz, concealed or silent once its time has run out; valid until the next read. */
  read(nowMs: number): AudioFrame | undefined {
    if (this.#closed) return undefined;
    this.#dtmf.tick(nowMs);
    if (this.#reporter.due(nowMs)) this.#report(nowMs);
    const kind = this.#jitter.read(nowMs);
    if (kind === undefined) return undefined;
    if (kind === 'media') {
      decodeG711(this.#media.codec, this.#jitter.frame, 0, PCM_SAMPLES, this.#pcm);
      this.#concealment.good(this.#pcm);
    } else {
      this.#concealment.conceal(this.#pcm);
    }
    this.#up.process(this.#pcm, this.#frame);
    return this.#frame;
  }

  /** Encodes and sends the next 20 ms (16 kHz) now. */
  write(frame: AudioFrame): void {
    this.encode(frame);
    this.flush();
  }

  /** Encodes the next 20 ms, for `flush` to send. */
  encode(frame: AudioFrame): void {
    if (!this.#closed) this.#sender.encode(frame, this.#now());
  }

  flush(): void {
    if (!this.#closed) this.#sender.flush();
  }

  /** Sends keys as telephone-events in place of sound; none: asks. Undefined: the peer takes none. False: too many wait. */
  sendDtmf(digits: string): boolean | undefined {
    return this.#sender.press(digits);
  }

  /** A re-INVITE moved the peer. The lock opens again only for an address that differs from the one signalled before. */
  setRemote(remote: RtpAddress): void {
    const moved = canonical(remote);
    if (moved.address === this.#remote.address && moved.port === this.#remote.port) return;
    this.#remote = moved;
    this.#lock.reopen(moved);
    this.#rtcpPort = undefined;
    if (this.#connection === 'connected') this.#pair.rtp.disconnect();
    if (this.#connection === 'connected') this.#connection = 'open';
    this.#applySending();
  }

  /** A re-INVITE changed the media. */
  setMedia(media: RtpMedia): void {
    this.#sender.configure(media);
    if (media.codec !== this.#media.codec || media.payloadType !== this.#media.payloadType) this.#jitter.clear();
    this.#media = media;
    this.setRemote(media.remote);
    this.#applySending();
  }

  stats(): RtpStats {
    const { rttMs } = this.#reporter;
    const { latePackets, concealedMs } = this.#jitter.stats;
    const { lostPct } = this.#reception;
    const { jitterMs } = this.#jitter;
    return {
      packetsReceived: this.#reception.packets,
      packetsSent: this.#packetsSent,
      packetsLost: this.#reception.lost,
      lostPct,
      jitterMs,
      ...(rttMs === undefined ? {} : { rttMs }),
      concealedMs,
      latePackets,
      strangerPackets: this.#strangers,
      mos: meanOpinionScore({ lostPct, jitterMs, rttMs: rttMs ?? 0 }),
    };
  }

  /** Says BYE (RFC 3550 6.6), closes both sockets and gives the ports back. */
  close(): Promise<void> {
    this.#closed ??= this.#shutDown();
    return this.#closed;
  }

  async #shutDown(): Promise<void> {
    const nowMs = this.#now();
    if (this.#packetsSent > 0) {
      await new Promise<void>((resolve) => this.#sendRtcp(this.#reporter.build(nowMs, this.#sender, this.#reception, this.#jitter.jitterMs, true), resolve));
    }
    await this.#pair.release();
  }

  readonly #onRtp = (bytes: Uint8Array, from: RemoteInfo): void => {
    if (this.#closed) return;
    const packet = parseRtp(bytes, this.#packet);
    const nowMs = this.#now();
    if (packet === undefined || !this.#mayAccept(packet) || !this.#lock.accepts(from.address, from.port, packet, nowMs)) {
      this.#strangers++;
      return;
    }
    this.#lastPacketAt = nowMs;
    if (this.#connection === 'open' && this.#lock.settled(nowMs)) this.#connect();
    if (packet.ssrc === this.#sender.ssrc && !this.#collided) this.#resolveCollision(nowMs);
    this.#take(packet, bytes, nowMs);
    if (!this.#heardOnce) {
      this.#heardOnce = true;
      this.#options.onFirstPacket?.();
    }
    this.#options.onFrame();
  };

  /** Before the source is known only negotiated payload types count; RTCP that strayed here (RFC 5761: 72–76) never does. */
  #mayAccept(packet: RtpPacket): boolean {
    const { payloadType } = packet;
    if (payloadType === this.#media.payloadType || payloadType === this.#media.telephoneEventPayloadType) return true;
    return this.#lock.source !== undefined && (payloadType < 72 || payloadType > 76);
  }

  #take(packet: RtpPacket, bytes: Uint8Array, nowMs: number): void {
    if (packet.ssrc !== this.#reception.ssrc) this.#dtmf.reset();
    this.#reception.packet(packet.ssrc, packet.sequence);
    this.#jitter.insert(packet, bytes, nowMs, packet.payloadType === this.#media.payloadType);
    if (packet.payloadType === this.#media.telephoneEventPayloadType) {
      this.#dtmf.packet(packet.timestamp, bytes, packet.payloadStart, packet.payloadEnd, nowMs);
    }
  }

  /**
   * The peer uses our SSRC: leave it to the peer (RFC 3550 8.2). Only once: a peer that still sends ours is echoing us,
   * and its packets are taken as they are.
   */
  #resolveCollision(nowMs: number): void {
    this.#collided = true;
    this.#sendRtcp(this.#reporter.build(nowMs, this.#sender, this.#reception, this.#jitter.jitterMs, true));
    this.#sender.changeSsrc();
  }

  /** Binds the socket to the locked source: the kernel then drops strangers, and sending costs half the garbage. */
  #connect(): void {
    const source = this.#lock.source!;
    this.#connection = 'connecting';
    this.#pair.rtp.connect(source.port, source.address, (error?: Error) => {
      if (this.#closed) return;
      this.#connection = error ? 'open' : 'connected';
      // A re-INVITE came while connecting: the next packet finds its own source.
      if (this.#connection === 'connected' && this.#lock.source !== source) {
        this.#pair.rtp.disconnect();
        this.#connection = 'open';
      }
    });
  }

  readonly #onRtcp = (bytes: Uint8Array, from: RemoteInfo): void => {
    if (this.#closed) return;
    const packets = from.address === this.#lock.target.address ? parseRtcp(bytes) : undefined;
    const first = packets?.[0];
    if (packets === undefined || !first || !('ssrc' in first) || (this.#reception.ssrc !== -1 && first.ssrc !== this.#reception.ssrc)) {
      this.#strangers++;
      return;
    }
    // Symmetric RTCP, for a peer behind NAT whose RTP already proved the address.
    if (this.#lock.source !== undefined && first.ssrc === this.#reception.ssrc) this.#rtcpPort = from.port;
    this.#reporter.receive(packets, this.#now(), this.#sender.ssrc);
  };

  #send(packet: Uint8Array): void {
    this.#packetsSent++;
    if (this.#connection === 'connected') {
      this.#pair.rtp.send(packet);
      return;
    }
    const { address, port } = this.#lock.target;
    // An unconnected send looks the address up first, by when the sender may be writing into the packet again.
    this.#pair.rtp.send(packet.slice(), port, address, ignore);
  }

  #report(nowMs: number): void {
    if (this.#packetsSent === 0 && this.#reception.ssrc === -1) return;
    this.#sendRtcp(this.#reporter.build(nowMs, this.#sender, this.#reception, this.#jitter.jitterMs));
  }

  #sendRtcp(report: Uint8Array, done: () => void = ignore): void {
    const { address, port } = this.#lock.target;
    this.#pair.rtcp.send(report, this.#rtcpPort ?? Math.min(65_535, port + 1), address, done);
  }

  #applySending(): void {
    const held = this.#remote.address === '0.0.0.0' || this.#remote.address === '::' || this.#remote.port === 0;
    this.#sender.setPaused(held || this.#media.sending === false);
  }

  #isQuiet(payload: Uint8Array, from: number, to: number): boolean {
    const table = this.#media.codec === 'PCMU' ? PCMU_TO_LINEAR : PCMA_TO_LINEAR;
    let sum = 0;
    for (let i = from; i < to; i++) sum += Math.abs(table[payload[i]!]!);
    return sum < QUIET_LEVEL * (to - from);
  }
}

/** The address as sockets report it. Throws TypeError for a host name: whoever parses SDP resolves it. */
function canonical(remote: RtpAddress): RtpAddress {
  const family = isIP(remote.address);
  if (family === 0 || !Number.isInteger(remote.port) || remote.port < 0 || remote.port > 65_535) {
    throw new TypeError(`RTP cannot be sent to ${remote.address}:${remote.port}: give an IP address and a port`);
  }
  return { address: new SocketAddress({ address: remote.address, family: family === 4 ? 'ipv4' : 'ipv6' }).address, port: remote.port };
}

function ignore(): void {}
