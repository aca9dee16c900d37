import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { ApiError } from '../../../src/api/errors.ts';
import { CATALOGUE } from '../../../src/api/error-catalogue.ts';
import { appendLog, appendTranscript, createInboundCall, endCall, markAnswered, type CallEnding } from '../../../src/resources/calls/actions.ts';
import { CallFeed } from '../../../src/resources/calls/call-feed.ts';
import { insertLogEntry } from '../../../src/resources/calls/store.ts';
import { startApiHarness, type Answer, type ApiHarness } from '../../support/api-harness.ts';
import { AGENT } from '../../support/examples/agents.ts';
import { until } from '../../support/until.ts';

const ENDING: CallEnding = { status: 'completed', endReason: 'caller_hangup', outcome: 'conversation', endedAt: new Date('2026-11-21T12:00:09Z'), summary: { turns: [], interruptions: { byCaller: 0, falseAlarms: 0 } } };
const refused = (status: number, code: keyof typeof CATALOGUE, param?: string) => ({ status, body: { error: { code, type: CATALOGUE[code].type, ...(param === undefined ? {} : { param }) } } });

/** A telephone call, answered unless told otherwise. */
async function newCall(api: ApiHarness, answered = true): Promise<string> {
  const agent = (await api.call('POST', '/v1/agents', { body: AGENT })).body;
  const trunk = (await api.call('POST', '/v1/sip-trunks', { body: { name: 'T', allowed_addresses: ['127.0.0.1'] } })).body;
  const [number] = (await api.call('GET', '/v1/phone-numbers')).body.data;
  const phoneNumberId = number?.id ?? (await api.call('POST', '/v1/phone-numbers', { body: { phone_number: '+14155550100' } })).body.id;
  const id = await createInboundCall(api.context, { accountId: api.account.id, livemode: true, agent: { id: agent.id, version: 1 }, from: '+14155550199', to: '+14155550100', phoneNumberId, sipTrunkId: trunk.id, sipCallId: 'a@b' });
  if (answered) await markAnswered(api.context, id, new Date('2026-11-21T12:00:01Z'));
  return id;
}

