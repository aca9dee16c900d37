import ipaddr from 'ipaddr.js';
import type { LogRow } from './store.ts';

/** pcap, microseconds; packets begin with their IP header. */
const MAGIC = 0xa1b2c3d4;
const LINKTYPE_RAW = 101;
const SNAPLEN = 65_535;
const UDP = 17;
const UDP_HEADER = 8;
/** Our side, in the ranges for documentation (RFC 5737, RFC 3849): the log keeps the peer's address only. */
const OURS = { ipv4: '192.0.2.1', ipv6: '2001:db8::1' };
const OUR_PORT = 5060;

interface Endpoint { address: number[]; port: number }

/** The SIP messages of a call's log as a capture file: each as one UDP datagram, whatever carried it. */
export function sipCapture(log: readonly LogRow[]): Buffer {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(MAGIC, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(SNAPLEN, 16);
  header.writeUInt32LE(LINKTYPE_RAW, 20);
  return Buffer.concat([header, ...log.flatMap(recordOf)]);
}

function recordOf({ at, source, detail }: LogRow): Buffer[] {
  const { message, peer, direction } = (detail ?? {}) as Record<string, unknown>;
  if (source !== 'sip' || typeof message !== 'string' || typeof peer !== 'string') return [];
  const theirs = endpointOf(peer);
  if (!theirs) return [];
  const ours = { address: ipaddr.parse(theirs.address.length === 4 ? OURS.ipv4 : OURS.ipv6).toByteArray(), port: OUR_PORT };
  const [from, to] = direction === 'out' ? [ours, theirs] : [theirs, ours];
  const packet = packetOf(from, to, Buffer.from(message));
  const record = Buffer.alloc(16);
  record.writeUInt32LE(Math.floor(at.getTime() / 1000), 0);
  record.writeUInt32LE((at.getTime() % 1000) * 1000, 4);
  record.writeUInt32LE(packet.length, 8);
  record.writeUInt32LE(packet.length, 12);
  return [record, packet];
}

/** `address:port`, the address with or without brackets. */
function endpointOf(text: string): Endpoint | undefined {
  const colon = text.lastIndexOf(':');
  const address = text.slice(0, colon).replaceAll(/[[\]]/g, '');
  return ipaddr.isValid(address) ? { address: ipaddr.process(address).toByteArray(), port: Number(text.slice(colon + 1)) & 0xffff } : undefined;
}

function packetOf(from: Endpoint, to: Endpoint, payload: Buffer): Buffer {
  const udp = Buffer.alloc(UDP_HEADER);
  const length = UDP_HEADER + payload.length;
  udp.writeUInt16BE(from.port, 0);
  udp.writeUInt16BE(to.port, 2);
  udp.writeUInt16BE(length, 4);
  const pseudo = Buffer.from([...from.address, ...to.address, 0, UDP, length >> 8, length & 0xff]);
  udp.writeUInt16BE(checksum(Buffer.concat([pseudo, udp, payload])) || 0xffff, 6);
  return Buffer.concat([from.address.length === 4 ? ipv4(from, to, length) : ipv6(from, to, length), udp, payload]);
}

function ipv4(from: Endpoint, to: Endpoint, length: number): Buffer {
  const header = Buffer.alloc(20);
  header[0] = 0x45;
  header.writeUInt16BE(20 + length, 2);
  header[8] = 64;
  header[9] = UDP;
  header.set(from.address, 12);
  header.set(to.address, 16);
  header.writeUInt16BE(checksum(header), 10);
  return header;
}

function ipv6(from: Endpoint, to: Endpoint, length: number): Buffer {
  const header = Buffer.alloc(40);
  header[0] = 0x60;
  header.writeUInt16BE(length, 4);
  header[6] = UDP;
  header[7] = 64;
  header.set(from.address, 8);
  header.set(to.address, 24);
  return header;
}

/** The Internet checksum (RFC 1071). */
function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) sum += (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + Math.floor(sum / 65_536);
  return ~sum & 0xffff;
}
