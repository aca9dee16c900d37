/** A dialog's state (RFC 3261 section 12), as the UAS or the UAC of the INVITE that made it. */
import type { OutHeader } from '../message/build.ts';
import { parseNameAddr, type NameAddr } from '../message/headers.ts';
import { SipSyntaxError } from '../message/lexer.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import { MAX_VALUES } from '../message/parse.ts';
import { parseUri, type SipUri } from '../message/uri.ts';
import type { OutRequest } from '../transaction/out-request.ts';

interface Hop {
  readonly text: string;
  readonly uri: SipUri;
}

interface DialogState {
  readonly callId: string;
  readonly localTag: string;
  readonly remoteTag: string;
  readonly recordRoutes: readonly string[];
  readonly routeSet: readonly Hop[];
  readonly localUri: string;
  readonly remoteUri: string;
  readonly remoteTarget: SipUri;
  readonly localSequence: number;
  readonly remoteSequence: number;
}

/** Our INVITE, as far as its dialogs come of it. */
export interface DialogSeed {
  readonly callId: string;
  readonly localTag: string;
  /** From, with our tag. */
  readonly from: string;
  readonly target: SipUri;
  /** CSeq number of the INVITE. */
  readonly sequence: number;
}

export class Dialog {
  readonly callId: string;
  readonly localTag: string;
  /** Empty for a peer of RFC 2543 that sends no tag. */
  readonly remoteTag: string;
  /** As the UAS, Record-Route of the INVITE, in order: copied into the 2xx. */
  readonly recordRoutes: readonly string[];
  readonly #routeSet: readonly Hop[];
  readonly #localUri: string;
  readonly #remoteUri: string;
  #remoteTarget: SipUri;
  #remoteSequence: number;
  #localSequence: number;

  private constructor(state: DialogState) {
    this.callId = state.callId;
    this.localTag = state.localTag;
    this.remoteTag = state.remoteTag;
    this.recordRoutes = state.recordRoutes;
    this.#routeSet = state.routeSet;
    this.#localUri = state.localUri;
    this.#remoteUri = state.remoteUri;
    this.#remoteTarget = state.remoteTarget;
    this.#localSequence = state.localSequence;
    this.#remoteSequence = state.remoteSequence;
  }

  /** Section 12.1.1. Throws SipSyntaxError on a Record-Route that is none, or too many. */
  static asServer(invite: SipRequest, localTag: string): Dialog {
    const recordRoutes = invite.headers.list('record-route');
    return new Dialog({
      callId: invite.callId,
      localTag,
      remoteTag: invite.from.tag ?? '',
      recordRoutes,
      routeSet: readRoutes(recordRoutes),
      localUri: `${invite.headers.get('to') ?? ''};tag=${localTag}`,
      remoteUri: invite.headers.get('from') ?? '',
      // A peer of RFC 2543 may send no Contact: its From is all there is.
      remoteTarget: (invite.contact ?? invite.from).uri,
      localSequence: 0,
      remoteSequence: invite.cseq.number,
    });
  }

  /** Section 12.1.2, from a response with a To tag. Throws SipSyntaxError on a Contact or Record-Route that is none, or too many. */
  static asClient(seed: DialogSeed, response: SipResponse): Dialog {
    const contact = response.headers.list('contact')[0];
    return new Dialog({
      callId: seed.callId,
      localTag: seed.localTag,
      remoteTag: response.to.tag ?? '',
      recordRoutes: [],
      routeSet: readRoutes(response.headers.list('record-route').reverse()),
      localUri: seed.from,
      remoteUri: response.headers.get('to') ?? '',
      // Responses without Contact are seen; the way the INVITE took is all there is then.
      remoteTarget: contact === undefined ? seed.target : parseNameAddr(contact).uri,
      localSequence: seed.sequence,
      remoteSequence: -1,
    });
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
    this.#localSequence++;
    return this.#request(method, this.#localSequence);
  }

  /** The ACK of a 2xx to our INVITE (section 13.2.2.4). */
  ack(sequence: number): { request: OutRequest; nextHop: SipUri } {
    return this.#request('ACK', sequence);
  }

  #request(method: string, sequence: number): { request: OutRequest; nextHop: SipUri } {
    const target = stripped(this.#remoteTarget);
    const first = this.#routeSet[0];
    const strict = first !== undefined && !first.uri.params.has('lr');
    const routes = strict ? [...this.#routeSet.slice(1).map((hop) => hop.text), `<${target}>`] : this.#routeSet.map((hop) => hop.text);
    const headers: OutHeader[] = [
      ...routes.map((route): OutHeader => ['Route', route]),
      ['Max-Forwards', '70'],
      ['From', this.#localUri],
      ['To', this.#remoteUri],
      ['Call-ID', this.callId],
      ['CSeq', `${sequence} ${method}`],
    ];
    const uri = strict ? stripped(first.uri) : target;
    return { request: { method, uri, callId: this.callId, headers }, nextHop: first?.uri ?? this.#remoteTarget };
  }
}

function readRoutes(texts: readonly string[]): Hop[] {
  if (texts.length > MAX_VALUES) throw new SipSyntaxError(`${texts.length} Record-Routes, at most ${MAX_VALUES}`);
  return texts.map((text) => ({ text, uri: parseNameAddr(text).uri }));
}

/** A URI as it may stand in a Request-URI: without headers and `method` (section 19.1.1). */
function stripped(uri: SipUri): string {
  const bare = uri.headers === '' ? uri.text : uri.text.slice(0, uri.text.indexOf('?', uri.text.indexOf('@') + 1));
  return uri.params.has('method') ? parseUri(bare.replace(/;method=[^;]*/i, '')).text : bare;
}
