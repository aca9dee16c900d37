import { writeFileSync } from 'node:fs';
import t from 'tap';
import { appendLog, appendTranscript, createInboundCall, endCall, endLostCalls, markAnswered, type CallEnding } from '../../../src/resources/calls/actions.ts';
import { startApiHarness, type ApiHarness } from '../../support/api-harness.ts';

const QUIET: CallEnding['summary'] = { turns: [], interruptions: { byCaller: 0, falseAlarms: 0 } };

/** An agent, and calls to it. */
async function withAgent(api: ApiHarness): Promise<(more?: { from?: string; livemode?: boolean; recordingChannels?: string }) => Promise<string>> {
  const make = async (key: string) => {
    const agent = (await api.call('POST', '/v1/agents', { key, body: { name: 'A', system_prompt: 'P', opening_message: 'O' } })).body;
    const trunk = (await api.call('POST', '/v1/sip-trunks', { key, body: { name: 'T', allowed_addresses: ['127.0.0.1'] } })).body;
    const number = (await api.call('POST', '/v1/phone-numbers', { key, body: { phone_number: '+15550100007', sip_trunk_id: trunk.id, agent_id: agent.id } })).body;
    return { agent, trunk, number };
  };
  const worlds = { live: await make(api.account.live), test: await make(api.account.test) };
  return ({ from = '+15550100009', livemode = true, ...more } = {}) => {
    const { agent, trunk, number } = livemode ? worlds.live : worlds.test;
    return createInboundCall(api.context, { accountId: api.account.id, livemode, agent: { id: agent.id, version: 1 }, from, to: '+15550100007', phoneNumberId: number.id, sipTrunkId: trunk.id, sipCallId: 'a@b', ...more });
  };
}

