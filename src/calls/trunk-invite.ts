import { hostText, type InviteOptions } from '../../sip/user-agent.ts';
import type { DialTrunk } from '../resources/calls/live-calls.ts';

/** Country codes of one and two digits (ITU-T E.164 annex D); every other has three. */
const SHORT_COUNTRY_CODE = /^(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58])/;

/** A number (E.164) as a trunk wants it. `national`: without country code and trunk prefix. */
export function numberFor(format: DialTrunk['numberFormat'], e164: string): string {
  const digits = e164.replace(/^\+/, '');
  switch (format) {
    case 'e164': return e164;
    case 'strip_plus': return digits;
    case 'national': return digits.slice(SHORT_COUNTRY_CODE.exec(digits)?.[0].length ?? 3);
  }
}

/** How a call from `from` to `to` (E.164) is asked for on this trunk. */
export function inviteThrough(trunk: DialTrunk, { from, to }: { from: string; to: string }): Omit<InviteOptions, 'sdp'> {
  const { transport, username, password, realm, callerIdMode, numberFormat } = trunk;
  const host = hostText(trunk.host);
  const domain = hostText(trunk.fromDomain ?? trunk.host);
  const caller = `<sip:${numberFor(numberFormat, from)}@${domain}>`;
  const account = username === null || callerIdMode === 'from' ? caller : `<sip:${encodeURIComponent(username)}@${domain}>`;
  const headers = {
    ...trunk.headers,
    ...(callerIdMode === 'pai' ? { 'P-Asserted-Identity': caller } : {}),
    ...(callerIdMode === 'rpid' ? { 'Remote-Party-ID': `${caller};party=calling;screen=yes;privacy=off` } : {}),
  };
  return {
    uri: `sip:${numberFor(numberFormat, to)}@${host}${trunk.port === null ? '' : `:${trunk.port}`}${transport === 'tcp' ? ';transport=tcp' : ''}`,
    from: account,
    transport,
    headers,
    ...(trunk.outboundProxy === null ? {} : { proxy: proxyUri(trunk.outboundProxy) }),
    ...(username === null || password === null ? {} : { credentials: { username, password, ...(realm === null ? {} : { realm }) } }),
  };
}

/** As a loose route (RFC 3261 section 16.12): what follows the URI stays in the Request-URI. */
function proxyUri(proxy: string): string {
  const uri = proxy.startsWith('sip:') ? proxy : `sip:${proxy}`;
  return /;lr(?:[;=]|$)/.test(uri) ? uri : `${uri};lr`;
}
