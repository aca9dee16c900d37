import { answerOffer, type AnswerMedia } from '../../sip/sdp/answer.ts';
import { SdpNegotiation } from '../../sip/sdp/negotiation.ts';
import type { DialogEnd, InboundInvite, InviteDialog, ReinviteAnswer } from '../../sip/user-agent.ts';
import type { EndReason } from '../end-reason.ts';
import type { CallControl } from './call-control.ts';
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

/** Discard port (RFC 863): what a leg is pointed at until the peer has said where it listens. */
const NO_PORT = 9;

/** One inbound phone call: its dialog and its media leg, each ending the other, once. */
export class PhoneCall {
  readonly #invite: InboundInvite;
  readonly #accepted: AcceptedCall;
  readonly #options: PhoneCallOptions;
  readonly #codecs: ('PCMU' | 'PCMA')[];
  #sdp: SdpNegotiation | undefined;
  #live: LiveCall | undefined;
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
    this.#live = call;
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
    const codec = this.#codecs[0] ?? 'PCMU';
    return { kind: 'phone', codec, payloadType: codec === 'PCMA' ? 8 : 0, ptimeMs: 20, remote: { address: this.#invite.source.address, port: NO_PORT }, sending: false };
  }

  #answer(call: LiveCall, port: number): void {
    const sdp = new SdpNegotiation({ address: this.#options.mediaAddress, port, sessionId: String(Date.now()), codecs: this.#codecs });
    this.#sdp = sdp;
    const { offer } = this.#invite;
    const answer = offer === undefined ? undefined : sdp.answer(offer);
    const dialog = this.#invite.accept(answer?.ok ? answer.sdp : sdp.offer());
    this.#dialog = dialog;
    dialog.onReinvite = (next) => this.#onReinvite(next);
    dialog.onAnswer = (text) => this.#onLateAnswer(text);
    dialog.signal.addEventListener('abort', () => call.hangUp(endReasonOf(dialog.signal.reason as DialogEnd)), { once: true });
    dialog.acknowledged.then(
      (text) => {
        if (text !== undefined && offer === undefined) this.#onLateAnswer(text);
        call.answered(true);
      },
      () => {}, // no ACK: the dialog has ended by itself, and its signal says so
    );
  }

  #onLateAnswer(text: string): void {
    const answer = this.#sdp?.readAnswer(text);
    if (answer?.ok) {
      this.#tellMedia(legSpec(answer.media));
      return;
    }
    this.#live?.log({ source: 'sip', event: 'late_answer_refused', detail: { reason: answer?.reason } });
    this.#live?.hangUp('sip_error');
  }

  #onReinvite(offer: string | undefined): ReinviteAnswer {
    const sdp = this.#sdp;
    if (!sdp) return { status: 488 };
    if (offer === undefined) return { status: 200, sdp: sdp.offer() };
    const answer = sdp.answer(offer);
    this.#live?.log({ source: 'sip', event: 'reinvite', detail: answer.ok ? { direction: answer.media.direction, codec: answer.media.codec } : { refused: answer.reason } });
    if (!answer.ok) return { status: answer.status };
    this.#tellMedia(legSpec(answer.media));
    return { status: 200, sdp: answer.sdp };
  }

  #tellMedia(leg: PhoneLegSpec): void {
    this.#options.pool.tell({ type: 'media', callId: this.#accepted.callId, leg });
  }

  /** The worker says that the call is over: take leave of the peer in whatever way its state asks for. */
  #onMediaEnded(reason: EndReason): void {
    if (this.#dialog) void this.#dialog.bye();
    else if (!this.#invite.signal.aborted) this.#invite.reject(reason === 'service_shutdown' ? 503 : 500);
  }
}

function legSpec(media: AnswerMedia): PhoneLegSpec {
  return {
    kind: 'phone',
    codec: media.codec,
    payloadType: media.payloadType,
    ...(media.telephoneEventPayloadType === undefined ? {} : { telephoneEventPayloadType: media.telephoneEventPayloadType }),
    ptimeMs: media.ptimeMs,
    remote: { address: media.remote.address, port: media.remote.port },
    sending: media.direction === 'sendrecv' || media.direction === 'sendonly',
  };
}

function endReasonOf(end: DialogEnd): EndReason {
  switch (end.kind) {
    case 'remote_bye': return 'caller_hangup';
    case 'local_bye': return 'agent_hangup';
    case 'no_ack':
    case 'transport_failed': return 'sip_error';
  }
}
