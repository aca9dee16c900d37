/** The least a Node program can do with RTP: each caller's packets go back as they came, over a socket of the caller's own. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { measureAllocation } from './allocation.ts';
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

serve(async (message: ToEcho): Promise<FromEcho> => {
  switch (message.type) {
    case 'connect': return { type: 'connected', ports: await Promise.all(message.callerPorts.map(echo)) };
    case 'allocation': return { type: 'allocated', ...(await measureAllocation(message.seconds)) };
  }
});
