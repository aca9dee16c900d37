/** The least a Node program can do with RTP: each caller's packets go back as they came, over a socket of the caller's own. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { serve } from './serve.ts';
import type { FromEcho, ToEcho } from './bare-echo.ts';

async function echo(callerPort: number): Promise<number> {
  const socket: Socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  socket.connect(callerPort, '127.0.0.1');
  await once(socket, 'connect');
  // A caller that closed its port answers ICMP.
  socket.on('error', () => {});
  socket.on('message', (packet) => socket.send(packet));
  return socket.address().port;
}

serve(async ({ callerPorts }: ToEcho): Promise<FromEcho> => ({ type: 'connected', ports: await Promise.all(callerPorts.map(echo)) }));
