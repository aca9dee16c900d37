/** Which way a response goes, and what the top Via learns on arrival (RFC 3261 section 18.2, RFC 3581). */
import type { Via } from '../message/headers.ts';
import { bareHost, hostText } from '../message/uri.ts';
import type { SipSource } from './source.ts';

export const DEFAULT_PORT = 5060;

/** The Via as responses carry it: `received` where the host is not the source, `rport` filled in where asked for. */
export function stampVia(via: Via, source: SipSource): Via {
  const params = new Map(via.params);
  // What a client claims about itself here could send our answers to a stranger.
  params.delete('received');
  const wantsRport = params.has('rport');
  if (wantsRport) params.set('rport', String(source.port));
  if (wantsRport || bareHost(via.host).toLowerCase() !== source.address.toLowerCase()) params.set('received', source.address);
  return { ...via, params };
}

/**
 * Where the response to a request goes. Over TCP back along the connection; over UDP to the packet's
 * own source address, at its port with `rport`, else at the Via's. `maddr` (section 18.2.2) is not
 * followed: it would let one packet send ours to any third party.
 */
export function responseDestination(via: Via, source: SipSource): SipSource {
  if (source.transport === 'tcp' || via.params.has('rport')) return source;
  return { ...source, port: via.port ?? DEFAULT_PORT };
}

/** Over TCP, when the connection is gone: the listening port the Via names (section 18.2.2). */
export function reconnectDestination(via: Via, source: SipSource): SipSource {
  return { ...source, port: via.port ?? DEFAULT_PORT };
}

/** Our own Via for a request. `rport` asks the peer for the same favour. */
export function ownVia(transport: 'udp' | 'tcp', address: string, port: number, branch: string): string {
  return `SIP/2.0/${transport.toUpperCase()} ${hostText(address)}:${port};branch=${branch};rport`;
}
