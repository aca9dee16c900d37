/** What a parsed message is (RFC 3261 section 7): the fields every rule needs as values, the rest as text. */
import type { CSeq, Headers, NameAddr, Via } from './headers.ts';
import type { SipUri } from './uri.ts';

interface MessageFields {
  readonly headers: Headers;
  readonly body: Buffer;
  readonly topVia: Via;
  readonly from: NameAddr;
  readonly to: NameAddr;
  readonly callId: string;
  readonly cseq: CSeq;
}

export interface SipRequest extends MessageFields {
  readonly kind: 'request';
  readonly method: string;
  readonly uri: SipUri;
  readonly contact: NameAddr | undefined;
  readonly maxForwards: number | undefined;
}

export interface SipResponse extends MessageFields {
  readonly kind: 'response';
  readonly status: number;
  readonly reason: string;
}

export type SipMessage = SipRequest | SipResponse;

/** What a response copies from its request (RFC 3261 section 8.2.6.2); of a malformed request only what could be found. */
export interface ReplyTo {
  readonly method: string;
  readonly topVia: Via;
  /** Every Via value, the top one first. */
  readonly vias: readonly string[];
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly callId: string | undefined;
  readonly cseq: string | undefined;
}

/** RFC 3261 section 8.1.1.7: the cookie alone is not a unique branch (RFC 4475 section 3.2.1). */
export function isUniqueBranch(branch: string | undefined): branch is string {
  return branch !== undefined && branch.length > 7 && branch.toLowerCase().startsWith('z9hg4bk');
}