t.test('a call from ringing to its record', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const newCall = await withAgent(api);
  const { context } = api;

  const id = await newCall({ recordingChannels: 'stereo' });
  t.match(api.events, [{ event: 'inboundCall', accountId: api.account.id, livemode: true, eventKey: `inboundCall:${id}`, data: { id, object: 'call', status: 'ringing', from: '+15550100009', to: '+15550100007' } }]);
  t.match((await api.call('GET', `/v1/calls/${id}`)).body, { status: 'ringing', direction: 'inbound', transport: 'sip', agent_version: 1, answered_at: null, end_reason: null, sip: { call_id: 'a@b' }, metadata: {}, cost_micros: 0, livemode: true });
  t.match(await api.call('DELETE', `/v1/calls/${id}`), { status: 409, body: { error: { type: 'conflict_error', code: 'call_in_progress' } } });
  t.match(await api.call('GET', `/v1/calls/${id}/recording`), { status: 404, body: { error: { code: 'recording_not_found' } } });

  const answeredAt = new Date('2026-11-21T12:00:01.000Z');
  await markAnswered(context, id, answeredAt);
  await markAnswered(context, id, new Date('2026-11-21T13:00:00Z'));
  t.match((await api.call('GET', `/v1/calls/${id}`)).body, { status: 'in_progress', answered_at: '2026-11-21T12:00:01.000Z' });
  await appendTranscript(context, id, { position: 1, role: 'caller', text: 'Are you open?', startedMs: 2000.4, endedMs: 3000 });
  await appendTranscript(context, id, { position: 0, role: 'agent', text: 'Hello, this is the shop.', startedMs: 0, endedMs: 1500 });
  await appendTranscript(context, id, { position: 0, role: 'agent', text: 'Hello, this is the shop.', heardText: 'Hello, this', interrupted: true, startedMs: 0, endedMs: 700 });
  await appendLog(context, id, { at: answeredAt.getTime(), source: 'turn', event: 'user_turn', detail: { reason: 'complete' } });
  t.same((await api.call('GET', `/v1/calls/${id}/transcript`)).body, { object: 'call_transcript', call_id: id, items: [
    { role: 'agent', text: 'Hello, this is the shop.', heard_text: 'Hello, this', interrupted: true, started_ms: 0, ended_ms: 700 },
    { role: 'caller', text: 'Are you open?', started_ms: 2000, ended_ms: 3000 },
  ] });
  t.match((await api.call('GET', `/v1/calls/${id}/log`)).body, { entries: [{ at: '2026-11-21T12:00:01.000Z', source: 'turn', event: 'user_turn', detail: { reason: 'complete' } }] });

  const recording = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 251));
  writeFileSync(await context.recordings.prepare(id), recording);
  api.liveCalls.onHangUp = (callId) => endCall(context, callId, {
    status: 'completed', endReason: 'api_hangup', outcome: 'conversation', endedAt: new Date('2026-11-21T12:00:11.001Z'),
    summary: {
      turns: [800, 900, 1000, 700].map((voiceToVoiceMs) => ({ voiceToVoiceMs, endpointingMs: 500, sttMs: 100, llmMs: 150, ttsMs: 50 })),
      answerToFirstAudioMs: 40, interruptions: { byCaller: 1, falseAlarms: 2 }, quality: { codec: 'PCMU', packetsLostPct: 0.123, jitterMs: 1.5, mos: 4.3 }, recordingDurationMs: 10_000,
    },
  });
  const hungUp = await api.call('POST', `/v1/calls/${id}/hangup`);
  t.match(hungUp, { status: 200, body: {
    status: 'completed', end_reason: 'api_hangup', outcome: 'conversation', duration_ms: 10_001, billable_seconds: 11, transcript_available: true, recording: { available: true, channels: 'stereo', duration_ms: 10_000 },
    latency: { voice_to_voice: { max: 1000, count: 4 }, answer_to_first_audio_ms: 40 }, quality: { codec: 'PCMU', packets_lost_pct: 0.12, rtt_ms: null }, interruptions: { by_caller: 1, false_alarms: 2 },
  } });
  t.match(await api.call('POST', `/v1/calls/${id}/hangup`), { status: 409, body: { error: { code: 'call_not_in_progress' } } });
  await endCall(context, id, { status: 'failed', endReason: 'internal_error', outcome: 'not_connected', endedAt: new Date(), summary: QUIET });
  t.same(api.events.map(({ event }) => event), ['inboundCall', 'callCompleted'], 'a call ends once');
  t.match(api.events[1], { data: { id, duration_ms: 10_001, outcome: 'conversation', end_reason: 'api_hangup', cost_micros: 0, answered_by: null } });

  t.test('recording', async (t) => {
    const url = `/v1/calls/${id}/recording`;
    const get = (range?: string) => api.app.inject({ method: 'GET', url, headers: { authorization: `Bearer ${api.account.live}`, ...(range === undefined ? {} : { range }) } });
    const whole = await get();
    t.match(whole, { statusCode: 200, headers: { 'content-type': 'audio/wav', 'accept-ranges': 'bytes', 'content-length': '1000' } });
    t.ok(whole.rawPayload.equals(recording));
    for (const [range, from, to] of [['bytes=0-99', 0, 99], ['bytes=900-', 900, 999], ['bytes=-10', 990, 999], ['bytes=990-5000', 990, 999]] as const) {
      const part = await get(range);
      t.match(part, { statusCode: 206, headers: { 'content-range': `bytes ${from}-${to}/1000` } }, range);
      t.ok(part.rawPayload.equals(recording.subarray(from, to + 1)), range);
    }
    t.match(await get('bytes=1000-'), { statusCode: 416, headers: { 'content-range': 'bytes */1000' } });
    for (const range of ['bytes=5-1', 'bytes=0-1,5-6', 'lines=1-2', 'bytes=x', 'bytes=-']) t.equal((await get(range)).statusCode, 200, range);
    t.match(await api.call('GET', `${url}?format=flac`), { status: 400 });
  });

  t.test('erasure', async (t) => {
    const stranger = await api.newAccount();
    for (const [method, path] of [['GET', ''], ['GET', '/transcript'], ['GET', '/log'], ['GET', '/recording'], ['POST', '/hangup'], ['DELETE', '']] as const) {
      t.match(await api.call(method, `/v1/calls/${id}${path}`, { key: stranger.live }), { status: 404, body: { error: { code: 'call_not_found' } } });
      t.match(await api.call(method, `/v1/calls/${id}${path}`, { key: api.account.test }), { status: 403, body: { error: { code: 'key_mode_mismatch' } } });
    }
    t.match(await api.call('DELETE', `/v1/calls/${id}`), { status: 200, body: { id, object: 'call', deleted: true } });
    t.equal((await api.call('GET', `/v1/calls/${id}`)).status, 404);
    t.equal(await context.recordings.size(id), undefined);
    t.same(api.forgotten, [id]);
    for (const table of ['call', 'call_transcript_item', 'call_log_entry']) t.same(await context.db.query(`SELECT * FROM ${table}`), [], table);
  });
});

