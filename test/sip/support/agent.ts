/** A user agent on loopback with a fake clock, and what it told its user. */
import type { Test } from 'tap';
import { UserAgent, type InboundInvite, type Refusal, type TraceEntry, type UserAgentOptions } from '../../../sip/user-agent.ts';
import { FakeClock } from './fake-clock.ts';
import { request, tcpPeer, udpPeer, type Peer, type TcpPeer } from './sip-peer.ts';

export interface Agent {
  readonly ua: UserAgent;
  readonly clock: FakeClock;
  readonly invites: InboundInvite[];
  readonly trace: TraceEntry[];
  readonly refused: Refusal[];
  readonly faults: unknown[];
  udp(address?: string): Promise<Peer>;
  tcp(address?: string): Promise<TcpPeer>;
}

export const ANSWER = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 30000 RTP/AVP 0\r\n';

export async function agent(t: Test, options: Partial<UserAgentOptions> = {}): Promise<Agent> {
  const clock = new FakeClock();
  const invites: InboundInvite[] = [];
  const trace: TraceEntry[] = [];
  const refused: Refusal[] = [];
  const faults: unknown[] = [];
  const ua = await UserAgent.start({
    host: '127.0.0.1',
    port: 0,
    advertisedAddress: '127.0.0.1',
    admits: () => true,
    onInvite: (invite) => void invites.push(invite),
    onTrace: (entry) => void trace.push(entry),
    onRefused: (refusal) => void refused.push(refusal),
    onFault: (error) => void faults.push(error),
    clock,
    ...options,
  });
  t.teardown(() => ua.close());
  const closing = <P extends Peer>(peer: P): P => {
    t.teardown(() => peer.close());
    return peer;
  };
  return { ua, clock, invites, trace, refused, faults, udp: async (address) => closing(await udpPeer(ua, address)), tcp: async (address) => closing(await tcpPeer(ua, address)) };
}

let barriers = 0;

/** Everything this peer sent before has been dealt with once its OPTIONS is answered. */
export async function settled(peer: Peer): Promise<void> {
  const callId = `barrier${++barriers}`;
  const rest = [...peer.inbox];
  peer.send(request(peer, 'OPTIONS', { callId }));
  for (;;) {
    const answer = await peer.next('SIP/2.0 200');
    if (answer.includes(`Call-ID: ${callId}`)) break;
    rest.push(answer);
  }
  peer.inbox.unshift(...rest);
}
