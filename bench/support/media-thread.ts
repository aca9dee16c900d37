/** A media worker as src/worker.ts builds it, with scripted engines in place of vendors. Its main thread is gateway-process.ts. */
import { readlinkSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { MediaClock } from '../../media/clock.ts';
import { raisePriority } from '../../media/priority.ts';
import { PortPool } from '../../media/rtp/port-pool.ts';
import type { FromWorker, OpenCall, ToWorker } from '../../src/calls/worker-protocol.ts';
import { BrowserServer } from '../../src/session/browser/browser-server.ts';
import { SessionHost } from '../../src/session/session-host.ts';
import { warmUp } from '../../src/session/warm-up.ts';
import { measureAllocation, type Allocation } from './allocation.ts';
import { currentTid } from './cpu.ts';
import type { EngineEvent, GatewayOptions } from './gateway-protocol.ts';
import { monotonicMs } from './monotonic.ts';
import { TimedEngines } from './timed-engines.ts';

export type ToMediaThread = Exclude<ToWorker, { type: 'ping' | 'close' }> | { type: 'measureAllocation'; seconds: number } | { type: 'takeEvents' };
export type FromMediaThread = FromWorker | { type: 'up'; tid: number; priority: string } | ({ type: 'allocation' } & Allocation) | { type: 'takenEvents'; events: EngineEvent[] };

if (!parentPort) throw new Error('bench/support/media-thread.ts is a thread of gateway-process.ts');
const control = parentPort;
const options = workerData as GatewayOptions;
const post = (message: FromMediaThread): void => control.postMessage(message);
const now = (): number => performance.now();
let events: EngineEvent[] = [];

const clock = new MediaClock({ now });
const ports = new PortPool(options.rtpPorts);
const browsers = await BrowserServer.listen({ host: '127.0.0.1', port: 0 });
const engines = new Map<string, TimedEngines>();

/** A call's agent names the call as its model, so each call gets engines of its own. */
function enginesOf(callId: string): TimedEngines {
  let own = engines.get(callId);
  if (!own) {
    own = new TimedEngines(options.script, (fact) => events.push({ ...fact, callId, at: monotonicMs() }));
    engines.set(callId, own);
    opening = own;
  }
  return own;
}
let opening: TimedEngines | undefined;

const host = new SessionHost({
  engines: {
    stt: (model) => enginesOf(model).stt,
    llm: (model) => enginesOf(model).llm,
    tts: (model) => enginesOf(model).tts,
    // Asked for in the same breath as the call's other engines.
    get vad() {
      if (!opening) throw new Error('a voice detector was asked for before any call');
      return opening.vad;
    },
    close: () => Promise.resolve(),
  },
  clock,
  browsers,
  host: '127.0.0.1',
  ports,
  mediaTimeoutMs: 60_000,
  now,
  post,
});

control.on('message', (message: ToMediaThread) => {
  switch (message.type) {
    case 'measureAllocation':
      void measureAllocation(message.seconds).then((found) => post({ type: 'allocation', ...found }));
      break;
    case 'takeEvents':
      post({ type: 'takenEvents', events });
      events = [];
      break;
    default:
      host.handle(message satisfies Exclude<ToWorker, { type: 'ping' | 'close' }> as OpenCall);
  }
});

await warmUp('127.0.0.1', ports);
const priority = options.realtimePriority ? raisePriority() : 'normal';
clock.start();
post({ type: 'up', tid: currentTid(readlinkSync), priority });
