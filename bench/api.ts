import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import type { FurnishedApi } from './support/api-side.ts';
import { BenchGateway } from './support/bench-gateway.ts';
import { processCpuMs } from './support/cpu.ts';
import { judged, shown, type Figure, type Report } from './support/figures.ts';
import type { BenchOptions } from './support/options.ts';
import { addCalls } from './support/add-calls.ts';
import type { Arrivals } from './support/rtp-load-protocol.ts';
import { RtpLoad } from './support/rtp-load.ts';
import { percentile } from './support/statistics.ts';

/** What keeps a service busy without making requests wait for each other. */
const CONNECTIONS = 4;
const GOALS = { p50Ms: 3, requestsPerSecond: 1500, cpuOfFloor: 4, deepPage: 1.3, importSeconds: 2, latenessMs: 3 };
const LEADS = { full: 1_000_000, quick: 100_000 };
const IMPORTED = 5000;
const CALLS_MEANWHILE = 50;

interface Load { requestsPerSecond: number; p50Ms: number; p99Ms: number; cpuUs: number }

/** What a read costs beside a bare route of the same library, at the top and at the end of a long list; and an import beside live calls. */
export async function api(options: BenchOptions): Promise<Report> {
  const gateway = await BenchGateway.start({ script: { kind: 'monologue' }, realtimePriority: false });
  try {
    const leads = options.quick ? LEADS.quick : LEADS.full;
    const furnished = await gateway.furnish(30, leads);
    const seconds = options.quick ? 3 : 10;
    const load = (url: string): Promise<Load> => measure(gateway.pid, url, furnished.key, seconds);
    const floor = await load(furnished.floorUrl);
    const figures = [shown('bare route: CPU of a request', floor.cpuUs, 'us'), shown('bare route: requests', floor.requestsPerSecond, '/s')];
    for (const [name, path] of [['GET one agent', `/v1/agents/${furnished.agentId}`], ['list of 20 agents', '/v1/agents']] as const) {
      figures.push(...judgedLoad(name, await load(furnished.url + path), floor));
    }
    figures.push(...(await deepPages(load, furnished, leads)), ...(await imports(gateway, furnished)));
    return { bench: 'api', figures };
  } finally {
    await gateway.close();
  }
}

function judgedLoad(name: string, load: Load, floor: Load): Figure[] {
  return [
    judged(`${name}: p50`, load.p50Ms, 'ms', GOALS.p50Ms),
    shown(`${name}: p99`, load.p99Ms, 'ms'),
    shown(`${name}: requests`, load.requestsPerSecond, '/s'),
    judged(`${name}: ${GOALS.requestsPerSecond}/s beside these`, GOALS.requestsPerSecond / load.requestsPerSecond, 'x', 1),
    shown(`${name}: CPU of a request`, load.cpuUs, 'us'),
    judged(`${name}: CPU beside a bare route`, load.cpuUs / floor.cpuUs, 'x', GOALS.cpuOfFloor),
  ];
}

async function deepPages(load: (url: string) => Promise<Load>, { url, cursors }: FurnishedApi, leads: number): Promise<Figure[]> {
  const page = (cursor: string): string => `${url}/v1/leads?starting_after=${cursor}`;
  const near = await load(page(cursors.near));
  const far = await load(page(cursors.far));
  return [
    shown('page at row 20: p50', near.p50Ms, 'ms'),
    shown(`page at row ${leads - 40}: p50`, far.p50Ms, 'ms'),
    judged(`page at row ${leads - 40} beside row 20: time of a request`, near.requestsPerSecond / far.requestsPerSecond, 'x', GOALS.deepPage),
  ];
}

/** Imports one after another while calls go on: how long each takes, and how late packets leave meanwhile. */
async function imports(gateway: BenchGateway, { url, key }: FurnishedApi): Promise<Figure[]> {
  const rtp = await RtpLoad.start();
  try {
    await addCalls(gateway, rtp, CALLS_MEANWHILE);
    await sleep(2000);
    const quiet = await rtp.measure(3, 'exact');
    const times: number[] = [];
    const busy = rtp.measure(4, 'exact');
    for (let n = 0; n < 3; n++) times.push(await importLeads(url, key, n));
    const late = (arrivals: Arrivals): number => percentile(arrivals.deviationsMs.map(Math.abs), 99);
    return [
      judged(`import of ${IMPORTED} leads, slowest of ${times.length}`, Math.max(...times), 's', GOALS.importSeconds),
      shown(`packets late, p99, ${CALLS_MEANWHILE} calls, nothing else`, late(quiet), 'ms'),
      judged(`packets late, p99, ${CALLS_MEANWHILE} calls, during imports`, late(await busy), 'ms', GOALS.latenessMs),
    ];
  } finally {
    await rtp.close();
  }
}

async function importLeads(url: string, key: string, run: number): Promise<number> {
  const leads = Array.from({ length: IMPORTED }, (_, n) => ({ name: `Lead ${n}`, phone_number: `+44${run}${String(1_000_000 + n)}`, tags: ['import'], fields: { city: 'Berlin', n } }));
  const body = JSON.stringify({ leads });
  const began = performance.now();
  const answer = await fetch(`${url}/v1/leads/bulk`, { method: 'POST', body, headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' } });
  const { created } = (await answer.json()) as { created?: number };
  if (created !== IMPORTED) throw new Error(`the import made ${created ?? 'no'} leads, not ${IMPORTED} (status ${answer.status})`);
  return (performance.now() - began) / 1000;
}

async function measure(pid: number, url: string, key: string, seconds: number): Promise<Load> {
  const run = { url, connections: CONNECTIONS, headers: { authorization: `Bearer ${key}` } };
  await autocannon({ ...run, duration: 2 });
  const before = processCpuMs(pid);
  const result = await autocannon({ ...run, duration: seconds });
  const cpuMs = processCpuMs(pid) - before;
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url} answered ${result.non2xx} times with an error, ${result.errors} times not at all`);
  const { total } = result.requests;
  // Little's law: the mean of a closed loop, finer than the histogram's whole milliseconds.
  return { requestsPerSecond: total / seconds, p50Ms: result.latency.p50, p99Ms: result.latency.p99, cpuUs: (cpuMs * 1000) / total };
}
