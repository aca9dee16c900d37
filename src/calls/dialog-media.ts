import type { AnswerMedia } from '../../sip/sdp/answer.ts';
import type { SdpNegotiation } from '../../sip/sdp/negotiation.ts';
import type { DialogEnd, InviteDialog, ReinviteAnswer } from '../../sip/user-agent.ts';
import type { EndReason } from '../end-reason.ts';
import type { LiveCall } from './live-call.ts';
import type { WorkerPool } from './worker-pool.ts';
import type { PhoneLegSpec } from './worker-protocol.ts';

/** Discard port (RFC 863): what a leg is pointed at until the peer has said where it listens. */
export const NO_PORT = 9;

/** What a dialog's descriptions mean for its media leg, from the first answer to the last re-INVITE. */
export class DialogMedia {
  readonly #sdp: SdpNegotiation;
  readonly #call: LiveCall;
  readonly #pool: WorkerPool;

  constructor(sdp: SdpNegotiation, call: LiveCall, pool: WorkerPool) {
    this.#sdp = sdp;
    this.#call = call;
    this.#pool = pool;
  }

  /** Follows an established dialog: its offers change the leg, its end ends the call. */
  follow(dialog: InviteDialog): void {
    dialog.onReinvite = (offer) => this.#onReinvite(offer);
    dialog.onAnswer = (text) => void this.takeAnswer(text);
    const onEnd = (): void => this.#call.hangUp(endReasonOf(dialog.signal.reason as DialogEnd));
    if (dialog.signal.aborted) onEnd();
    else dialog.signal.addEventListener('abort', onEnd, { once: true });
  }

  /** The answer to an offer of ours. False: nothing was agreed, and the call ends. */
  takeAnswer(text: string): boolean {
    const answer = this.#sdp.readAnswer(text);
    if (answer.ok) {
      this.#tell(legSpec(answer.media));
      return true;
    }
    this.#call.log({ source: 'sip', event: 'answer_refused', detail: { reason: answer.reason } });
    this.#call.hangUp('sip_error', `The answer's media cannot be used: ${answer.reason}.`);
    return false;
  }

  #onReinvite(offer: string | undefined): ReinviteAnswer {
    const sdp = this.#sdp;
    if (offer === undefined) return { status: 200, sdp: sdp.offer() };
    const answer = sdp.answer(offer);
    this.#call.log({ source: 'sip', event: 'reinvite', detail: answer.ok ? { direction: answer.media.direction, codec: answer.media.codec } : { refused: answer.reason } });
    if (!answer.ok) return { status: answer.status };
    this.#tell(legSpec(answer.media));
    return { status: 200, sdp: answer.sdp };
  }

  #tell(leg: PhoneLegSpec): void {
    this.#pool.tell({ type: 'media', callId: this.#call.callId, leg });
  }
}

/** A leg before anything is agreed: it listens, and sends nothing. */
export function silentLeg(codec: 'PCMU' | 'PCMA', address: string): PhoneLegSpec {
  return { kind: 'phone', codec, payloadType: codec === 'PCMA' ? 8 : 0, ptimeMs: 20, remote: { address, port: NO_PORT }, sending: false };
}

export function legSpec(media: AnswerMedia): PhoneLegSpec {
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
