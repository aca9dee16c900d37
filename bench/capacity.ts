import { setTimeout as sleep } from 'node:timers/promises';
import { Resampler } from '../media/resampler.ts';
import type { Allocation } from './support/allocation.ts';
import { addCalls } from './support/add-calls.ts';
import { BARE_ECHO } from './support/bare-echo.ts';
import { BenchGateway } from './support/bench-gateway.ts';
import { judged, missing, shown, type Figure, type Report } from './support/figures.ts';
import { processCpuMs, residentBytes, threadCpuMs } from './support/cpu.ts';
import type { BenchOptions } from './support/options.ts';
import { RTPENGINE, SIPP, startPeer, type PeerKind } from './support/peers.ts';
import { RtpLoad } from './support/rtp-load.ts';
import type { Arrivals } from './support/rtp-load-protocol.ts';
import { voicedSamples } from './support/speech-pattern.ts';
import { percentile } from './support/statistics.ts';

const CPU_MS_PER_CALL_SECOND = 0.8;
/** Fewer calls give smaller batches per wake-up, which cost more: the goals speak of 200 and 500. */
const JUDGED_FROM_CALLS = 200;
const RTPENGINE_RATIO = 1.6;
const GARBAGE_KB_PER_PAIR = 0.6;
const RESIDENT_MB_PER_CALL = 0.5;
const DEFAULT_PRIORITY = { calls: 50, writesPerSecond: 200, p99Ms: 3 };
const REALTIME = { calls: 200, mainPct: 30, p99Ms: 1.5 };
const PACKETS_PER_SECOND = 50;
const SECONDS_RESAMPLED = 200;

interface Times { warmUp: number; window: number }

/** CPU, pacing, garbage and memory of one media worker under real RTP, beside other programs under the same load. */
export async function capacity(options: BenchOptions): Promise<Report> {
  const times: Times = options.quick ? { warmUp: 2, window: 3 } : { warmUp: 5, window: 10 };
  const counts = options.calls ?? (options.quick ? [50] : [50, 200, 500]);
  const figures = await pacingAtDefaultPriority(times);
  const own = await ladder(counts, times);
  figures.push(...own.figures, resampling24k());
  for (const kind of [BARE_ECHO, SIPP, RTPENGINE]) figures.push(...(await floors(kind, counts, times, own.cpu)));
  return { bench: 'capacity', figures };
}

async function pacingAtDefaultPriority(times: Times): Promise<Figure[]> {
  const { calls, writesPerSecond, p99Ms } = DEFAULT_PRIORITY;
  const gateway = await BenchGateway.start({ script: { kind: 'monologue' }, realtimePriority: false });
  const load = await RtpLoad.start();
  try {
    await addCalls(gateway, load, calls);
    await gateway.writes(writesPerSecond);
    await sleep(times.warmUp * 1000);
    const before = (await gateway.state()).written;
    const arrivals = await load.measure(times.window, 'exact');
    const written = (await gateway.state()).written - before;
    const at = ` at ${calls} calls, default priority, database written`;
    return [shown(`rows written${at}`, written / times.window, '/s'), ...pacing(arrivals, at, p99Ms)];
  } finally {
    await load.close();
    await gateway.close();
  }
}

/** One gateway that takes ever more calls, as a real one does. */
async function ladder(counts: number[], times: Times): Promise<{ figures: Figure[]; cpu: Map<number, number> }> {
  const gateway = await BenchGateway.start({ script: { kind: 'monologue' }, realtimePriority: true });
  const load = await RtpLoad.start();
  const figures: Figure[] = [];
  const cpu = new Map<number, number>();
  const resident: { calls: number; bytes: number }[] = [{ calls: 0, bytes: residentBytes(gateway.pid) }];
  try {
    let calls = 0;
    for (const count of counts) {
      await addCalls(gateway, load, count - calls);
      calls = count;
      await sleep(times.warmUp * 1000);
      const step = await measureStep(gateway, load, calls, times);
      cpu.set(calls, step.processMs);
      figures.push(...step.figures);
      resident.push({ calls, bytes: residentBytes(gateway.pid) });
    }
  } finally {
    await load.close();
    await gateway.close();
  }
  return { figures: [...figures, ...residentPerCall(resident)], cpu };
}

async function measureStep(gateway: BenchGateway, load: RtpLoad, calls: number, times: Times): Promise<{ figures: Figure[]; processMs: number }> {
  const { mediaTid, priority } = await gateway.state();
  const at = ` at ${calls} calls`;
  const before = { media: threadCpuMs(gateway.pid, mediaTid), process: processCpuMs(gateway.pid) };
  await load.measure(times.window, 'cheap');
  const perCall = times.window * calls;
  const mediaMs = (threadCpuMs(gateway.pid, mediaTid) - before.media) / perCall;
  const processMs = (processCpuMs(gateway.pid) - before.process) / perCall;
  const arrivals = await load.measure(times.window, 'exact');
  const goal = calls >= JUDGED_FROM_CALLS ? CPU_MS_PER_CALL_SECOND : undefined;
  const allocated = await gateway.allocation(times.window / 2);
  const pairs = (calls * PACKETS_PER_SECOND * times.window) / 2;
  const figures = [
    limited(`CPU of the media thread${at}`, mediaMs, 'ms/s/call', goal),
    limited(`CPU of the whole process${at}`, processMs, 'ms/s/call', goal),
    ...pacing(arrivals, `${at}, priority ${priority}`, undefined),
    judged(`garbage per packet pair${at}`, allocated.heapBytes / pairs / 1000, 'kB', GARBAGE_KB_PER_PAIR),
    shown(`packet buffers per packet pair${at}`, allocated.bufferBytes / pairs / 1000, 'kB'),
    shown(`longest collection${at}`, allocated.largestCollectionMs, 'ms pause'),
  ];
  if (calls === REALTIME.calls) figures.push(...(await pacingUnderMainLoad(gateway, load, times, priority)));
  return { figures, processMs };
}

