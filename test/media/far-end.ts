/** Worker thread of pair-cost.ts: phones that send a packet every 20 ms to each port and drop what they get. */
import { createSocket } from 'node:dgram';
import { parentPort, workerData } from 'node:worker_threads';
import { buildRtp } from '../../media/rtp/packet.ts';
import { speechLike } from './speech.ts';
import { encodePcmu } from '../../media/codec/g711.ts';
import { MediaClock } from '../../media/clock.ts';

const { calls } = workerData as { calls: number };
const speech = speechLike(4, 8000);
const bytes = new Uint8Array(speech.length);
encodePcmu(speech, 0, speech.length, bytes);

const sockets = Array.from({ length: calls }, () => createSocket('udp4'));
let bound = 0;
for (const socket of sockets) {
  socket.on('error', () => undefined);
  socket.on('message', () => undefined);
  socket.bind(0, '127.0.0.1', () => {
    if (++bound === calls) parentPort!.postMessage(sockets.map((one) => one.address().port));
  });
}

parentPort!.on('message', (ports: number[]) => {
  const clock = new MediaClock();
  sockets.forEach((socket, i) => {
    let sequence = 0;
    socket.connect(ports[i]!, '127.0.0.1', () => {
      clock.add(() => {
        const at = (sequence * 160) % bytes.length;
        socket.send(buildRtp({ marker: false, payloadType: 0, sequence: sequence & 0xffff, timestamp: sequence * 160, ssrc: i + 1 }, bytes.subarray(at, at + 160)));
        sequence++;
      });
    });
  });
  clock.start();
});