t.test('lists and calls that a kill left behind', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const newCall = await withAgent(api);
  const [ringing, answered, other, test] = [await newCall(), await newCall({ recordingChannels: 'stereo' }), await newCall({ from: 'alice' }), await newCall({ livemode: false })] as const;
  await markAnswered(api.context, answered, new Date(Date.now() - 60_000));
  await api.context.db.query('UPDATE call SET node_id = $1 WHERE id = $2', ['another node', other]);
  writeFileSync(await api.context.recordings.prepare(answered), 'RIFF');
  const ids = async (query: string, key = api.account.live): Promise<string[]> => (await api.call('GET', `/v1/calls?${query}`, { key })).body.data.map(({ id }: { id: string }) => id);
  t.same((await ids('')).sort(), [ringing, answered, other].sort());
  t.same(await ids('', api.account.test), [test]);
  t.same(await ids('from=alice'), [other]);
  t.same(await ids('status=in_progress&direction=inbound'), [answered]);
  t.same(await ids('created_before=2000-01-01T00:00:00Z'), []);
  t.same(await ids(`agent_id=${'0'.repeat(24)}`), []);
  t.match(await api.call('GET', '/v1/calls?status=talking'), { status: 400, body: { error: { param: 'status' } } });
  const page = (await api.call('GET', '/v1/calls?limit=1&direction=inbound')).body;
  t.match(await api.call('GET', `/v1/calls?limit=1&starting_after=${page.next_cursor}`), { status: 400, body: { error: { code: 'invalid_cursor' } } }, 'filters may not change between pages');

  const repaired: string[] = [];
  const repair = (path: string) => { repaired.push(path); return Promise.resolve({ durationMs: 5000 }); };
  api.events.length = 0;
  t.equal(await endLostCalls(api.context, repair), 3);
  t.equal(await endLostCalls(api.context, repair), 0);
  t.match((await api.call('GET', `/v1/calls/${ringing}`)).body, { status: 'failed', end_reason: 'node_lost', outcome: 'not_connected', duration_ms: 0, billable_seconds: 0 });
  t.match((await api.call('GET', `/v1/calls/${answered}`)).body, { status: 'completed', end_reason: 'node_lost', outcome: 'no_conversation', duration_ms: 5000, recording: { available: true, duration_ms: 5000 } });
  t.match((await api.call('GET', `/v1/calls/${other}`)).body, { status: 'ringing' }, 'another node keeps its own');
  t.equal(repaired.length, 1);
  t.same(api.events.map(({ event }) => event), ['callCompleted', 'callCompleted', 'callCompleted']);
});

t.test('realtime sessions', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const agent = (await api.call('POST', '/v1/agents', { body: { name: 'A', system_prompt: 'P', opening_message: 'Hello {{name}}' } })).body;
  const made = await api.call('POST', '/v1/realtime/sessions', { body: { agent_id: agent.id, variables: { name: 'Ada' }, metadata: { order: '7' } } });
  t.match(made, { status: 201, body: { object: 'realtime_session', client_secret: { value: String, expires_at: '2026-11-21T12:01:00.000Z' }, url: /^ws:/, agent_id: agent.id, audio: { input: { encoding: 'pcm16', sample_rate: 16_000 } } } });
  t.match(api.liveCalls.opened, [{ callId: made.body.call_id, sessionId: made.body.id, clientSecret: made.body.client_secret.value, agent: { openingMessage: 'Hello Ada' }, allowedOrigins: ['http://localhost:8080'], recordingPath: String }]);
  t.match((await api.call('GET', `/v1/calls/${made.body.call_id}`)).body, { status: 'queued', direction: 'realtime', transport: 'websocket', realtime_session_id: made.body.id, metadata: { order: '7' } });
  const refuse = async (body: object, expected: object, key = api.account.live): Promise<void> => {
    t.match(await api.call('POST', '/v1/realtime/sessions', { key, body: { agent_id: agent.id, ...body } }), expected);
  };
  await refuse({ agent_id: 'f'.repeat(24) }, { status: 404, body: { error: { code: 'agent_not_found', param: 'agent_id' } } });
  await refuse({}, { status: 403, body: { error: { code: 'key_mode_mismatch', param: 'agent_id' } } }, api.account.test);
  for (const metadata of [{ a: 1 }, { a: { b: 'c' } }, { ['k'.repeat(41)]: 'v' }, { k: 'v'.repeat(501) }, Object.fromEntries(Array.from({ length: 51 }, (_, n) => [n, ''])), 'x']) {
    await refuse({ metadata }, { status: 400, body: { error: { code: 'invalid_metadata', param: 'metadata' } } });
  }
  await refuse({ audio: { input: { encoding: 'pcmu', sample_rate: 16_000 } } }, { status: 400, body: { error: { param: 'audio.input.sample_rate' } } });
  await refuse({ audio: { input: { encoding: 'mp3', sample_rate: 8000 } } }, { status: 400, body: { error: { param: 'audio.input.encoding' } } });
  api.liveCalls.full = true;
  await refuse({}, { status: 429, body: { error: { type: 'rate_limit_error', code: 'concurrency_limit' } } });
  t.match((await api.call('GET', '/v1/calls?limit=1')).body.data[0], { status: 'failed', end_reason: 'concurrency_limit' });
});
