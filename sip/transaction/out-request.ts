/** A request of ours, and those that go with an INVITE: CANCEL (RFC 3261 section 9.1) and the ACK of a refusal (section 17.1.1.3). */
import type { OutHeader } from '../message/build.ts';

/** A request of ours, without Via. */
export interface OutRequest {
  readonly method: string;
  readonly uri: string;
  readonly callId: string;
  readonly headers: readonly OutHeader[];
  readonly body?: { readonly type: string; readonly bytes: Buffer };
}

const CANCEL_KEEPS = new Set(['route', 'max-forwards', 'from', 'to', 'call-id']);
const ACK_KEEPS = new Set(['route', 'max-forwards', 'from', 'call-id', 'authorization', 'proxy-authorization']);

export function cancelOf(invite: OutRequest): OutRequest {
  return companion(invite, 'CANCEL', CANCEL_KEEPS, []);
}

/** `to`: the refusal's To, with its tag. */
export function ackOf(invite: OutRequest, to: string): OutRequest {
  return companion(invite, 'ACK', ACK_KEEPS, [['To', to]]);
}

function companion(invite: OutRequest, method: string, keeps: ReadonlySet<string>, more: OutHeader[]): OutRequest {
  const kept = invite.headers.filter(([name]) => keeps.has(name.toLowerCase()));
  const cseq = invite.headers.find(([name]) => name === 'CSeq')?.[1] ?? '';
  return { method, uri: invite.uri, callId: invite.callId, headers: [...kept, ...more, ['CSeq', cseq.replace('INVITE', method)]] };
}
