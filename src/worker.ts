/** Entry of a media worker thread: clock, sockets and conversations of the calls it is given. */
import { parentPort, workerData } from 'node:worker_threads';
import { MediaClock } from '../media/clock.ts';
import { PriorityWatchdog, raisePriority } from '../media/priority.ts';
import { PortPool } from '../media/rtp/port-pool.ts';
import type { FromWorker, ToWorker, WorkerOptions } from './calls/worker-protocol.ts';
import { createEngines } from './engines/create-engine.ts';
import { BrowserServer } from './session/browser/browser-server.ts';
import { SessionHost } from './session/session-host.ts';
import { warmUp } from './session/warm-up.ts';

if (!parentPort) throw new Error('src/worker.ts is a thread of the gateway; start src/main.ts instead');
const control = parentPort;
const options = workerData as WorkerOptions;
const post = (message: FromWorker): void => control.postMessage(message);
const now = (): number => performance.now();

const watchdog = new PriorityWatchdog();
const clock = new MediaClock({ now, onRun: (durationMs) => watchdog.observe(durationMs) });
const ports = new PortPool(options.rtpPorts);
const browsers = await BrowserServer.listen({ host: options.host, port: options.browserPort });
const engines = createEngines({ modelPorts: options.modelPorts, ...(options.llm ? { llm: options.llm } : {}) });
const host = new SessionHost({
  engines,
  clock,
  browsers,
  host: options.host,
  ports,
  mediaTimeoutMs: options.mediaTimeoutMs,
  now,
  post,
});

async function close(): Promise<void> {
  await host.close();
  clock.stop();
  await browsers.close();
  await engines.close();
  control.close();
}

control.on('message', (message: ToWorker) => {
  switch (message.type) {
    case 'ping': post({ type: 'pong', sequence: message.sequence, calls: host.size }); break;
    case 'close': void close(); break;
    default: host.handle(message);
  }
});

await warmUp(options.host, ports);
const priority = options.realtimePriority ? raisePriority() : 'normal';
clock.start();
post({ type: 'ready', browserPort: browsers.port, priority });
