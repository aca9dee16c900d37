import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { encodePcmu } from '../../media/codec/g711.ts';
import { buildRtp, emptyRtpPacket, parseRtp, type RtpPacket } from '../../media/rtp/packet.ts';
import { PortPool } from '../../media/rtp/port-pool.ts';
import { parseRtcp, type RtcpPacket } from '../../media/rtp/rtcp.ts';

export const HOST = '127.0.0.1';
const phones = new PortPool({ from: 35_000, to: 35_999 });
/** What the running test opened, to be closed after it. */
export const open: { close(): Promise<unknown> }[] = [];
const loud = new Uint8Array(160);
encodePcmu(Int16Array.from({ length: 160 }, (_, i) => 10_000 * Math.sin((2 * Math.PI * 500 * i) / 8000)), 0, 160, loud);

/** A phone: an RTP and an RTCP socket on neighbouring ports, and everything that reached them. */
export class Phone {
  readonly rtp: Socket;
  readonly rtcp: Socket;
  readonly received: { packet: RtpPacket; payload: Uint8Array }[] = [];
  readonly reports: RtcpPacket[][] = [];
  readonly #release: () => Promise<void>;
  sequence = 100;
  timestamp = 8000;
  ssrc = 0xabcd;
  payloadType = 0;

  static async open(): Promise<Phone> {
    const pair = await phones.bind(HOST);
    return new Phone(pair.rtp, pair.rtcp, pair.release);
  }

  constructor(rtp: Socket, rtcp: Socket, release: () => Promise<void>) {
    this.rtp = rtp;
    this.rtcp = rtcp;
    this.#release = release;
    rtp.on('message', (bytes) => {
      const packet = parseRtp(bytes, emptyRtpPacket());
      if (packet) this.received.push({ packet, payload: bytes.subarray(packet.payloadStart, packet.payloadEnd) });
    });
    rtcp.on('message', (bytes) => void this.reports.push(parseRtcp(bytes)!));
    open.push(this);
  }

  get remote(): { address: string; port: number } {
    return { address: HOST, port: (this.rtp.address() as AddressInfo).port };
  }

  async speak(session: { port: number }, options: { packets?: number; payload?: Uint8Array; payloadType?: number; timestamp?: number } = {}): Promise<void> {
    const { packets = 1, payload = loud } = options;
    for (let i = 0; i < packets; i++) {
      const header = { marker: false, payloadType: options.payloadType ?? this.payloadType, sequence: this.sequence++ & 0xffff, timestamp: options.timestamp ?? this.timestamp, ssrc: this.ssrc };
      if (options.timestamp === undefined) this.timestamp += 160;
      await send(this.rtp, buildRtp(header, payload), session.port);
    }
    await settle();
  }

  close(): Promise<void> {
    return this.#release();
  }
}

export function send(socket: Socket, bytes: Uint8Array, port: number): Promise<void> {
  return new Promise((resolve, reject) => socket.send(bytes, port, HOST, (error) => (error ? reject(error) : resolve())));
}

/** Lets loopback datagrams arrive: a datagram of our own sent after them has come round. */
export async function settle(): Promise<void> {
  const echo = createSocket('udp4');
  echo.bind(0, HOST);
  await once(echo, 'listening');
  for (let i = 0; i < 3; i++) {
    echo.send('x', (echo.address() as AddressInfo).port, HOST);
    await once(echo, 'message');
  }
  echo.close();
}
