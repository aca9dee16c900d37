import type { Allocation } from './allocation.ts';
import { BenchChild } from './child.ts';
import type { Peer, PeerKind } from './peers.ts';

export type ToEcho =
  /** -> `connected` */
  | { type: 'connect'; callerPorts: number[] }
  /** Counts what the echo allocates for so long. -> `allocated` */
  | { type: 'allocation'; seconds: number };
export type FromEcho = { type: 'connected'; ports: number[] } | ({ type: 'allocated' } & Allocation);

const NAME = 'bare Node dgram echo';

/** Connected sockets that echo, in a process of their own: what Node itself takes of every packet pair, on this machine at this hour. */
export const BARE_ECHO: PeerKind = { name: NAME, start: startEcho };

async function startEcho(): Promise<Peer> {
  const child = await BenchChild.start<ToEcho, FromEcho>(new URL('./bare-echo-process.ts', import.meta.url));
  return {
    name: NAME,
    pid: child.pid,
    connect: async (callerPorts) => (await child.ask({ type: 'connect', callerPorts }, 'connected')).ports,
    allocation: (seconds) => child.ask({ type: 'allocation', seconds }, 'allocated'),
    close: () => child.close(),
  };
}
