/** SIP, SIPS and tel URIs (RFC 3261 section 19.1, RFC 3966). Escaping is kept as it came; `uriUser` undoes it. */
import { excerpt, isDigits, isHostName, isIpv6Text, isUriHeaders, isUriParam, isUriPassword, isUriUser, SipSyntaxError, type Params } from './lexer.ts';

export interface SipUri {
  /** Lower case: `sip`, `sips`, `tel`, or a scheme that only `text` can say more about. */
  readonly scheme: string;
  /** As on the wire, escapes and user parameters included; of a tel URI the number. */
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** IPv6 in brackets; empty for tel and unknown schemes. */
  readonly host: string;
  readonly port: number | undefined;
  readonly params: Params;
  /** What follows `?`, undecoded; empty if nothing does. */
  readonly headers: string;
  /** The whole URI as it came. */
  readonly text: string;
}

/** Parses an absolute URI. Throws SipSyntaxError; a scheme we do not know is not an error here. */
export function parseUri(text: string): SipUri {
  const colon = text.indexOf(':');
  const scheme = text.slice(0, Math.max(colon, 0)).toLowerCase();
  if (colon < 1 || !/^[a-z][a-z0-9+.-]*$/.test(scheme)) throw new SipSyntaxError(`no URI scheme in "${excerpt(text)}"`);
  if (/[\s<>"]/.test(text)) throw new SipSyntaxError(`white space or delimiter inside the URI "${excerpt(text)}"`);
  const rest = text.slice(colon + 1);
  if (scheme === 'tel') return parseTel(text, rest);
  if (scheme !== 'sip' && scheme !== 'sips') {
    return { scheme, user: undefined, password: undefined, host: '', port: undefined, params: new Map(), headers: '', text };
  }
  const at = rest.indexOf('@');
  const account = at === -1 ? { user: undefined, password: undefined } : parseUserinfo(rest.slice(0, at));
  const question = rest.indexOf('?', at + 1);
  const headers = question === -1 ? '' : rest.slice(question + 1);
  if (!isUriHeaders(headers)) throw new SipSyntaxError(`bad headers in the URI "${excerpt(text)}"`);
  const [hostport = '', ...params] = rest.slice(at + 1, question === -1 ? undefined : question).split(';');
  return { scheme, ...account, ...parseHostport(hostport), params: parseUriParams(params), headers, text };
}

function parseTel(text: string, rest: string): SipUri {
  const [number = '', ...params] = rest.split(';');
  if (!/^\+?[0-9a-fA-F*#().-]{1,64}$/.test(number)) throw new SipSyntaxError(`not a telephone number: "${excerpt(text)}"`);
  return { scheme: 'tel', user: number, password: undefined, host: '', port: undefined, params: parseUriParams(params), headers: '', text };
}

function parseUserinfo(userinfo: string): { user: string; password: string | undefined } {
  const colon = userinfo.indexOf(':');
  const user = colon === -1 ? userinfo : userinfo.slice(0, colon);
  const password = colon === -1 ? undefined : userinfo.slice(colon + 1);
  if (!isUriUser(user) || (password !== undefined && !isUriPassword(password))) throw new SipSyntaxError(`bad user part "${excerpt(userinfo)}"`);
  return { user, password };
}

function parseHostport(text: string): { host: string; port: number | undefined } {
  const close = text.startsWith('[') ? text.indexOf(']') : -1;
  const colon = text.indexOf(':', close + 1);
  const host = colon === -1 ? text : text.slice(0, colon);
  const known = close === -1 ? isHostName(host) : close === host.length - 1 && isIpv6Text(host.slice(1, -1));
  if (!known) throw new SipSyntaxError(`bad host "${excerpt(text)}"`);
  if (colon === -1) return { host, port: undefined };
  return { host, port: parsePort(text.slice(colon + 1)) };
}

/** A port from its digits. Throws SipSyntaxError unless 1 to 65535. */
export function parsePort(digits: string): number {
  const port = Number(digits);
  if (!isDigits(digits) || port < 1 || port > 65_535) throw new SipSyntaxError(`bad port "${excerpt(digits)}"`);
  return port;
}

function parseUriParams(parts: string[]): Params {
  const params = new Map<string, string | undefined>();
  for (const part of parts) {
    const equals = part.indexOf('=');
    const name = equals === -1 ? part : part.slice(0, equals);
    const value = equals === -1 ? undefined : part.slice(equals + 1);
    if (!isUriParam(name) || (value !== undefined && !isUriParam(value))) throw new SipSyntaxError(`bad URI parameter "${excerpt(part)}"`);
    const key = unescapeText(name).toLowerCase();
    if (params.has(key)) throw new SipSyntaxError(`URI parameter "${excerpt(key)}" comes twice`);
    params.set(key, value);
  }
  return params;
}

/** Undoes %-escapes; the octets are read as UTF-8 (RFC 3261 section 19.1.2). */
function unescapeText(text: string): string {
  if (!text.includes('%')) return text;
  const octets = text.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(octets, 'latin1').toString('utf8');
}

/**
 * Who is meant, ready to be compared with a stored number or name: escapes undone, user parameters
 * (`;npdi;rn=…`, `;phone-context=…`) and, for telephone numbers, visual separators taken off.
 */
export function uriUser(uri: SipUri): string | undefined {
  if (uri.user === undefined) return undefined;
  const user = unescapeText(uri.user.split(';')[0] ?? '');
  const telephone = uri.scheme === 'tel' || /^\+[\d().-]+$/.test(user);
  return telephone ? user.replace(/[().-]/g, '') : user;
}

/** A tel URI as the SIP URI it stands for (RFC 3261 section 19.1.6); a SIP URI is returned as it is. */
export function asSipUri(uri: SipUri, host: string): SipUri {
  if (uri.scheme !== 'tel') return uri;
  const params: Params = new Map([['user', 'phone']]);
  return { ...uri, scheme: 'sip', host, params, text: `sip:${uri.text.slice(4)}@${host};user=phone` };
}

/** An address as it stands in a URI or Via: IPv6 in brackets. */
export function hostText(address: string): string {
  return address.includes(':') && !address.startsWith('[') ? `[${address}]` : address;
}

/** The address in a URI's or Via's host: brackets taken off. */
export function bareHost(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}
