/** Octets to message (RFC 3261 section 7), with a verdict for what is not one. */
import { canonicalName, Headers, parseCSeq, parseNameAddr, parseNumber, parseVia, type HeaderField, type NameAddr, type Via } from './headers.ts';
import { excerpt, isToken, SipSyntaxError } from './lexer.ts';
import type { ReplyTo, SipMessage } from './message.ts';
import { parseUri, type SipUri } from './uri.ts';

export interface ParseLimits {
  /** Largest message, head and body. */
  readonly messageBytes: number;
  readonly headers: number;
}

export const PARSE_LIMITS: ParseLimits = { messageBytes: 65_536, headers: 200 };

export type Parsed =
  | { readonly kind: 'message'; readonly message: SipMessage }
  /** Not a message. `reply`: a request that can and should be answered with this status; absent: drop it. */
  | { readonly kind: 'malformed'; readonly reason: string; readonly reply?: { readonly status: 400 | 505 | 513; readonly to: ReplyTo } };

/** Vias, Contacts or Record-Routes of one message: a call crosses a few proxies, 70 at most (Max-Forwards). */
export const MAX_VALUES = 100;

/** May stand once at most; several make the message ambiguous (RFC 4475 section 3.3.8). */
const SINGLE = new Set(['from', 'to', 'call-id', 'cseq', 'max-forwards', 'content-length', 'content-type', 'content-disposition', 'expires', 'min-expires', 'date', 'retry-after', 'session-expires', 'min-se', 'rack', 'rseq']);

type StartLine =
  | { readonly kind: 'request'; readonly method: string; readonly uri: string; readonly version: string }
  | { readonly kind: 'response'; readonly status: number; readonly reason: string }
  | { readonly kind: 'bad'; readonly method: string | undefined; readonly reason: string };

/**
 * Parses one message: a datagram, or what `StreamFramer` cut out of a stream. Never throws.
 * Octets beyond Content-Length are ignored (RFC 3261 section 18.3).
 */
export function parseMessage(bytes: Buffer, limits: ParseLimits = PARSE_LIMITS): Parsed {
  if (bytes.length > limits.messageBytes) return { kind: 'malformed', reason: `${bytes.length} bytes are more than ${limits.messageBytes}` };
  const end = bytes.indexOf('\r\n\r\n');
  const lines = bytes.toString('latin1', 0, end === -1 ? bytes.length : end).split('\r\n');
  const start = parseStartLine(lines[0] ?? '');
  const { fields, problem } = parseFields(lines, limits);
  if (start.kind === 'bad') return malformed(start.reason, start, fields, 400);
  const reason = end === -1 ? 'the head does not end' : problem;
  if (reason !== undefined) return malformed(reason, start, fields, 400);
  if (start.kind === 'request' && start.version !== 'SIP/2.0') return malformed(`version ${excerpt(start.version)}`, start, fields, 505);
  try {
    return { kind: 'message', message: readMessage(start, new Headers(fields), bytes.subarray(end + 4)) };
  } catch (error) {
    if (!(error instanceof SipSyntaxError)) throw error;
    return malformed(error.message, start, fields, 400);
  }
}

function malformed(reason: string, start: StartLine, fields: HeaderField[], status: 400 | 505): Parsed {
  const method = start.kind === 'response' ? undefined : start.method;
  // An ACK is never answered, a response neither.
  if (method === undefined || method === 'ACK') return { kind: 'malformed', reason };
  const headers = new Headers(fields);
  const vias = headers.list('via');
  try {
    const topVia = parseVia(vias[0] ?? '');
    const to: ReplyTo = { method, topVia, vias, from: headers.get('from'), to: headers.get('to'), callId: headers.get('call-id'), cseq: headers.get('cseq') };
    return { kind: 'malformed', reason, reply: { status, to } };
  } catch {
    return { kind: 'malformed', reason };
  }
}

function parseStartLine(line: string): StartLine {
  const response = /^SIP\/2\.0 ([1-6]\d\d)(?: ([^\r\n]*))?$/.exec(line);
  if (response) return { kind: 'response', status: Number(response[1]), reason: response[2] ?? '' };
  const [method = '', uri = '', version = '', ...more] = line.split(' ');
  const reason = `bad start line "${excerpt(line)}"`;
  if (/^SIP\/\d/i.test(method) || !isToken(method)) return { kind: 'bad', method: undefined, reason };
  if (uri === '' || more.length > 0 || !/^SIP\/\d+\.\d+$/i.test(version)) {
    // Only what looks like a request is worth a 400: noise is not answered.
    return { kind: 'bad', method: /SIP\/\d+\.\d+\s*$/i.test(line) ? method : undefined, reason };
  }
  return { kind: 'request', method, uri, version: version.toUpperCase() };
}