t.test('what a live call can be told', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const id = await newCall(api);
  const { liveCalls } = api;
  const tell = (what: string, body: object, idempotencyKey?: string, callId = id): Promise<Answer> =>
    api.call('POST', `/v1/calls/${callId}/${what}`, { body, headers: idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey } });

  t.test('to speak, to know, to press keys', async (t) => {
    t.match(await tell('say', { text: ' Your table is ready. ' }), { status: 200, body: { id, object: 'call', status: 'in_progress' } });
    t.match(await tell('context', { text: 'The caller is Ada.' }), { status: 200, body: { id } });
    t.match(await tell('dtmf', { digits: '1w*#D' }), { status: 200, body: { id } });
    t.same(liveCalls.commands.splice(0).map(({ command }) => command), [
      { kind: 'say', text: 'Your table is ready.' }, { kind: 'context', text: 'The caller is Ada.' }, { kind: 'dtmf', digits: '' }, { kind: 'dtmf', digits: '1w*#D' },
    ], 'keys are asked about before they are pressed');
  });

  t.test('once for each Idempotency-Key', async (t) => {
    await tell('say', { text: 'Once.' }, 'once');
    t.match(await tell('say', { text: 'Once.' }, 'once'), { status: 200, headers: { 'idempotent-replayed': 'true' }, body: { id } });
    t.equal(liveCalls.commands.splice(0).length, 1);
    await api.context.db.query("UPDATE idempotency SET status = NULL, answer = NULL, lease_until = '2000-01-01' WHERE key = 'once'");
    t.match(await tell('say', { text: 'Once.' }, 'once'), { status: 200, headers: { 'idempotent-replayed': 'true' }, body: { id } }, 'after a crash too');
    t.equal(liveCalls.commands.length, 0);
  });

  t.test('limits, at the edge and one past it', async (t) => {
    for (const [what, fine] of [['say', { text: 'x'.repeat(1000) }], ['context', { text: 'x'.repeat(4000) }], ['dtmf', { digits: '1'.repeat(32) }]] as const) t.match(await tell(what, fine), { status: 200 }, what);
    for (const [what, wrong] of [
      ['say', { text: 'x'.repeat(1001) }], ['say', { text: '' }], ['say', { text: '  ' }], ['say', { text: 7 }], ['context', { text: 'x'.repeat(4001) }], ['context', { text: '' }],
      ['dtmf', { digits: '1'.repeat(33) }], ['dtmf', { digits: '' }], ['dtmf', { digits: 'E' }], ['dtmf', { digits: 'd' }], ['dtmf', { digits: '1 2' }],
    ] as const) t.match(await tell(what, wrong), refused(400, 'invalid_parameter'), JSON.stringify(wrong).slice(0, 40));
    for (const what of ['say', 'context', 'dtmf', 'transfer']) t.match(await tell(what, {}), refused(400, 'missing_parameter'), what);
    t.match(await tell('say', { text: 'x', voice: 'y' }), refused(400, 'unknown_parameter', 'voice'));
  });

  t.test('refusals of the call itself', async (t) => {
    for (const [outcome, status, code] of [['not_in_progress', 409, 'call_not_in_progress'], ['too_many', 429, 'rate_limited'], ['not_possible', 409, 'dtmf_not_possible']] as const) {
      liveCalls.outcome = outcome;
      t.match(await tell('dtmf', { digits: '1' }, outcome), refused(status, code), outcome);
      liveCalls.outcome = 'done';
      t.match(await tell('dtmf', { digits: '1' }, outcome), { status: 200, headers: { 'idempotent-replayed': undefined } }, 'a refusal leaves the key free');
    }
  });

  t.test('a call that is not in progress', async (t) => {
    const ringing = await newCall(api, false);
    const ended = await newCall(api);
    await endCall(api.context, ended, ENDING);
    liveCalls.commands.length = 0;
    for (const callId of [ringing, ended]) {
      for (const [what, body] of [['say', { text: 'x' }], ['context', { text: 'x' }], ['dtmf', { digits: '1' }]] as const) {
        t.match(await tell(what, body, undefined, callId), refused(409, 'call_not_in_progress'), what);
      }
    }
    t.match(await tell('transfer', { to: '+14155550111' }, undefined, ended), refused(409, 'call_not_in_progress'));
    t.match(await tell('transfer', { to: '+14155550111' }, undefined, ringing), refused(409, 'transfer_not_possible'));
    t.same(liveCalls.commands, []);
  });

  t.test('hanging up, once for each Idempotency-Key', async (t) => {
    const live = await newCall(api);
    liveCalls.onHangUp = (callId) => endCall(api.context, callId, { ...ENDING, endReason: 'api_hangup' });
    const hangUp = () => api.call('POST', `/v1/calls/${live}/hangup`, { headers: { 'Idempotency-Key': 'hang up' } });
    t.match(await hangUp(), { status: 200, body: { id: live, status: 'completed', end_reason: 'api_hangup' } });
    await api.context.db.query("UPDATE idempotency SET status = NULL, answer = NULL, lease_until = '2000-01-01' WHERE key = 'hang up'");
    t.match(await hangUp(), { status: 200, headers: { 'idempotent-replayed': 'true' }, body: { id: live, status: 'completed' } });
    t.equal(liveCalls.hungUp.length, 1);
  });

  t.test('to be transferred', async (t) => {
    for (const to of ['+0', '+1 415', 'sip:', 'two words', '<sip:a@b>', 'x'.repeat(257), '']) t.equal((await tell('transfer', { to })).status, 400, to.slice(0, 20));
    t.match(await tell('transfer', { to: '+14155550111', mode: 'hot' }), refused(400, 'invalid_parameter', 'mode'));
    t.match(await tell('transfer', { to: '+19005550111' }), refused(403, 'destination_not_allowed', 'to'));
    const session = await api.call('POST', '/v1/realtime/sessions', { body: { agent_id: (await api.call('GET', '/v1/agents')).body.data[0].id } });
    await markAnswered(api.context, session.body.call_id, new Date());
    t.match(await tell('transfer', { to: '+14155550111' }, undefined, session.body.call_id), refused(409, 'transfer_not_possible'));
    liveCalls.refusal = new ApiError('transfer_unavailable');
    t.match(await tell('transfer', { to: '+14155550111' }, 'transfer'), refused(503, 'transfer_unavailable'));
    t.match((await api.call('GET', `/v1/calls/${id}`)).body, { status: 'in_progress', transfer: null }, 'nothing has happened');
    liveCalls.refusal = undefined;
    t.match(await tell('transfer', { to: '+14155550111' }, 'transfer'), { status: 200, body: {
      status: 'transferring', transfer: { destination: '+14155550111', mode: 'cold', status: 'in_progress', started_at: '2026-11-21T12:00:00.000Z', ended_at: null },
    } });
    t.same(liveCalls.transfers, [{ callId: id, to: '+14155550111', mode: 'cold' }]);
    t.match(await tell('transfer', { to: 'reception' }), refused(409, 'transfer_not_possible'), 'once at a time');
    for (const [to, mode] of [['sip:reception@example.com', 'warm'], ['reception', 'cold']] as const) {
      t.match(await tell('transfer', { to, mode }, undefined, await newCall(api)), { status: 200, body: { transfer: { destination: to, mode } } });
    }
  });
});

