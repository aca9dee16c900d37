/** A gateway's process for benchmarks: main thread, one real media worker thread, and the loads a real one carries beside. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { CallSummary } from '../../src/calls/worker-protocol.ts';
import { openDatabase, type Database } from '../../src/db/database.ts';
import { startEmbeddedPostgres } from '../../src/db/embedded-postgres.ts';
import type { ApiSide, FurnishedApi } from './api-side.ts';
import { agentFor } from './bench-agent.ts';
import type { FromGateway, GatewayOptions, OpenedCall, ToGateway } from './gateway-protocol.ts';
import type { FromMediaThread, ToMediaThread } from './media-thread.ts';
import { monotonicMs } from './monotonic.ts';
import { serve } from './serve.ts';

const options = JSON.parse(process.argv[2] ?? '{}') as GatewayOptions;
const media = new Worker(new URL('./media-thread.ts', import.meta.url), { workerData: options, name: 'media' });
const waiting = new Map<string, (message: FromMediaThread) => void>();
const live = new Set<string>();

function post(message: ToMediaThread): void {
  media.postMessage(message);
}

/** The next message of this kind (about this call). */
function next<Type extends FromMediaThread['type']>(type: Type, callId = ''): Promise<Extract<FromMediaThread, { type: Type }>> {
  return new Promise((resolve, reject) => {
    waiting.set(type + callId, (message) => resolve(message as Extract<FromMediaThread, { type: Type }>));
    if (type === 'opened') waiting.set(`ended${callId}`, (message) => reject(new Error(`call ${callId} ended while it opened: ${JSON.stringify(message)}`)));
  });
}

media.on('message', (message: FromMediaThread) => {
  if (message.type === 'ended') live.delete(message.callId);
  const key = message.type + ('callId' in message ? message.callId : '');
  const waiter = waiting.get(key);
  waiting.delete(key);
  waiter?.(message);
});
media.on('error', (error) => {
  process.stderr.write(`media thread: ${error.stack ?? error.message}\n`);
  process.exit(1);
});

async function openCall(callId: string, peerPort: number): Promise<OpenedCall> {
  const opened = next('opened', callId);
  post({
    type: 'open',
    callId,
    agent: agentFor(callId, options.script.kind),
    leg: { kind: 'phone', codec: 'PCMU', payloadType: 0, ptimeMs: 20, remote: { address: '127.0.0.1', port: peerPort }, sending: true },
  });
  const { rtpPort } = await opened;
  waiting.delete(`ended${callId}`);
  if (rtpPort === undefined) throw new Error(`call ${callId} opened without an RTP port`);
  live.add(callId);
  const answeredAt = monotonicMs();
  post({ type: 'answered', callId });
  return { callId, rtpPort, answeredAt };
}

async function openCalls(calls: { callId: string; peerPort: number }[], everyMs: number): Promise<OpenedCall[]> {
  const opening: Promise<OpenedCall>[] = [];
  for (const { callId, peerPort } of calls) {
    opening.push(openCall(callId, peerPort));
    await sleep(everyMs);
  }
  return Promise.all(opening);
}

async function hangUp(callIds: string[]): Promise<CallSummary[]> {
  const ended = callIds.map((callId) => next('ended', callId));
  for (const callId of callIds) post({ type: 'hangUp', callId, reason: 'api_hangup' });
  return (await Promise.all(ended)).map(({ summary }) => summary);
}

let busy: NodeJS.Timeout | undefined;

/** Allocating JavaScript in slices of a 10 ms period, as requests and timers of a control plane are. */
function loadMain(pct: number): void {
  clearInterval(busy);
  if (pct === 0) return;
  busy = setInterval(() => {
    const until = performance.now() + pct / 10;
    let kept: object[] = [];
    while (performance.now() < until) {
      kept.push({ at: performance.now(), text: JSON.stringify({ call: kept.length }) });
      if (kept.length > 500) kept = [];
    }
  }, 10);
}

let writing: { stop: () => Promise<void>; count: () => number } | undefined;

async function write(perSecond: number): Promise<void> {
  await writing?.stop();
  writing = perSecond === 0 ? undefined : await startWriting(perSecond);
}

async function startWriting(perSecond: number): Promise<{ stop: () => Promise<void>; count: () => number }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'wv-bench-'));
  const log = { info: () => undefined, warn: () => undefined };
  const server = await startEmbeddedPostgres({ dataDir, log });
  const db: Database = openDatabase({ connection: { socketDir: server.host }, log, maxConnections: 8 });
  await db.query('CREATE TABLE bench_write (n bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), text text NOT NULL)');
  let written = 0;
  const text = 'x'.repeat(200);
  const timer = setInterval(() => {
    for (let i = 0; i < perSecond / 50; i++) {
      db.query('INSERT INTO bench_write (text) VALUES ($1)', [text]).then(() => written++, (error: unknown) => process.stderr.write(`${String(error)}\n`));
    }
  }, 20);
  const stop = async (): Promise<void> => {
    clearInterval(timer);
    await db.close();
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { stop, count: () => written };
}

let apiSide: ApiSide | undefined;

async function furnish(agents: number, leads: number): Promise<FurnishedApi> {
  const { startApiSide } = await import('./api-side.ts');
  apiSide = await startApiSide(agents, leads);
  return apiSide.furnished;
}

const [mediaUp] = (await once(media, 'message')) as [Extract<FromMediaThread, { type: 'up' }>];

async function answer(message: ToGateway): Promise<FromGateway> {
  switch (message.type) {
    case 'open': return { type: 'opened', calls: await openCalls(message.calls, message.everyMs) };
    case 'hangUp': return { type: 'ended', summaries: await hangUp(message.callIds) };
    case 'load': loadMain(message.mainPct); return { type: 'loaded' };
    case 'writes': await write(message.perSecond); return { type: 'loaded' };
    case 'furnish': return { type: 'furnished', api: await furnish(message.agents, message.leads) };
    case 'state': return { type: 'state', mediaTid: mediaUp.tid, priority: mediaUp.priority, calls: live.size, written: writing?.count() ?? 0 };
    case 'allocation': {
      const found = next('allocation');
      post({ type: 'measureAllocation', seconds: message.seconds });
      return { ...(await found), type: 'allocated' };
    }
    case 'events': {
      const taken = next('takenEvents');
      post({ type: 'takeEvents' });
      return { type: 'events', events: (await taken).events };
    }
  }
}

serve(answer, async () => {
  clearInterval(busy);
  await writing?.stop();
  await apiSide?.close();
});
