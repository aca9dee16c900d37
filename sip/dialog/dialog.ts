/** A dialog's state (RFC 3261 section 12), as the UAS of the INVITE that made it. */
import type { OutHeader } from '../message/build.ts';
import { parseNameAddr, type NameAddr } from '../message/headers.ts';
import { SipSyntaxError } from '../message/lexer.ts';
import type { SipRequest } from '../message/message.ts';
import { MAX_VALUES } from '../message/parse.ts';
import { parseUri, type SipUri } from '../message/uri.ts';
import type { OutRequest } from '../transaction/layer.ts';

interface Hop {
  readonly text: string;
  readonly uri: SipUri;
}

export class Dialog {
  readonly callId: string;
  readonly localTag: string;
  /** Empty for a peer of RFC 2543 that sends no tag. */
  readonly remoteTag: string;
  /** Record-Route of the INVITE, in order: the way of our requests, and copied into the 2xx. */
  readonly recordRoutes: readonly string[];
  readonly #routeSet: readonly Hop[];
  readonly #localUri: string;
  readonly #remoteUri: string;
  #remoteTarget: SipUri;
  #remoteSequence: number;
  #localSequence = 0;

  /** Section 12.1.1. Throws SipSyntaxError on a Record-Route that is none, or too many. */
  constructor(invite: SipRequest, localTag: string) {
    this.callId = invite.callId;
    this.localTag = localTag;
    this.remoteTag = invite.from.tag ?? '';
    this.recordRoutes = invite.headers.list('record-route');
    if (this.recordRoutes.length > MAX_VALUES) throw new SipSyntaxError(`${this.recordRoutes.length} Record-Routes, at most ${MAX_VALUES}`);
    this.#routeSet = this.recordRoutes.map((text) => ({ text, uri: parseNameAddr(text).uri }));
    this.#localUri = `${invite.headers.get('to') ?? ''};tag=${localTag}`;
    this.#remoteUri = invite.headers.get('from') ?? '';
    // A peer of RFC 2543 may send no Contact: its From is all there is.
    this.#remoteTarget = (invite.contact ?? invite.from).uri;
    this.#remoteSequence = invite.cseq.number;
  }

  /** False for a request older than the last one (section 12.2.2): it is answered 500. */
  acceptsSequence(request: SipRequest): boolean {
    if (request.cseq.number <= this.#remoteSequence) return false;
    this.#remoteSequence = request.cseq.number;
    return true;
  }

  /** Takes over the Contact of an accepted re-INVITE or UPDATE (section 12.2.2). */
  refreshTarget(contact: NameAddr | undefined): void {
    if (contact !== undefined) this.#remoteTarget = contact.uri;
  }

  /** The next request of ours in this dialog, and where it goes first (section 12.2.1.1). */
  nextRequest(method: string): { request: OutRequest; nextHop: SipUri } {
    const target = stripped(this.#remoteTarget);
    const first = this.#routeSet[0];
    const strict = first !== undefined && !first.uri.params.has('lr');
    const routes = strict ? [...this.#routeSet.slice(1).map((hop) => hop.text), `<${target}>`] : this.#routeSet.map((hop) => hop.text);
    this.#localSequence++;
    const headers: OutHeader[] = [
      ...routes.map((route): OutHeader => ['Route', route]),
      ['Max-Forwards', '70'],
      ['From', this.#localUri],
      ['To', this.#remoteUri],
      ['Call-ID', this.callId],
      ['CSeq', `${this.#localSequence} ${method}`],
    ];
    const uri = strict ? stripped(first.uri) : target;
    return { request: { method, uri, callId: this.callId, headers }, nextHop: first?.uri ?? this.#remoteTarget };
  }
}

/** A URI as it may stand in a Request-URI: without headers and `method` (section 19.1.1). */
function stripped(uri: SipUri): string {
  const bare = uri.headers === '' ? uri.text : uri.text.slice(0, uri.text.indexOf('?', uri.text.indexOf('@') + 1));
  return uri.params.has('method') ? parseUri(bare.replace(/;method=[^;]*/i, '')).text : bare;
}
