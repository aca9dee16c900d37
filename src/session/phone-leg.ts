import type { AudioFrame } from '../../media/audio-frame.ts';
import type { PortPool } from '../../media/rtp/port-pool.ts';
import { RtpSession, type RtpStats } from '../../media/rtp/rtp-session.ts';
import type { PhoneLegSpec } from '../calls/worker-protocol.ts';
import type { CallLeg } from '../conversation/call-leg.ts';
import type { EndReason } from '../end-reason.ts';

export interface PhoneLegOptions {
  host: string;
  ports: PortPool;
  /** This thread's clock, ms. */
  now: () => number;
  /** Milliseconds without a packet after which the leg ends with `media_timeout`; not counted while we are held. */
  mediaTimeoutMs: number;
  /** A packet came: `read()` may have a frame. */
  onFrame: () => void;
  onDtmf: (digit: string, durationMs: number) => void;
}

/** A phone call's media: RTP to and from the peer that SIP named. */
export class PhoneLeg implements CallLeg {
  readonly #rtp: RtpSession;
  readonly #options: PhoneLegOptions;
  readonly #ended = new AbortController();
  #sending: boolean;
  #codec: PhoneLegSpec['codec'];
  #listeningSince: number | undefined;

  private constructor(rtp: RtpSession, spec: PhoneLegSpec, options: PhoneLegOptions) {
    this.#rtp = rtp;
    this.#options = options;
    this.#sending = spec.sending;
    this.#codec = spec.codec;
  }

  /** Binds an RTP and an RTCP port. Throws when no pair is free. */
  static async open(spec: PhoneLegSpec, options: PhoneLegOptions): Promise<PhoneLeg> {
    const rtp = await RtpSession.open({
      host: options.host,
      ports: options.ports,
      codec: spec.codec,
      payloadType: spec.payloadType,
      ...(spec.telephoneEventPayloadType === undefined ? {} : { telephoneEventPayloadType: spec.telephoneEventPayloadType }),
      ptimeMs: spec.ptimeMs,
      remote: spec.remote,
      now: options.now,
      onDtmf: options.onDtmf,
      onFrame: options.onFrame,
    });
    return new PhoneLeg(rtp, spec, options);
  }

  /** A phone call does not come back. */
  get waiting(): boolean {
    return false;
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** As agreed last. */
  get codec(): PhoneLegSpec['codec'] {
    return this.#codec;
  }

  get port(): number {
    return this.#rtp.port;
  }

  /** The peer was told our port: from now on its silence counts towards the media timeout. */
  answered(): void {
    this.#listeningSince = this.#options.now();
  }

  read(): AudioFrame | undefined {
    return this.#rtp.read(this.#options.now());
  }

  write(frame: AudioFrame): void {
    if (this.#sending) this.#rtp.encode(frame);
  }

  /** Sends keys after those that wait; none: asks. Undefined: the peer takes no keys, or none now. False: too many wait. */
  press(digits: string): boolean | undefined {
    return this.#sending ? this.#rtp.sendDtmf(digits) : undefined;
  }

  flush(): void {
    this.#rtp.flush();
  }

  /** Nothing of ours waits on a phone line: what was written is already on the wire. */
  clear(): void {}

  /** A re-INVITE moved, held or released the media. */
  update(spec: PhoneLegSpec): void {
    this.#rtp.setMedia(spec);
    this.#codec = spec.codec;
    this.#sending = spec.sending;
    if (spec.sending) this.#listeningSince = this.#options.now();
  }

  /** Ends the leg once the peer has been silent on the wire for too long. Called every tick. */
  checkPresence(): void {
    if (!this.#sending || this.#listeningSince === undefined) return;
    const heardAt = Math.max(this.#listeningSince, this.#rtp.lastPacketAt ?? 0);
    if (this.#options.now() - heardAt > this.#options.mediaTimeoutMs) this.hangUp('media_timeout');
  }

  hangUp(reason: EndReason): void {
    if (!this.#ended.signal.aborted) this.#ended.abort(reason);
  }

  stats(): RtpStats {
    return this.#rtp.stats();
  }

  async close(): Promise<void> {
    await this.#rtp.close();
  }
}