interface Event { event: string; data: Record<string, unknown> }

/** Reads server-sent events of a real connection as they come. */
class EventReader {
  readonly events: Event[] = [];
  comments = 0;
  ended = false;
  readonly #response: IncomingMessage;

  static async open(port: number, path: string, key: string): Promise<EventReader> {
    const [response] = (await once(get({ port, path, headers: { authorization: `Bearer ${key}` } }), 'response')) as [IncomingMessage];
    return new EventReader(response);
  }

  constructor(response: IncomingMessage) {
    this.#response = response;
    let rest = '';
    response.setEncoding('utf8').on('data', (text: string) => {
      const blocks = (rest + text).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) this.#take(block);
    }).on('end', () => { this.ended = true; }).on('error', () => undefined);
  }

  get head(): IncomingMessage {
    return this.#response;
  }

  close(): void {
    this.#response.destroy();
  }

  #take(block: string): void {
    if (block.startsWith(':')) this.comments++;
    const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
    if (event !== undefined && data !== undefined) this.events.push({ event, data: JSON.parse(data) as Record<string, unknown> });
  }
}

t.test('the events of a call', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const { context } = api;
  await api.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = api.app.server.address() as AddressInfo;
  const follow = (id: string): Promise<EventReader> => EventReader.open(port, `/v1/calls/${id}/events`, api.account.live);

  t.test('first what is there, then what comes, until the call has ended', async (t) => {
    const id = await newCall(api, false);
    await appendLog(context, id, { at: 1000, source: 'sip', event: 'INVITE' });
    await appendTranscript(context, id, { position: 0, role: 'agent', text: 'Hello', startedMs: 0, endedMs: 400 });
    const reader = await follow(id);
    t.match(reader.head, { statusCode: 200, headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' } });
    await until('what is there', 5000, () => reader.events.length === 3, () => reader.events);
    t.match(reader.events, [{ event: 'call', data: { id, status: 'ringing' } }, { event: 'transcript', data: { position: 0, text: 'Hello', started_ms: 0 } }, { event: 'log', data: { at: '1970-01-01T00:00:01.000Z', event: 'INVITE' } }]);
    await markAnswered(context, id, new Date());
    await appendTranscript(context, id, { position: 1, role: 'caller', text: 'Hi', startedMs: 500, endedMs: 900 });
    await appendTranscript(context, id, { position: 0, role: 'agent', text: 'Hello', heardText: 'Hel', interrupted: true, startedMs: 0, endedMs: 200 });
    await appendLog(context, id, { at: 2000, source: 'turn', event: 'interrupt', detail: { reason: 'two words' } });
    await endCall(context, id, ENDING);
    await until('the end', 5000, () => reader.ended);
    t.match(reader.events.slice(3), [
      { event: 'call', data: { status: 'in_progress' } }, { event: 'transcript', data: { position: 1, text: 'Hi' } }, { event: 'transcript', data: { position: 0, heard_text: 'Hel', interrupted: true } },
      { event: 'log', data: { event: 'interrupt', detail: { reason: 'two words' } } }, { event: 'call', data: { status: 'completed', end_reason: 'caller_hangup' } },
    ]);
    t.equal(reader.events.length, 8);
    t.notOk(context.callFeed.isFollowed(id));
    const late = await follow(id);
    await until('the end', 5000, () => late.ended);
    t.match(late.events, [{ event: 'call', data: { status: 'completed' } }, {}, {}, {}, {}], 'a call that has ended tells what there is and ends');
  });

  t.test('a line that nothing is said on is kept alive; a listener that goes is forgotten', async () => {
    const id = await newCall(api);
    const reader = await follow(id);
    await until('the call', 5000, () => reader.events.length === 1);
    for (let n = 1; n <= 3; n++) {
      api.clock.advance(15_000);
      await until('a comment', 5000, () => reader.comments === n);
    }
    reader.close();
    await until('nobody listens', 5000, () => !context.callFeed.isFollowed(id));
    api.clock.advance(15_000);
  });

  t.test('ten at a time, and not another account\'s', async (t) => {
    const id = await newCall(api);
    const readers = await Promise.all(Array.from({ length: 10 }, () => follow(id)));
    t.match(await api.call('GET', `/v1/calls/${id}/events`), refused(429, 'rate_limited'));
    readers[0]?.close();
    await until('a place', 5000, async () => {
      const reader = await follow(id);
      readers.push(reader);
      return reader.head.statusCode === 200;
    });
    t.match(await api.call('GET', `/v1/calls/${id}/events`, { key: (await api.newAccount()).live }), refused(404, 'call_not_found'));
    t.match(await api.call('HEAD', `/v1/calls/${id}/events`), { status: 405 });
    for (const reader of readers) reader.close();
  });

  t.test('one account\'s followers never take the place of another\'s', (t) => {
    const feed = new CallFeed();
    const follow = (accountId: string, call: number) => feed.subscribe({ id: `${accountId}-${call}`, accountId }, () => undefined);
    const leaves = Array.from({ length: 100 }, (_, n) => follow('loud', n));
    t.ok(leaves.every((leave) => leave !== undefined));
    t.equal(follow('loud', 100), undefined);
    t.ok(follow('quiet', 0));
    leaves[0]?.();
    leaves[0]?.();
    t.ok(follow('loud', 100));
    t.equal(follow('loud', 101), undefined, 'each goes once');
    t.end();
  });

  t.test('a call with a long log is told from its beginning', async (t) => {
    const id = await newCall(api);
    const message = 'x'.repeat(1024 * 1024);
    for (let n = 0; n < 6; n++) await insertLogEntry(context.db, id, { at: new Date(api.clock.now()), source: 'sip', event: 'message', detail: { message } });
    const reader = await follow(id);
    await until('all of it', 10_000, () => reader.events.filter(({ event }) => event === 'log').length === 6);
    t.notOk(reader.ended, 'and it goes on');
    reader.close();
  });

  t.test('a service that stops ends the streams', async () => {
    const reader = await follow(await newCall(api));
    await until('the call', 5000, () => reader.events.length === 1);
    await api.app.close();
    await until('the end', 5000, () => reader.ended);
  });
});
