/** Finds the session description in a message's body, also inside multipart (RFC 3261 section 7.4, RFC 5621). */
import type { Headers } from './headers.ts';
import { parseParams, Scanner, SipSyntaxError } from './lexer.ts';
import type { SipMessage } from './message.ts';

export type BodyContent =
  | { readonly kind: 'none' }
  | { readonly kind: 'sdp'; readonly sdp: string }
  /** We cannot read it: 415 with Accept (RFC 3261 section 8.2.3). */
  | { readonly kind: 'unsupported'; readonly what: 'type' | 'encoding'; readonly type: string };

const MAX_PARTS = 16;

/** The SDP a message carries. A body that may be ignored (`handling=optional`) counts as none. Throws SipSyntaxError. */
export function bodyContent(message: SipMessage): BodyContent {
  if (message.body.length === 0) return { kind: 'none' };
  const { headers } = message;
  const type = headers.get('content-type');
  if (type === undefined) throw new SipSyntaxError('a body without Content-Type');
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') return optional(headers) ? { kind: 'none' } : { kind: 'unsupported', what: 'encoding', type: encoding };
  const media = parseMediaType(type);
  if (media.name === 'application/sdp') return { kind: 'sdp', sdp: message.body.toString('utf8') };
  const boundary = media.params.get('boundary');
  if (media.name.startsWith('multipart/') && boundary !== undefined) {
    const sdp = sdpPart(message.body, boundary);
    if (sdp !== undefined) return { kind: 'sdp', sdp };
  }
  return optional(headers) ? { kind: 'none' } : { kind: 'unsupported', what: 'type', type: media.name };
}

function parseMediaType(value: string): { name: string; params: ReadonlyMap<string, string | undefined> } {
  const scanner = new Scanner(value);
  const type = scanner.token();
  scanner.expect('/');
  const subtype = scanner.token();
  return { name: `${type}/${subtype}`.toLowerCase(), params: parseParams(scanner) };
}

function optional(headers: Headers): boolean {
  return /;\s*handling\s*=\s*optional/i.test(headers.get('content-disposition') ?? '');
}

/** RFC 2046 section 5.1.1, one level deep: what ISUP trunks send. */
function sdpPart(body: Buffer, boundary: string): string | undefined {
  const text = `\r\n${body.toString('latin1')}`;
  const parts = text.split(`\r\n--${boundary}`, MAX_PARTS + 2).slice(1);
  for (const part of parts) {
    const end = part.indexOf('\r\n\r\n');
    if (part.startsWith('--') || end === -1) continue;
    if (/(?:^|\r\n)content-type:\s*application\/sdp\s*(?:;|\r\n|$)/i.test(part.slice(0, end))) return Buffer.from(part.slice(end + 4), 'latin1').toString('utf8');
  }
  return undefined;
}
