/**
 * What a packet pair (one received, one sent) costs the media thread: RTP, jitter buffer, G.711, both resamplers, energy VAD,
 * paced send. Prints one JSON object. Run with `--expose-gc --max-semi-space-size=256`, arguments: calls, seconds.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { MediaClock } from '../../media/clock.ts';
import { FRAME_SAMPLES } from '../../media/audio-frame.ts';
import { PortPool } from '../../media/rtp/port-pool.ts';
import { RtpSession } from '../../media/rtp/rtp-session.ts';
import { EnergyVad, VadGate } from '../../media/vad.ts';

const calls = Number(process.argv[2] ?? 20);
const seconds = Number(process.argv[3] ?? 3);
const host = '127.0.0.1';
const pool = new PortPool({ from: 40_000, to: 49_999 });
const clock = new MediaClock();
const farEnd = new Worker(new URL('./far-end.ts', import.meta.url), { workerData: { calls } });
const [peers] = (await once(farEnd, 'message')) as [number[]];
const voice = Int16Array.from({ length: FRAME_SAMPLES }, (_, i) => 8000 * Math.sin((2 * Math.PI * 450 * i) / 16_000));
let speaking = 0;
let frames = 0;

const sessions: RtpSession[] = [];
for (const port of peers) {
  const vad = new EnergyVad();
  const gate = new VadGate({ startWindows: 3 });
  const hear = (): void => {
    const now = performance.now();
    for (let frame = session.read(now); frame !== undefined; frame = session.read(now)) {
      frames++;
      vad.write(frame);
      for (const window of vad.take()) gate.push(window);
      if (gate.speaking) speaking++;
    }
  };
  const session: RtpSession = await RtpSession.open({
    host, ports: pool, codec: 'PCMU', payloadType: 0, telephoneEventPayloadType: 101, ptimeMs: 20,
    remote: { address: host, port }, onDtmf: () => undefined, onFrame: hear,
  });
  sessions.push(session);
  clock.add(() => {
    hear();
    session.write(voice);
  });
}
clock.start();
farEnd.postMessage(sessions.map((session) => session.port));

const wait = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));
/** Pairs, CPU and heap so far. */
const meter = () => {
  const pairs = sessions.reduce((sum, session) => sum + session.stats().packetsReceived, 0);
  // Nanoseconds this thread ran (Linux): exact where rusage counts in timer ticks.
  const cpuNs = Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]);
  return { pairs, cpuNs, memory: process.memoryUsage() };
};
await wait(1500);
clock.resetLateness();
globalThis.gc!();
const before = meter();
await wait(seconds * 1000);
const after = meter();
const pairs = after.pairs - before.pairs;
const cpuUs = (after.cpuNs - before.cpuNs) / 1000;
console.log(JSON.stringify({
  calls, pairs, frames, speaking,
  heapBytesPerPair: Math.round((after.memory.heapUsed - before.memory.heapUsed) / pairs),
  bufferBytesPerPair: Math.round((after.memory.arrayBuffers - before.memory.arrayBuffers) / pairs),
  usPerPair: Math.round((cpuUs / pairs) * 100) / 100,
  cpuMsPerSecondAndCall: Math.round((cpuUs / 1000 / seconds / calls) * 1000) / 1000,
  lateness: clock.latenessMs,
}));
clock.stop();
await Promise.all(sessions.map((session) => session.close()));
await farEnd.terminate();
