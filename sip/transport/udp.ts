/** SIP over UDP: one socket, one message a datagram. */
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { plainAddress, type SipSource } from './source.ts';

/** A burst of calls must survive a busy event loop: 4 MiB hold some 4000 INVITEs. The kernel may grant less. */
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024;

export interface UdpEvents {
  onDatagram(bytes: Buffer, source: SipSource): void;
}

export class UdpTransport {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Binds. Rejects with the system's error when the address or port cannot be had. */
  static async open(host: string, port: number, events: UdpEvents): Promise<UdpTransport> {
    const socket = createSocket({ type: isIPv6(host) ? 'udp6' : 'udp4', recvBufferSize: RECEIVE_BUFFER_BYTES });
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(port, host, () => {
        socket.off('error', reject);
        resolve();
      });
    });
    // ICMP errors of one peer are not an error of the socket; lost answers are the timers' business.
    socket.on('error', () => undefined);
    socket.on('message', (bytes, { address, port: from }) => events.onDatagram(bytes, { address: plainAddress(address), port: from, transport: 'udp' }));
    return new UdpTransport(socket);
  }

  get port(): number {
    return this.#socket.address().port;
  }

  /** Sends one datagram; `failed` is told why if the system refuses it. */
  send(bytes: Buffer, to: { address: string; port: number }, failed: (error: Error) => void): void {
    this.#socket.send(bytes, to.port, to.address, (error) => {
      if (error) failed(error);
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#socket.close(() => resolve()));
  }
}
