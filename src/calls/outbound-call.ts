import { SdpNegotiation } from '../../sip/sdp/negotiation.ts';
import type { InviteDialog, InviteOutcome, OutboundInvite, UserAgent } from '../../sip/user-agent.ts';
import type { EndReason } from '../end-reason.ts';
import type { DialTrunk, PlaceRequest } from '../resources/calls/live-calls.ts';
import type { CallControl } from './call-control.ts';
import { DialogMedia, silentLeg } from './dialog-media.ts';
import type { LiveCall } from './live-call.ts';
import { inviteThrough } from './trunk-invite.ts';
import type { WorkerPool } from './worker-pool.ts';

export interface OutboundCallOptions {
  agent: UserAgent;
  control: CallControl;
  pool: WorkerPool;
  mediaAddress: string;
  follow: (sipCallId: string, call: LiveCall) => void;
}

type Dial = PlaceRequest & { trunk: DialTrunk; from: string };
type Failure = Exclude<InviteOutcome, { kind: 'answered' }>;

const RINGING = new Set([180, 183]);

/** One call that we place: its INVITE, then its dialog, and its media leg, each ending the other, once. */
export class OutboundCall {
  readonly #dial: Dial;
  readonly #options: OutboundCallOptions;
  readonly #live: LiveCall;
  readonly #opened: Promise<{ rtpPort?: number } | undefined>;
  #invite: OutboundInvite | undefined;
  #dialog: InviteDialog | undefined;
  #ringTimer: NodeJS.Timeout | undefined;
  #ended = false;

  /** Opens the media leg: its port stands in the offer. */
  constructor(dial: Dial, options: OutboundCallOptions) {
    this.#dial = dial;
    this.#options = options;
    const { callId, agent, recordingPath, trunk } = dial;
    const { call, opened } = options.control.open(
      { type: 'open', callId, agent, leg: silentLeg(trunk.codecs[0] ?? 'PCMU', options.mediaAddress), ...(recordingPath === undefined ? {} : { recordingPath }) },
      () => this.#onMediaEnded(),
    );
    this.#live = call;
    this.#opened = opened;
  }

  /** Resolves once the call was answered, or failed. */
  async run(): Promise<void> {
    const media = await this.#opened;
    if (media?.rtpPort === undefined || this.#ended) return;
    const { trunk, ringTimeoutMs } = this.#dial;
    const sdp = new SdpNegotiation({ address: this.#options.mediaAddress, port: media.rtpPort, sessionId: String(Date.now()), codecs: trunk.codecs });
    const invite = this.#options.agent.invite({ ...inviteThrough(trunk, this.#dial), sdp: sdp.offer(), onProgress: ({ status, reason }) => this.#onProgress(status, reason) });
    this.#invite = invite;
    this.#options.follow(invite.callId, this.#live);
    this.#live.progress({ status: 'dialing', sip: { callId: invite.callId } });
    this.#ringTimer = setTimeout(() => this.#live.hangUp('no_answer', `Nobody answered within ${ringTimeoutMs} ms.`), ringTimeoutMs);
    const outcome = await invite.outcome;
    clearTimeout(this.#ringTimer);
    if (outcome.kind === 'answered') this.#onAnswered(outcome, sdp);
    else this.#onFailed(outcome);
  }

  /** For what should not happen: ends the call. */
  fail(): void {
    clearTimeout(this.#ringTimer);
    this.#live.hangUp('internal_error');
  }

  #onProgress(status: number, reason: string): void {
    const sip = { callId: this.#invite?.callId ?? '', responseCode: status, reason };
    this.#live.progress(RINGING.has(status) ? { status: 'ringing', sip } : { sip });
  }

  #onAnswered(answer: Extract<InviteOutcome, { kind: 'answered' }>, sdp: SdpNegotiation): void {
    const { dialog, status, reason } = answer;
    this.#dialog = dialog;
    this.#live.progress({ sip: { callId: dialog.callId, responseCode: status, reason } });
    if (this.#ended) {
      void dialog.bye();
      return;
    }
    const media = new DialogMedia(sdp, this.#live, this.#options.pool);
    media.follow(dialog);
    if (media.takeAnswer(answer.sdp ?? '')) this.#live.answered(true);
  }

  #onFailed(failure: Failure): void {
    if (failure.kind === 'refused') this.#live.progress({ sip: { callId: this.#invite?.callId ?? '', responseCode: failure.status, reason: failure.reason } });
    const { reason, detail } = endOf(failure);
    this.#live.hangUp(reason, detail);
  }

  /** The worker says that the call is over: take leave of the peer in whatever way its state asks for. */
  #onMediaEnded(): void {
    this.#ended = true;
    clearTimeout(this.#ringTimer);
    if (this.#dialog) void this.#dialog.bye();
    else this.#invite?.cancel();
  }
}

const BY_STATUS: ReadonlyMap<number, EndReason> = new Map([
  [486, 'busy'], [600, 'busy'], [408, 'no_answer'], [480, 'no_answer'], [603, 'declined'], [607, 'declined'],
  [404, 'invalid_destination'], [484, 'invalid_destination'], [604, 'invalid_destination'],
]);

/** How a call ends that was not answered, and why in words. */
export function endOf(failure: Failure): { reason: EndReason; detail: string } {
  switch (failure.kind) {
    case 'refused': {
      const said = `The trunk answered ${failure.status} ${failure.reason}.`;
      if (failure.challenged) return { reason: 'trunk_auth_failed', detail: `${said} Check the trunk's username, password and realm.` };
      return { reason: BY_STATUS.get(failure.status) ?? 'sip_error', detail: said };
    }
    case 'timeout': return { reason: 'no_answer', detail: 'The trunk answered nothing at all. Check its host, port and transport.' };
    case 'transport_failed': return { reason: 'trunk_unavailable', detail: `The trunk could not be reached: ${failure.detail}.` };
    case 'canceled': return { reason: 'api_hangup', detail: 'The call was given up before it was answered.' };
  }
}
