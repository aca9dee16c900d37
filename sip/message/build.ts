/** Messages to octets: long names, Content-Length always, and no way to smuggle a line in. */
import type { ReplyTo, SipRequest } from './message.ts';
import { isToken } from './lexer.ts';
import { viaText, type Via } from './headers.ts';

/** A header to send: the name as written on the wire, the value in latin1 octets (`latin1` makes them of a string). */
export type OutHeader = readonly [name: string, value: string];

const REASONS: ReadonlyMap<number, string> = new Map([
  [100, 'Trying'], [180, 'Ringing'], [183, 'Session Progress'], [200, 'OK'], [202, 'Accepted'],
  [400, 'Bad Request'], [401, 'Unauthorized'], [403, 'Forbidden'], [404, 'Not Found'], [405, 'Method Not Allowed'], [406, 'Not Acceptable'],
  [408, 'Request Timeout'], [410, 'Gone'], [413, 'Request Entity Too Large'], [415, 'Unsupported Media Type'], [416, 'Unsupported URI Scheme'],
  [420, 'Bad Extension'], [480, 'Temporarily Unavailable'], [481, 'Call/Transaction Does Not Exist'], [482, 'Loop Detected'], [483, 'Too Many Hops'],
  [484, 'Address Incomplete'], [486, 'Busy Here'], [487, 'Request Terminated'], [488, 'Not Acceptable Here'], [491, 'Request Pending'],
  [500, 'Server Internal Error'], [501, 'Not Implemented'], [503, 'Service Unavailable'], [504, 'Server Time-out'], [505, 'Version Not Supported'],
  [513, 'Message Too Large'], [600, 'Busy Everywhere'], [603, 'Decline'], [604, 'Does Not Exist Anywhere'], [606, 'Not Acceptable'], [607, 'Unwanted'],
]);

/** The phrase of a status (RFC 3261 section 21). */
export function reasonPhrase(status: number): string {
  return REASONS.get(status) ?? 'Unknown';
}

/** A string of any alphabet as the octets of its UTF-8, one character each. */
export function latin1(text: string): string {
  return /[^\x00-\x7f]/.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

/** What a response copies from a request. `topVia` may replace the received one (`received`, `rport`). */
export function replyTo(request: SipRequest, topVia: Via = request.topVia): ReplyTo {
  const { headers } = request;
  const vias = [viaText(topVia), ...headers.list('via').slice(1)];
  return { method: request.method, topVia, vias, from: headers.get('from'), to: headers.get('to'), callId: request.callId, cseq: headers.get('cseq') };
}

export interface ResponseContent {
  readonly status: number;
  readonly reason?: string;
  /** Added to To when the request had none (RFC 3261 section 8.2.6.2). */
  readonly toTag?: string;
  readonly headers?: readonly OutHeader[];
  readonly body?: { readonly type: string; readonly bytes: Buffer };
}

/** Builds a response (RFC 3261 section 8.2.6). Throws TypeError if a header would break the framing. */
export function buildResponse(to: ReplyTo, content: ResponseContent): Buffer {
  const headers: OutHeader[] = to.vias.map((via) => ['Via', via] as const);
  if (to.from !== undefined) headers.push(['From', to.from]);
  if (to.to !== undefined) headers.push(['To', content.toTag === undefined || hasTag(to.to) ? to.to : `${to.to};tag=${content.toTag}`]);
  if (to.callId !== undefined) headers.push(['Call-ID', to.callId]);
  if (to.cseq !== undefined) headers.push(['CSeq', to.cseq]);
  headers.push(...(content.headers ?? []));
  const reason = content.reason === undefined ? reasonPhrase(content.status) : latin1(content.reason);
  return assemble(`SIP/2.0 ${content.status} ${reason}`, headers, content.body);
}

function hasTag(to: string): boolean {
  return /;\s*tag\s*=/i.test(to.slice(to.lastIndexOf('>') + 1));
}

/** Builds a request from its line and headers, Via first. Throws TypeError if a header would break the framing. */
export function buildRequest(method: string, uri: string, headers: readonly OutHeader[], body?: ResponseContent['body']): Buffer {
  return assemble(`${method} ${uri} SIP/2.0`, headers, body);
}

function assemble(startLine: string, headers: readonly OutHeader[], body: ResponseContent['body']): Buffer {
  let head = checked('the start line', startLine);
  for (const [name, value] of headers) {
    if (!isToken(name)) throw new TypeError(`"${name}" cannot be a header name`);
    head += `\r\n${name}: ${checked(name, value)}`;
  }
  if (body !== undefined) head += `\r\nContent-Type: ${checked('Content-Type', body.type)}`;
  head += `\r\nContent-Length: ${body?.bytes.length ?? 0}\r\n\r\n`;
  const octets = Buffer.from(head, 'latin1');
  return body === undefined ? octets : Buffer.concat([octets, body.bytes]);
}

function checked(where: string, value: string): string {
  if (/[\r\n]|[^\x00-\xff]/.test(value)) throw new TypeError(`${where} holds a line break or a character outside latin1; encode it with latin1()`);
  return value;
}
