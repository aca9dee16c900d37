import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import t from 'tap';
import { appendLog, appendTranscript, endCall, markAnswered } from '../../../src/resources/calls/actions.ts';
import { startApiHarness, type ApiHarness } from '../../support/api-harness.ts';
import { AGENT } from '../../support/examples/agents.ts';

/** In every field that says something of the caller; digits where a number is asked for. */
const CANARY = 'canary4711';
const NUMBER = '+15550987123';

/** Every row of every table, as text. */
async function dump(api: ApiHarness): Promise<string> {
  const { db } = api.context;
  const tables = await db.query<{ name: string }>("SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'");
  const texts = await Promise.all(tables.map(async ({ name }) => {
    const rows = await db.query<{ row: string }>(`SELECT to_jsonb("${name}")::text AS row FROM "${name}"`);
    return rows.map(({ row }) => `${name}: ${row}`);
  }));
  return texts.flat().join('\n');
}

function files(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => `${entry.name} ${readFileSync(`${entry.parentPath}/${entry.name}`, 'latin1')}`);
}

/** Fills what a call can hold, ends it, and has answers about it stored. */
async function fill(api: ApiHarness, id: string, key: string): Promise<void> {
  const { context } = api;
  const withKey = (name: string) => ({ 'Idempotency-Key': `${key} ${name}` });
  await markAnswered(context, id, new Date());
  await appendTranscript(context, id, { position: 0, role: 'caller', text: CANARY, heardText: CANARY, startedMs: 0, endedMs: 1, tool: { name: 'note', arguments: { CANARY }, result: CANARY } });
  await appendLog(context, id, { at: 0, source: 'sip', event: `INVITE sip:${CANARY}`, detail: { message: `From: ${CANARY} <sip:${NUMBER}@example.com>` } });
  t.equal((await api.call('POST', `/v1/calls/${id}/say`, { body: { text: CANARY }, headers: withKey('say') })).status, 200);
  t.equal((await api.call('POST', `/v1/calls/${id}/context`, { body: { text: CANARY }, headers: withKey('context') })).status, 200);
  await context.db.query('UPDATE call SET analysis = $2, transfer = $3, sip = $4, from_address = COALESCE(from_address, $5), end_detail = $5 WHERE id = $1', [
    id, JSON.stringify({ summary: CANARY }), JSON.stringify({ destination: CANARY, mode: 'cold', status: 'failed', started_at: '', ended_at: null }), JSON.stringify({ call_id: CANARY, response_code: null, reason: CANARY }), CANARY,
  ]);
  writeFileSync(await context.recordings.prepare(id), CANARY);
  api.liveCalls.onHangUp = (callId) => endCall(context, callId, {
    status: 'completed', endReason: 'api_hangup', endDetail: CANARY, outcome: 'conversation', endedAt: new Date(), summary: { turns: [], interruptions: { byCaller: 0, falseAlarms: 0 }, recordingDurationMs: 1 },
  });
  t.equal((await api.call('POST', `/v1/calls/${id}/hangup`, { headers: withKey('hangup') })).status, 200);
}

