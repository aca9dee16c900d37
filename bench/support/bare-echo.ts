import { BenchChild } from './child.ts';
import type { Peer, PeerKind } from './peers.ts';

export interface ToEcho { type: 'connect'; callerPorts: number[] }
export interface FromEcho { type: 'connected'; ports: number[] }

const NAME = 'bare Node dgram echo';

/** Connected sockets that echo, in a process of their own: what Node itself takes of every packet pair, on this machine at this hour. */
export const BARE_ECHO: PeerKind = { name: NAME, start: startEcho };

async function startEcho(): Promise<Peer> {
  const child = await BenchChild.start<ToEcho, FromEcho>(new URL('./bare-echo-process.ts', import.meta.url));
  return {
    name: NAME,
    pid: child.pid,
    connect: async (callerPorts) => (await child.ask({ type: 'connect', callerPorts }, 'connected')).ports,
    close: () => child.close(),
  };
}
