import { answerOffer } from '../../sip/sdp/answer.ts';
import { uriUser, type InboundInvite, type TraceEntry } from '../../sip/user-agent.ts';
import type { CallControl } from './call-control.ts';
import type { LiveCall } from './live-call.ts';
import { PhoneCall, type AcceptedCall } from './phone-call.ts';
import { SipTraces } from './sip-traces.ts';
import type { WorkerPool } from './worker-pool.ts';

/** Who is called and by whom; the answer of the records to an INVITE. */
export type InboundRoute =
  | { kind: 'unknown_source' }
  | { kind: 'unknown_number' }
  | { kind: 'no_agent' }
  | { kind: 'route'; codecs: ('PCMU' | 'PCMA')[]; accept: (call: { from: string; to: string; sipCallId: string }) => Promise<AcceptedCall | { refused: string }> };

export interface PhoneGatewayOptions {
  control: CallControl;
  pool: WorkerPool;
  route: (call: { sourceAddress: string; calledUser: string }) => Promise<InboundRoute>;
  /** Address that SDP names. */
  mediaAddress: string;
  log: { info(detail: object, message: string): void; warn(detail: object, message: string): void };
}

const RETRY_AFTER_SECONDS = '5';

/** Joins SIP to calls: an INVITE finds its number and agent, gets a media leg, is answered once the opening is ready, and ends once. */
export class PhoneGateway {
  readonly #options: PhoneGatewayOptions;
  readonly #traces = new SipTraces();

  constructor(options: PhoneGatewayOptions) {
    this.#options = options;
  }

  /** For the user agent's `onInvite`. Never throws: a failure is answered with 500 and logged. */
  invite(invite: InboundInvite): void {
    this.#answer(invite).catch((error: unknown) => {
      this.#options.log.warn({ sipCallId: invite.callId, error: String(error) }, 'an inbound call failed before it was answered');
      invite.reject(500);
    });
  }

  /** For the user agent's `onTrace`: each message becomes a line of its call's log. */
  trace(entry: TraceEntry): void {
    this.#traces.add(entry);
  }

  /** From now on the messages of this SIP call are in the log of `call`. */
  follow(sipCallId: string, call: LiveCall): void {
    this.#traces.follow(sipCallId, call);
  }

  async #answer(invite: InboundInvite): Promise<void> {
    const { control } = this.#options;
    const calledUser = uriUser(invite.requestUri) ?? '';
    const route = await this.#options.route({ sourceAddress: invite.source.address, calledUser });
    if (route.kind !== 'route') return this.#refuse(invite, calledUser, route.kind);
    const place = control.reserve();
    if (place !== 'ok') {
      this.#options.log.warn({ sipCallId: invite.callId, calledUser, place, live: control.live }, 'inbound call refused with 503: no place for it');
      invite.reject(503, { headers: { 'Retry-After': RETRY_AFTER_SECONDS } });
      return;
    }
    let accepted: AcceptedCall | { refused: string };
    try {
      const negotiated = this.#negotiate(invite, route.codecs);
      if (!negotiated) {
        control.release();
        return;
      }
      accepted = await route.accept({ from: uriUser(invite.from.uri) ?? 'anonymous', to: calledUser, sipCallId: invite.callId });
    } catch (error) {
      control.release();
      throw error;
    }
    if ('refused' in accepted) {
      control.release();
      this.#options.log.warn({ sipCallId: invite.callId, calledUser, rule: accepted.refused }, 'inbound call refused with 503');
      invite.reject(503, { headers: { 'Retry-After': RETRY_AFTER_SECONDS } });
      return;
    }
    await new PhoneCall(invite, accepted, route.codecs, this.#options).run((call) => this.follow(invite.callId, call));
  }

  /** Whether we share a codec; refuses with 488 and the reason when not. A late offer is negotiated at the ACK. */
  #negotiate(invite: InboundInvite, codecs: ('PCMU' | 'PCMA')[]): boolean {
    if (invite.offer === undefined) return true;
    const answer = answerOffer(invite.offer, { address: this.#options.mediaAddress, port: 9, sessionId: '0', version: 0, codecs });
    if (answer.ok) return true;
    this.#options.log.warn({ sipCallId: invite.callId, reason: answer.reason }, 'inbound call refused with 488');
    invite.reject(488, { reason: 'Not Acceptable Here' });
    return false;
  }

  #refuse(invite: InboundInvite, calledUser: string, kind: 'unknown_source' | 'unknown_number' | 'no_agent'): void {
    const status = kind === 'no_agent' ? 480 : 404;
    this.#options.log.warn({ sipCallId: invite.callId, source: invite.source.address, calledUser, rule: kind }, `inbound call refused with ${status}`);
    invite.reject(status);
  }
}
