/** UDP port pairs for calls: RTP on an even port, RTCP on the odd one above (RFC 3550 section 11). */
import { createSocket, type Socket } from 'node:dgram';
import { randomInt } from 'node:crypto';
import { isIPv6 } from 'node:net';

/** A bound pair. `release` closes both sockets and gives the ports back; safe to call twice. */
export interface PortPair {
  port: number;
  rtp: Socket;
  rtcp: Socket;
  release(): Promise<void>;
}

/** Pairs tried before giving up when other programs hold ports of the range. */
const MAX_TRIES = 64;

export class PortPool {
  readonly #first: number;
  readonly #inUse: Uint8Array;
  readonly #random: (below: number) => number;
  #used = 0;

  /** `from` to `to` inclusive; an odd `from` is rounded up. Throws RangeError when not one pair fits. */
  constructor(options: { from: number; to: number; random?: (below: number) => number }) {
    const { from, to } = options;
    this.#first = from + (from % 2);
    const pairs = Math.floor((to - this.#first + 1) / 2);
    if (!Number.isInteger(from) || !Number.isInteger(to) || from < 1 || to > 65_535 || pairs < 1) {
      throw new RangeError(`RTP ports ${from}-${to} hold no pair of ports: give a range within 1-65535 with an even port and the odd one above it`);
    }
    this.#inUse = new Uint8Array(pairs);
    this.#random = options.random ?? ((below) => randomInt(below));
  }

  /** Pairs in the range. */
  get size(): number {
    return this.#inUse.length;
  }

  get free(): number {
    return this.#inUse.length - this.#used;
  }

  /**
   * Binds a pair at a random place of the range, so that a call's ports cannot be guessed from the call before. Pairs that
   * another program holds are stepped over. Throws when the range is used up or the host is not ours.
   */
  async bind(host: string): Promise<PortPair> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const index = this.#take();
      if (index === undefined) break;
      const port = this.#first + 2 * index;
      const rtp = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
      const rtcp = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
      let released: Promise<void> | undefined;
      const release = (): Promise<void> => {
        released ??= Promise.all([closeSocket(rtp), closeSocket(rtcp)]).then(() => this.#give(index));
        return released;
      };
      try {
        await bindSocket(rtp, port, host);
        await bindSocket(rtcp, port + 1, host);
        return { port, rtp, rtcp, release };
      } catch (error) {
        await release();
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      }
    }
    throw new Error(`No free RTP port pair in ${this.#first}-${this.#first + 2 * this.size - 1} on ${host}: ${this.#used} of ${this.size} pairs are in use by calls`);
  }

  #take(): number | undefined {
    if (this.free === 0) return undefined;
    let index = this.#random(this.size);
    while (this.#inUse[index] !== 0) index = (index + 1) % this.size;
    this.#inUse[index] = 1;
    this.#used++;
    return index;
  }

  #give(index: number): void {
    this.#inUse[index] = 0;
    this.#used--;
  }
}

function bindSocket(socket: Socket, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind({ port, address, exclusive: true }, () => {
      socket.removeListener('error', reject);
      resolve();
    });
  });
}

function closeSocket(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.removeAllListeners('message');
    socket.close(() => resolve());
  });
}
