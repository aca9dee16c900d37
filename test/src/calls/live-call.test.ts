import { MessageChannel, type MessagePort } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { LiveCall } from '../../../src/calls/live-call.ts';
import type { CallEnd, CallProgress, CallRecords } from '../../../src/calls/call-records.ts';
import { WorkerPool } from '../../../src/calls/worker-pool.ts';
import type { AgentSpec, OpenCall } from '../../../src/calls/worker-protocol.ts';

const quiet = { info() {}, warn() {}, error() {} };

function modelPort(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port2.close();
  return port1;
}

async function startPool(t: Test): Promise<WorkerPool> {
  const pool = await WorkerPool.start({
    entry: new URL('../../support/fake-media-worker.ts', import.meta.url),
    size: 1,
    workerData: (index) => ({
      index, host: '127.0.0.1', rtpPorts: { from: 1, to: 2 }, browserPort: 0,
      modelPorts: { vad: modelPort(), stt: [], tts: [] }, mediaTimeoutMs: 1000, realtimePriority: false,
    }),
    log: quiet,
  });
  t.teardown(() => pool.close());
  return pool;
}

/** Keeps what is written down; fails the first `faults` writes as a database that is away would. */
class MemoryRecords implements CallRecords {
  readonly written: string[] = [];
  readonly ends: CallEnd[] = [];
  faults = 0;

  async progress(_callId: string, { status }: CallProgress): Promise<void> { this.#write(status ?? 'progress'); }
  async answered(): Promise<void> { this.#write('answered'); }
  async transcript(_callId: string, item: { text: string }): Promise<void> { this.#write(item.text); }
  async log(): Promise<void> { this.#write('log'); }
  async end(_callId: string, end: CallEnd): Promise<void> {
    this.#write('end');
    this.ends.push(end);
  }

  #write(what: string): void {
    if (this.faults-- > 0) throw Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
    this.written.push(what);
  }
}

function openCall(callId: string, behaviour: string): OpenCall {
  return {
    type: 'open', callId, agent: { systemPrompt: behaviour } as AgentSpec,
    leg: { kind: 'phone', codec: 'PCMU', payloadType: 0, ptimeMs: 20, remote: { address: '127.0.0.1', port: 9 }, sending: true },
  };
}

function liveCall(pool: WorkerPool, records: CallRecords, callId: string): { call: LiveCall; endings: string[] } {
  const endings: string[] = [];
  const call = new LiveCall({ callId, pool, records, log: quiet, onEnded: (reason, detail) => endings.push(`${reason}${detail ? `: ${detail}` : ''}`) });
  return { call, endings };
}

t.test('an answered call is written down in order and ends once', async (t) => {
  const pool = await startPool(t);
  const records = new MemoryRecords();
  const { call, endings } = liveCall(pool, records, 'a');
  t.same(await call.open(openCall('a', 'talk')), { rtpPort: 4000 });
  call.answered(true);
  call.hangUp('caller_hangup');
  call.hangUp('api_hangup');
  await call.done;
  t.same(records.written, ['answered', 'Hello', 'Hi', 'end']);
  t.same(endings, ['caller_hangup']);
  t.match(records.ends, [{ status: 'completed', endReason: 'caller_hangup', outcome: 'conversation' }]);
});

t.test('a command is answered by the worker, or by the end of the call', async (t) => {
  const pool = await startPool(t);
  const records = new MemoryRecords();
  const { call } = liveCall(pool, records, 'a');
  await call.open(openCall('a', 'talk'));
  call.answered(true);
  const [said, keyed] = await Promise.all([call.command({ kind: 'say', text: 'Hello' }), call.command({ kind: 'dtmf', digits: '1' })]);
  t.equal(said, 'done');
  t.equal(keyed, 'not_possible');
  t.equal(await call.command({ kind: 'say', text: 'end' }), 'not_in_progress', 'the call ended before the answer came');
  await call.done;
  t.equal(await call.command({ kind: 'context', text: 'late' }), 'not_in_progress');
});

t.test('a call canceled before its answer was never connected', async (t) => {
  const pool = await startPool(t);
  const records = new MemoryRecords();
  const { call } = liveCall(pool, records, 'a');
  await call.open(openCall('a', 'talk'));
  call.hangUp('caller_hangup');
  await call.done;
  t.match(records.ends, [{ status: 'canceled', endReason: 'caller_hangup', outcome: 'not_connected' }]);
});

t.test('a leg that cannot open ends the call with its cause', async (t) => {
  const pool = await startPool(t);
  const records = new MemoryRecords();
  const { call, endings } = liveCall(pool, records, 'a');
  t.equal(await call.open(openCall('a', 'fail')), undefined);
  await call.done;
  t.same(endings, ['internal_error: no port']);
  t.match(records.ends, [{ status: 'failed', endReason: 'internal_error', endDetail: 'no port' }]);
});

t.test('writes wait for a database that is away, and keep their order', async (t) => {
  const pool = await startPool(t);
  const records = new MemoryRecords();
  records.faults = 3;
  const { call } = liveCall(pool, records, 'a');
  await call.open(openCall('a', 'talk'));
  call.answered(true);
  call.hangUp('caller_hangup');
  await call.done;
  t.same(records.written, ['answered', 'Hello', 'Hi', 'end']);
});

t.test('a dead worker ends its calls once, and another takes its place', async (t) => {
  const pool = await startPool(t);
  const records = new MemoryRecords();
  const first = liveCall(pool, records, 'a');
  const second = liveCall(pool, records, 'b');
  await first.call.open(openCall('a', 'talk'));
  first.call.answered(true);
  const opened = second.call.open(openCall('b', 'crash'));
  await Promise.all([first.call.done, second.call.done]);
  t.equal(await opened, undefined);
  t.match(first.endings, [/^internal_error: media worker died/]);
  t.match(second.endings, [/^internal_error: media worker died/]);
  t.equal(pool.calls, 0);
  while (!pool.ready) await new Promise((resolve) => setTimeout(resolve, 20));
  const third = liveCall(pool, records, 'c');
  t.same(await third.call.open(openCall('c', 'talk')), { rtpPort: 4000 });
});

t.test('closing the pool ends what is live with service_shutdown', async (t) => {
  const pool = await startPool(t);
  const records = new MemoryRecords();
  const { call, endings } = liveCall(pool, records, 'a');
  await call.open(openCall('a', 'talk'));
  await pool.close();
  await call.done;
  t.same(endings, ['service_shutdown']);
  const late = liveCall(pool, records, 'b');
  t.equal(await late.call.open(openCall('b', 'talk')), undefined);
  t.match(late.endings, ['internal_error: no media worker is running']);
});
