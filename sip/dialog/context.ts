/** What a dialog's users need of the user agent around them. */
import type { SipClock } from '../clock.ts';
import type { OutHeader } from '../message/build.ts';
import type { SipUri } from '../message/uri.ts';
import type { InviteEvents, InviteRequest } from '../transaction/layer.ts';
import type { RequestOutcome } from '../transaction/nict.ts';
import type { OutRequest } from '../transaction/out-request.ts';
import type { SipSource } from '../transport/source.ts';
import type { DialogTable } from './dialog-table.ts';

export interface DialogContext {
  readonly clock: SipClock;
  readonly dialogs: DialogTable;
  /** Our Contact towards a peer on this transport. */
  contact(transport: 'udp' | 'tcp'): string;
  /** Headers every request (`User-Agent`) or response (`Server`) of ours carries. */
  readonly requestHeaders: readonly OutHeader[];
  readonly responseHeaders: readonly OutHeader[];
  /** Sends a request of a dialog; `peer` is where the other side was last heard. */
  request(request: OutRequest, nextHop: SipUri, peer: SipSource): Promise<RequestOutcome>;
  /** Where a request to `nextHop` goes; `peer` as above. Rejects when the host has no address. */
  resolve(nextHop: SipUri, peer: SipSource): Promise<SipSource>;
  invite(request: OutRequest, to: SipSource, events: InviteEvents): InviteRequest;
  /** Sends what is not answered: an ACK. */
  send(request: OutRequest, to: SipSource): void;
  /** Random hexadecimal text of so many octets. */
  random(octets: number): string;
  /** A seconds value for Retry-After, 0 to 10 (RFC 3261 section 14.2). */
  retryAfter(): string;
  /** An exception of our user's code. */
  onFault(error: unknown): void;
}

/** Methods we answer, for Allow. */
export const ALLOWED = 'INVITE, ACK, CANCEL, BYE, OPTIONS, UPDATE';
export const ALLOW_HEADER: OutHeader = ['Allow', ALLOWED];
export const ACCEPT_HEADER: OutHeader = ['Accept', 'application/sdp, multipart/mixed'];
