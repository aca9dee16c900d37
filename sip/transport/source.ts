/** Where a packet came from, or goes to. */
export interface SipSource {
  /** Without brackets; IPv4 is never written as ::ffff:… */
  readonly address: string;
  readonly port: number;
  readonly transport: 'udp' | 'tcp';
}

/** IPv4-mapped IPv6 addresses (a dual-stack socket's peers) as plain IPv4. */
export function plainAddress(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  return mapped?.[1] ?? address;
}
