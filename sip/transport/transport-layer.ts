/** Both sockets on one port, behind one `send` (RFC 3261 section 18). */
import type { SipClock } from '../clock.ts';
import { TcpTransport, type TcpEvents, type TcpLimits } from './tcp.ts';
import { UdpTransport, type UdpEvents } from './udp.ts';
import type { SipSource } from './source.ts';

export type TransportEvents = TcpEvents & UdpEvents;

/** With port 0 the TCP port of the same number may be taken; another pair is tried. */
const PORT_ATTEMPTS = 20;

export class TransportLayer {
  readonly port: number;
  readonly #udp: UdpTransport;
  readonly #tcp: TcpTransport;
  #closed: Promise<void> | undefined;

  private constructor(udp: UdpTransport, tcp: TcpTransport) {
    this.#udp = udp;
    this.#tcp = tcp;
    this.port = udp.port;
  }

  /** Opens UDP and TCP on the same port; 0 finds one that is free for both. Rejects with the system's error. */
  static async open(options: { host: string; port: number; limits: TcpLimits; clock: SipClock }, events: TransportEvents): Promise<TransportLayer> {
    const { host, port, limits, clock } = options;
    for (let attempt = 1; ; attempt++) {
      const udp = await UdpTransport.open(host, port, events);
      try {
        return new TransportLayer(udp, await TcpTransport.open(host, udp.port, events, limits, clock));
      } catch (error) {
        await udp.close();
        const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
        if (port !== 0 || !taken || attempt === PORT_ATTEMPTS) throw error;
      }
    }
  }

  get connectionCount(): number {
    return this.#tcp.connectionCount;
  }

  /** True while a TCP connection to this place is open. */
  hasConnection(to: SipSource): boolean {
    return this.#tcp.has(to);
  }

  /** Sends one message. After `close` nothing is sent and nobody is told. */
  send(bytes: Buffer, to: SipSource, failed: (error: Error) => void): void {
    if (this.#closed !== undefined) return;
    if (to.transport === 'udp') this.#udp.send(bytes, to, failed);
    else this.#tcp.send(bytes, to, failed);
  }

  /** Closes both sockets and every connection. */
  close(): Promise<void> {
    this.#closed ??= Promise.all([this.#udp.close(), this.#tcp.close()]).then(() => undefined);
    return this.#closed;
  }
}
