import { answerOffer } from '../../sip/sdp/answer.ts';
import { SdpNegotiation } from '../../sip/sdp/negotiation.ts';
import type { InboundInvite, InviteDialog } from '../../sip/user-agent.ts';
import type { EndReason } from '../end-reason.ts';
import type { CallControl } from './call-control.ts';
import { DialogMedia, legSpec, NO_PORT, silentLeg } from './dialog-media.ts';
import type { LiveCall } from './live-call.ts';
import type { WorkerPool } from './worker-pool.ts';
import type { AgentSpec, PhoneLegSpec } from './worker-protocol.ts';

/** A call that has its row: what the media side needs of it. */
export interface AcceptedCall { callId: string; agent: AgentSpec; recordingPath?: string }

export interface PhoneCallOptions {
  control: CallControl;
  pool: WorkerPool;
  /** Address that SDP names. */
  mediaAddress: string;
}

/** One inbound phone call: its dialog and its media leg, each ending the other, once. */
export class PhoneCall {
  readonly #invite: InboundInvite;
  readonly #accepted: AcceptedCall;
  readonly #options: PhoneCallOptions;
  readonly #codecs: ('PCMU' | 'PCMA')[];
  #dialog: InviteDialog | undefined;

  constructor(invite: InboundInvite, accepted: AcceptedCall, codecs: ('PCMU' | 'PCMA')[], options: PhoneCallOptions) {
    this.#invite = invite;
    this.#accepted = accepted;
    this.#options = options;
    this.#codecs = codecs;
  }

  /** Rings, opens the leg, answers. Resolves once answered or ended. `onLive` gets the call as soon as it lives. */
  async run(onLive: (call: LiveCall) => void): Promise<void> {
    this.#invite.ring();
    const { callId, agent, recordingPath } = this.#accepted;
    const leg = this.#firstLeg();
    const { call, opened } = this.#options.control.open(
      { type: 'open', callId, agent, leg, ...(recordingPath === undefined ? {} : { recordingPath }) },
      (reason) => this.#onMediaEnded(reason),
    );
    onLive(call);
    const onCanceled = (): void => call.hangUp('caller_hangup');
    this.#invite.signal.addEventListener('abort', onCanceled, { once: true });
    if (this.#invite.signal.aborted) onCanceled();
    const media = await opened;
    this.#invite.signal.removeEventListener('abort', onCanceled);
    if (media?.rtpPort === undefined || this.#invite.signal.aborted) return;
    this.#answer(call, media.rtpPort);
  }

  #firstLeg(): PhoneLegSpec {
    const offer = this.#invite.offer;
    if (offer !== undefined) {
      const answer = answerOffer(offer, { address: this.#options.mediaAddress, port: NO_PORT, sessionId: '0', version: 0, codecs: this.#codecs });
      if (answer.ok) return legSpec(answer.media);
    }
    return silentLeg(this.#codecs[0] ?? 'PCMU', this.#invite.source.address);
  }

  #answer(call: LiveCall, port: number): void {
    const sdp = new SdpNegotiation({ address: this.#options.mediaAddress, port, sessionId: String(Date.now()), codecs: this.#codecs });
    const { offer } = this.#invite;
    const answer = offer === undefined ? undefined : sdp.answer(offer);
    const dialog = this.#invite.accept(answer?.ok ? answer.sdp : sdp.offer());
    this.#dialog = dialog;
    const media = new DialogMedia(sdp, call, this.#options.pool);
    media.follow(dialog);
    dialog.acknowledged.then(
      (text) => {
        if (text === undefined || offer !== undefined || media.takeAnswer(text)) call.answered(true);
      },
      () => {}, // no ACK: the dialog has ended by itself, and its signal says so
    );
  }

  /** The worker says that the call is over: take leave of the peer in whatever way its state asks for. */
  #onMediaEnded(reason: EndReason): void {
    if (this.#dialog) void this.#dialog.bye();
    else if (!this.#invite.signal.aborted) this.#invite.reject(reason === 'service_shutdown' ? 503 : 500);
  }
}
