import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { ArrivalLog } from './receiver-stats.ts';

const HEADER = 12;
const SAMPLES = 160;
const PCMU = 0;

/** One end of a call's RTP: sends a payload when told, logs what comes back. */
export class RtpCaller {
  readonly #socket: Socket;
  readonly #packet = Buffer.alloc(HEADER + SAMPLES);
  readonly port: number;
  #sequence = Math.trunc(Math.random() * 0x10000);
  #timestamp = Math.trunc(Math.random() * 0x100000000);
  #connected = false;
  /** Logs arrivals while set. */
  arrivals: ArrivalLog | undefined;
  /** Told of every RTP packet that comes. */
  onPacket: ((packet: Buffer) => void) | undefined;
  readonly now: () => number;
  sent = 0;

  private constructor(socket: Socket, now: () => number) {
    this.#socket = socket;
    this.now = now;
    this.port = socket.address().port;
    this.#packet[0] = 0x80;
    this.#packet.writeUInt32BE(Math.trunc(Math.random() * 0x100000000), 8);
    socket.on('message', (packet) => this.#onMessage(packet));
    // A connected socket hears ECONNREFUSED once the far end has closed its port.
    socket.on('error', () => {});
  }

  static async open(now: () => number): Promise<RtpCaller> {
    const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 18 });
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new RtpCaller(socket, now);
  }

  async connect(port: number): Promise<void> {
    this.#socket.connect(port, '127.0.0.1');
    await once(this.#socket, 'connect');
    this.#connected = true;
  }

  send(payload: Uint8Array, marker = false): void {
    if (!this.#connected) return;
    const packet = this.#packet;
    packet[1] = PCMU | (marker ? 0x80 : 0);
    packet.writeUInt16BE(this.#sequence, 2);
    packet.writeUInt32BE(this.#timestamp, 4);
    packet.set(payload, HEADER);
    this.#sequence = (this.#sequence + 1) & 0xffff;
    this.#timestamp = (this.#timestamp + SAMPLES) >>> 0;
    this.sent++;
    // The copy matters: the datagram may leave after the next one was written.
    this.#socket.send(Buffer.from(packet));
  }

  close(): void {
    this.#socket.close();
  }

  #onMessage(packet: Buffer): void {
    if (packet.length < HEADER + 1 || (packet[0] ?? 0) >> 6 !== 2) return;
    this.arrivals?.add(this.now(), packet.readUInt16BE(2), packet.readUInt32BE(4));
    this.onPacket?.(packet);
  }
}
