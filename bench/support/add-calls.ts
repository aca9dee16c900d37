import type { BenchGateway } from './bench-gateway.ts';
import type { RtpLoad } from './rtp-load.ts';

/** Opens so many calls and has callers talk to them. */
export async function addCalls(gateway: BenchGateway, load: RtpLoad, count: number): Promise<void> {
  const callers = await load.open(count);
  const opened = await gateway.open(callers.map(({ port }) => port));
  await load.send(callers.map(({ caller }, i) => ({ caller, port: opened[i]?.rtpPort ?? 0 })));
}
