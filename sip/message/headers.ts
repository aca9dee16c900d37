/** The header fields we read as values: Via, the name-addr family, CSeq and lists (RFC 3261 section 20). */
import { excerpt, isDigits, isToken, parseParams, Scanner, SipSyntaxError, splitList, type Params } from './lexer.ts';
import { parsePort, parseUri, type SipUri } from './uri.ts';

/** Compact forms (RFC 3261 section 7.3.3 and the IANA registry); never sent. */
const LONG_NAMES: ReadonlyMap<string, string> = new Map([
  ['a', 'accept-contact'], ['b', 'referred-by'], ['c', 'content-type'], ['d', 'request-disposition'], ['e', 'content-encoding'],
  ['f', 'from'], ['i', 'call-id'], ['j', 'reject-contact'], ['k', 'supported'], ['l', 'content-length'], ['m', 'contact'],
  ['n', 'identity-info'], ['o', 'event'], ['r', 'refer-to'], ['s', 'subject'], ['t', 'to'], ['u', 'allow-events'], ['v', 'via'],
  ['x', 'session-expires'], ['y', 'identity'],
]);

/** A header's name in lower case and long form. */
export function canonicalName(name: string): string {
  const lower = name.toLowerCase();
  return lower.length === 1 ? (LONG_NAMES.get(lower) ?? lower) : lower;
}

export interface HeaderField {
  /** Lower case, long form. */
  readonly name: string;
  /** latin1, unfolded, trimmed. */
  readonly value: string;
}

/** A message's header fields in their order. */
export class Headers {
  readonly fields: HeaderField[];

  constructor(fields: HeaderField[]) {
    this.fields = fields;
  }

  /** The first field of this name (lower case, long form). */
  get(name: string): string | undefined {
    for (const field of this.fields) if (field.name === name) return field.value;
    return undefined;
  }

  all(name: string): string[] {
    return this.fields.filter((field) => field.name === name).map((field) => field.value);
  }

  /** All values of a comma-separated header, in order, empty ones left out. */
  list(name: string): string[] {
    return this.all(name).flatMap(splitList).filter((value) => value !== '');
  }
}

export interface Via {
  /** `2.0` from anybody who speaks our language. */
  readonly version: string;
  /** Upper case: `UDP`, `TCP`, `TLS`, `WS`… */
  readonly transport: string;
  /** sent-by; IPv6 in brackets. */
  readonly host: string;
  readonly port: number | undefined;
  readonly params: Params;
}

/** Parses one Via value. Throws SipSyntaxError. */
export function parseVia(value: string): Via {
  const scanner = new Scanner(value);
  scanner.skipSpace();
  const protocol = scanner.token();
  scanner.expect('/');
  const version = scanner.token();
  scanner.expect('/');
  const transport = scanner.token().toUpperCase();
  scanner.skipSpace();
  if (protocol.toUpperCase() !== 'SIP') throw new SipSyntaxError(`Via names the protocol "${excerpt(protocol)}"`);
  const host = scanner.host();
  const port = scanner.accept(':') ? parsePort(scanner.token()) : undefined;
  return { version, transport, host, port, params: parseParams(scanner) };
}

/** The text of a Via value, parameters in their order. */
export function viaText(via: Via): string {
  let text = `SIP/${via.version}/${via.transport} ${via.host}`;
  if (via.port !== undefined) text += `:${via.port}`;
  for (const [name, value] of via.params) text += value === undefined ? `;${name}` : `;${name}=${isToken(value) || !/[\s",;]/.test(value) ? value : `"${value}"`}`;
  return text;
}

export interface NameAddr {
  /** Without quotes, read as UTF-8. */
  readonly displayName: string | undefined;
  readonly uri: SipUri;
  /** Header parameters; the URI's own are in `uri.params`. */
  readonly params: Params;
  readonly tag: string | undefined;
}

/** Parses From, To, Contact, Route… : one name-addr or addr-spec with its parameters. Throws SipSyntaxError. */
export function parseNameAddr(value: string): NameAddr {
  const scanner = new Scanner(value.trim());
  const quoted = scanner.text.startsWith('"') ? scanner.quoted() : undefined;
  scanner.skipSpace();
  const open = scanner.text.indexOf('<', scanner.position);
  if (quoted === undefined && open === -1) return addrSpec(scanner);
  const between = scanner.text.slice(scanner.position, Math.max(open, scanner.position)).trim();
  // RFC 4475 section 3.1.2.15: an unquoted comma in a display name is tolerated, a stray quote is not.
  if (open === -1 || between.includes('"') || (quoted !== undefined && between !== '')) throw new SipSyntaxError(`bad display name in "${excerpt(value)}"`);
  const close = scanner.text.indexOf('>', open);
  if (close === -1) throw new SipSyntaxError(`"<" is not closed in "${excerpt(value)}"`);
  const uri = parseUri(scanner.text.slice(open + 1, close).trim());
  scanner.position = close + 1;
  const name = quoted ?? (between === '' ? undefined : between);
  const params = parseParams(scanner);
  return { displayName: name === undefined ? undefined : utf8(name), uri, params, tag: params.get('tag') };
}

/** Without angle brackets, everything from the first semicolon on belongs to the header (RFC 3261 section 20.10). */
function addrSpec(scanner: Scanner): NameAddr {
  const semicolon = scanner.text.indexOf(';');
  const text = scanner.text.slice(0, semicolon === -1 ? undefined : semicolon).trim();
  if (/[?,]/.test(text)) throw new SipSyntaxError(`"${excerpt(text)}" needs angle brackets`);
  const uri = parseUri(text);
  scanner.position = semicolon === -1 ? scanner.text.length : semicolon;
  const params = parseParams(scanner);
  return { displayName: undefined, uri, params, tag: params.get('tag') };
}

/** Octets kept as latin1, read as the UTF-8 they are. */
export function utf8(latin1: string): string {
  return /[\x80-\xff]/.test(latin1) ? Buffer.from(latin1, 'latin1').toString('utf8') : latin1;
}

export interface CSeq {
  readonly number: number;
  readonly method: string;
}

/** Parses CSeq; the number is below 2^31 (RFC 3261 section 8.1.1.5). Throws SipSyntaxError. */
export function parseCSeq(value: string): CSeq {
  const [digits = '', method = '', ...more] = value.trim().split(/[ \t]+/);
  const number = Number(digits);
  if (!isDigits(digits) || number >= 2 ** 31 || !isToken(method) || more.length > 0) throw new SipSyntaxError(`bad CSeq "${excerpt(value)}"`);
  return { number, method };
}

/** Parses a decimal header such as Max-Forwards or Expires. Throws SipSyntaxError outside 0…max. */
export function parseNumber(name: string, value: string, max: number): number {
  const number = Number(value);
  if (!isDigits(value) || number > max) throw new SipSyntaxError(`bad ${name} "${excerpt(value)}"`);
  return number;
}