t.test('erasing a call leaves no trace of what it held', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const { db, recordings } = api.context;
  const key = api.account.test;
  const agent_id = (await api.call('POST', '/v1/agents', { key: api.account.live, body: AGENT })).body.id;
  const held = { metadata: { [CANARY]: CANARY }, variables: { [CANARY]: CANARY }, overrides: { system_prompt: CANARY, opening_message: `{{${CANARY}x}}` } };
  const testAgent = (await api.call('POST', '/v1/agents', { key, body: AGENT })).body.id;

  const bystander = (await api.call('POST', '/v1/calls', { key, body: { to: '+15005550001', agent_id: testAgent }, headers: { 'Idempotency-Key': 'bystander' } })).body.id;
  const session = (await api.call('POST', '/v1/realtime/sessions', { body: { agent_id, ...held }, headers: { 'Idempotency-Key': 'session' } })).body;
  await fill(api, session.call_id, 'session');
  const trunk = (await api.call('POST', '/v1/sip-trunks', { body: { name: 'T', host: '198.51.100.7', allowed_addresses: ['127.0.0.1'] } })).body;
  await db.query("UPDATE sip_trunk SET direction = 'both'");
  const number = (await api.call('POST', '/v1/phone-numbers', { body: { phone_number: '+14155550100', sip_trunk_id: trunk.id } })).body;
  const placed = await api.call('POST', '/v1/calls', { body: { to: NUMBER, agent_id, from_phone_number_id: number.id, ...held }, headers: { 'Idempotency-Key': 'placed' } });
  t.equal(placed.status, 201);
  await fill(api, placed.body.id, 'placed');
  await api.call('PATCH', `/v1/agents/${agent_id}`, { body: { outbound_phone_number_id: number.id } });
  const tried = await api.call('POST', `/v1/agents/${agent_id}/test-call`, { body: { to: NUMBER }, headers: { 'Idempotency-Key': 'test call' } });
  await fill(api, tried.body.id, 'tried');

  const calls = [session.call_id, placed.body.id, tried.body.id] as string[];
  const directory = dirname(dirname(await recordings.prepare(calls[0] ?? '')));
  const before = await dump(api);
  for (const table of ['call', 'call_transcript_item', 'call_log_entry', 'idempotency']) t.match(before, new RegExp(`^${table}: .*${CANARY}`, 'm'), `${table} holds some`);
  t.match(before, /^realtime_session: /m);
  t.equal(files(directory).length, 3);

  api.forgotten.length = 0;
  for (const id of calls) {
    t.match(await api.call('DELETE', `/v1/calls/${id}`), { status: 200, body: { id, object: 'call', deleted: true } });
    t.match(await api.call('GET', `/v1/calls/${id}`), { status: 404, body: { error: { code: 'call_not_found' } } });
    t.match(await api.call('DELETE', `/v1/calls/${id}`), { status: 404 });
  }
  const after = await dump(api);
  const left = after.split('\n').filter((row) => [CANARY, NUMBER, NUMBER.slice(1), ...calls, session.id].some((text) => row.includes(text)));
  t.same(left.filter((row) => !/^(usage_record|ledger_|balance)/.test(row)), []);
  t.same(left.filter((row) => row.includes(CANARY) || row.includes(NUMBER.slice(1))), [], 'what bills a call names it and holds nothing of it');
  t.same(files(directory), [], 'nor is there a file');
  t.same(api.forgotten, calls, 'nothing more is sent about them');
  t.notMatch(api.logged.join('\n'), new RegExp(`${CANARY}|${NUMBER.slice(1)}`), 'nor is it in the service\'s own log');

  t.match(await api.call('POST', '/v1/calls', { body: { to: NUMBER, agent_id, from_phone_number_id: number.id }, headers: { 'Idempotency-Key': 'placed' } }), { status: 201, headers: { 'idempotent-replayed': undefined } }, 'the key is free');
  t.match(await api.call('GET', `/v1/calls/${bystander}`, { key }), { status: 200 });
  t.match(await api.call('POST', '/v1/calls', { key, body: { to: '+15005550001', agent_id: testAgent }, headers: { 'Idempotency-Key': 'bystander' } }), { status: 201, headers: { 'idempotent-replayed': 'true' }, body: { id: bystander } }, 'other calls keep theirs');
});

t.test('a live call is not erased; of two erasures one does it', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const agent_id = (await api.call('POST', '/v1/agents', { body: AGENT })).body.id;
  const { call_id: id } = (await api.call('POST', '/v1/realtime/sessions', { body: { agent_id } })).body;
  writeFileSync(await api.context.recordings.prepare(id), 'RIFF');
  t.match(await api.call('DELETE', `/v1/calls/${id}`), { status: 409, body: { error: { type: 'conflict_error', code: 'call_in_progress' } } });
  t.type(await api.context.recordings.size(id), 'number', 'its recording goes on');
  await endCall(api.context, id, { status: 'completed', endReason: 'caller_hangup', outcome: 'no_conversation', endedAt: new Date(), summary: { turns: [], interruptions: { byCaller: 0, falseAlarms: 0 } } });
  for (const other of [(await api.newAccount()).live, api.account.test]) t.ok((await api.call('DELETE', `/v1/calls/${id}`, { key: other })).status >= 403);
  t.type(await api.context.recordings.size(id), 'number');
  const answers = await Promise.all([1, 2, 3].map(() => api.call('DELETE', `/v1/calls/${id}`)));
  t.same(answers.map(({ status }) => status).sort((a, b) => a - b), [200, 404, 404]);
  await t.rejects(appendLog(api.context, id, { at: 0, source: 'sip', event: 'a late line' }), { code: '23503' }, 'what comes late has nowhere to go');
});
