/** From the next hop of a request to an address (RFC 3263, as far as A and AAAA records). */
import { isIP } from 'node:net';
import { bareHost, type SipUri } from '../message/uri.ts';
import { DEFAULT_PORT } from './routing.ts';
import { plainAddress, type SipSource } from './source.ts';

export interface ResolveContext {
  /** One address of a host name; rejects when there is none. */
  readonly lookup: (host: string) => Promise<string>;
  readonly hasConnection: (to: SipSource) => boolean;
}

/**
 * Where a request inside a dialog goes. `peer` is where the dialog's last request came from: without a
 * transport in the URI its transport is kept, and an open TCP connection to the same host is used
 * again, since a client's listening port is often out of reach (RFC 5923).
 */
export async function resolveHop(uri: SipUri, peer: SipSource, context: ResolveContext): Promise<SipSource> {
  if (uri.host === '') return peer;
  const host = bareHost(uri.params.get('maddr') ?? uri.host);
  const address = plainAddress(isIP(host) === 0 ? await context.lookup(host) : host);
  const transport = transportOf(uri) ?? peer.transport;
  if (transport === 'tcp' && peer.transport === 'tcp' && address === peer.address && context.hasConnection(peer)) return peer;
  return { address, port: uri.port ?? DEFAULT_PORT, transport };
}

function transportOf(uri: SipUri): 'udp' | 'tcp' | undefined {
  const named = uri.params.get('transport')?.toLowerCase();
  if (named === 'tcp' || named === 'udp') return named;
  return uri.scheme === 'sips' ? 'tcp' : undefined;
}