function parseFields(lines: string[], limits: ParseLimits): { fields: HeaderField[]; problem: string | undefined } {
  const fields: HeaderField[] = [];
  let problem: string | undefined;
  const seen = new Set<string>();
  for (let i = 1; i < lines.length; i++) {
    let line = lines[i]!;
    while (/^[ \t]/.test(lines[i + 1] ?? '')) line += ` ${lines[++i]!.trim()}`;
    if (fields.length >= limits.headers) {
      problem ??= `more than ${limits.headers} header fields`;
      break;
    }
    const colon = line.indexOf(':');
    const rawName = line.slice(0, Math.max(colon, 0)).trimEnd();
    if (!isToken(rawName) || /[\r\n]/.test(line)) {
      problem ??= `bad header line "${excerpt(line)}"`;
      continue;
    }
    const name = canonicalName(rawName);
    if (SINGLE.has(name) && seen.has(name)) problem ??= `${name} comes twice`;
    seen.add(name);
    fields.push({ name, value: line.slice(colon + 1).trim() });
  }
  return { fields, problem };
}

function readMessage(start: Exclude<StartLine, { kind: 'bad' }>, headers: Headers, octets: Buffer): SipMessage {
  const vias = headers.list('via');
  const topVia = readVias(vias);
  const from = parseNameAddr(required(headers, 'from'));
  const to = parseNameAddr(required(headers, 'to'));
  const callId = required(headers, 'call-id');
  if (/\s/.test(callId)) throw new SipSyntaxError(`bad Call-ID "${excerpt(callId)}"`);
  const cseq = parseCSeq(required(headers, 'cseq'));
  const base = { headers, body: readBody(headers, octets), topVia, from, to, callId, cseq };
  if (start.kind === 'response') return { kind: 'response', status: start.status, reason: start.reason, ...base };
  if (cseq.method !== start.method) throw new SipSyntaxError(`CSeq says ${excerpt(cseq.method)}, the request ${excerpt(start.method)}`);
  const forwards = headers.get('max-forwards');
  const maxForwards = forwards === undefined ? undefined : parseNumber('Max-Forwards', forwards, 255);
  return { kind: 'request', method: start.method, uri: readRequestUri(start.uri), contact: readContact(headers), maxForwards, ...base };
}

function required(headers: Headers, name: string): string {
  const value = headers.get(name);
  if (value === undefined || value === '') throw new SipSyntaxError(`no ${name}`);
  return value;
}

function readVias(vias: string[]): Via {
  if (vias[0] === undefined) throw new SipSyntaxError('no via');
  if (vias.length > MAX_VALUES) throw new SipSyntaxError(`${vias.length} Vias, at most ${MAX_VALUES}`);
  for (const via of vias.slice(1)) parseVia(via);
  const top = parseVia(vias[0]);
  if (top.version !== '2.0') throw new SipSyntaxError(`Via of version ${excerpt(top.version)}`);
  return top;
}

function readRequestUri(text: string): SipUri {
  const uri = parseUri(text);
  if (uri.headers !== '') throw new SipSyntaxError('the Request-URI carries headers');
  return uri;
}

function readContact(headers: Headers): NameAddr | undefined {
  const contacts = headers.list('contact');
  if (contacts[0] === undefined || contacts[0] === '*') return undefined;
  if (contacts.length > MAX_VALUES) throw new SipSyntaxError(`${contacts.length} Contacts, at most ${MAX_VALUES}`);
  return contacts.map(parseNameAddr)[0];
}

/** Content-Length counts; without one the datagram's rest is the body (RFC 3261 section 18.3). */
function readBody(headers: Headers, octets: Buffer): Buffer {
  const text = headers.get('content-length');
  if (text === undefined) return octets;
  const length = parseNumber('Content-Length', text, 2 ** 31);
  if (length > octets.length) throw new SipSyntaxError(`Content-Length is ${length}, there are ${octets.length} bytes`);
  return octets.subarray(0, length);
}