async function pacingUnderMainLoad(gateway: BenchGateway, load: RtpLoad, times: Times, priority: string): Promise<Figure[]> {
  const { calls, mainPct, p99Ms } = REALTIME;
  const at = ` at ${calls} calls, real-time priority, main thread ${mainPct} % busy`;
  if (priority !== 'realtime') return [missing(`packet against its grid p99${at}`, 'ms', p99Ms, 'SCHED_FIFO is not granted here (CAP_SYS_NICE)')];
  await gateway.loadMain(mainPct);
  await sleep(1000);
  const arrivals = await load.measure(times.window, 'exact');
  await gateway.loadMain(0);
  return pacing(arrivals, at, p99Ms);
}

/** What a vendor's 24 kHz speech adds for a call whose agent never stops speaking; the scripted engine speaks at 16 kHz. */
function resampling24k(): Figure {
  const resampler = new Resampler(24_000, 16_000);
  const heard = voicedSamples(24_000, 24_000);
  const out = new Int16Array(16_000);
  const run = (seconds: number): void => {
    for (let i = 0; i < seconds; i++) resampler.process(heard, out);
  };
  run(20);
  const before = process.threadCpuUsage();
  run(SECONDS_RESAMPLED);
  const used = process.threadCpuUsage(before);
  return shown('resampling 24 kHz speech, for each call that hears it', (used.user + used.system) / 1000 / SECONDS_RESAMPLED, 'ms/s/call');
}

async function floors(kind: PeerKind, counts: number[], times: Times, own: Map<number, number>): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const calls of counts) {
    const name = `CPU of ${kind.name} at ${calls} calls`;
    const peer = await startPeer(kind);
    if (!peer) return [missing(name, 'ms/s/call', null, `not installed: ${kind.installation}`)];
    const load = await RtpLoad.start();
    try {
      // rtpengine joins callers two by two.
      const callers = await load.open(calls + (calls % 2));
      const ports = await peer.connect(callers.map(({ port }) => port));
      await load.send(callers.map(({ caller }, i) => ({ caller, port: ports[i] ?? 0 })));
      await sleep(1000);
      const before = processCpuMs(peer.pid);
      const arrivals = await load.measure(times.window, 'cheap');
      const cpuMs = (processCpuMs(peer.pid) - before) / (times.window * callers.length);
      figures.push(shown(name, cpuMs, 'ms/s/call'), shown(`packets lost by ${kind.name} at ${calls} calls`, arrivals.lost, 'packets'));
      if (peer.allocation) figures.push(garbageOf(kind, calls, await peer.allocation(times.window / 2), times));
      figures.push(...ratio(kind, calls, (own.get(calls) ?? Number.NaN) / cpuMs));
    } finally {
      await load.close();
      await peer.close();
    }
  }
  return figures;
}

function garbageOf(kind: PeerKind, calls: number, allocated: Allocation, times: Times): Figure {
  return shown(`garbage per packet pair of ${kind.name} at ${calls} calls`, allocated.heapBytes / ((calls * PACKETS_PER_SECOND * times.window) / 2) / 1000, 'kB');
}

function ratio(kind: PeerKind, calls: number, value: number): Figure[] {
  const goal = kind === RTPENGINE && calls >= JUDGED_FROM_CALLS ? RTPENGINE_RATIO : undefined;
  return [limited(`CPU of the whole process against ${kind.name} at ${calls} calls`, value, 'x', goal)];
}

function pacing(arrivals: Arrivals, at: string, p99Goal: number | undefined): Figure[] {
  const off = arrivals.deviationsMs.map(Math.abs);
  return [
    shown(`packet against its grid p50${at}`, percentile(off, 50), 'ms'),
    limited(`packet against its grid p99${at}`, percentile(off, 99), 'ms', p99Goal),
    shown(`packet against its grid p99.9${at}`, percentile(off, 99.9), 'ms'),
    judged(`packets lost${at}`, arrivals.lost, 'packets', 0),
    shown(`packets more than 20 ms late${at}`, arrivals.late, 'packets'),
    shown(`generator's own lateness p99${at}`, percentile(arrivals.sendLatenessMs, 99), 'ms'),
  ];
}

/** Growth over the last step, or over all where there is only one. */
function residentPerCall(resident: { calls: number; bytes: number }[]): Figure[] {
  const from = resident.at(-2);
  const to = resident.at(-1);
  if (!from || !to || to.calls === from.calls) return [];
  return [judged(`resident memory per further call, ${from.calls} to ${to.calls} calls`, (to.bytes - from.bytes) / 1e6 / (to.calls - from.calls), 'MB', RESIDENT_MB_PER_CALL)];
}

function limited(name: string, value: number, unit: string, goal: number | undefined): Figure {
  return goal === undefined ? shown(name, value, unit) : judged(name, value, unit, goal);
}
