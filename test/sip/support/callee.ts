/** The called side's responses to an INVITE of ours, in raw text. */
import { header, type Peer } from './sip-peer.ts';

export interface ResponseParts { tag?: string; headers?: string[]; body?: string; contact?: boolean }

/** A response to `received` with a To tag, a Contact and a body where they are asked for. */
export function reply(peer: Peer, received: string, status: string, { tag = 'callee', headers = [], body = '', contact = true }: ResponseParts = {}): string {
  const copied = received.split('\r\n').filter((line) => /^(via|from|call-id|cseq):/i.test(line));
  const to = header(received, 'To') ?? '';
  return [
    `SIP/2.0 ${status}`, ...copied,
    `To: ${to}${/;tag=/.test(to) || tag === '' ? '' : `;tag=${tag}`}`,
    ...(contact ? [`Contact: <sip:callee@${peer.address}:${peer.port}${peer.transport === 'TCP' ? ';transport=tcp' : ''}>`] : []),
    ...headers,
    ...(body === '' ? [] : ['Content-Type: application/sdp']),
    `Content-Length: ${body.length}`, '', body,
  ].join('\r\n');
}
