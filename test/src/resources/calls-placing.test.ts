import t from 'tap';
import { ApiError } from '../../../src/api/errors.ts';
import { routeInboundCall } from '../../../src/inbound-calls.ts';
import { endCall, endLostCalls, type CallEnding } from '../../../src/resources/calls/actions.ts';
import { CATALOGUE } from '../../../src/api/error-catalogue.ts';
import { startApiHarness, type Answer, type ApiHarness } from '../../support/api-harness.ts';
import { AGENT } from '../../support/examples/agents.ts';

const TO = '+14155550199';
const UNKNOWN = 'f'.repeat(24);
const QUIET: CallEnding['summary'] = { turns: [], interruptions: { byCaller: 0, falseAlarms: 0 } };
const refused = (status: number, code: keyof typeof CATALOGUE, param?: string) => ({ status, body: { error: { code, type: CATALOGUE[code].type, ...(param === undefined ? {} : { param }) } } });

interface World { agentId: string; numberId: string; trunkId: string; place: (body?: object, options?: { key?: string; idempotencyKey?: string }) => Promise<Answer> }

/** An agent with a number on a trunk that may call out. */
async function outboundWorld(api: ApiHarness): Promise<World> {
  const trunk = (await api.call('POST', '/v1/sip-trunks', { body: { name: 'T', host: '198.51.100.7', allowed_addresses: ['127.0.0.1'] } })).body;
  const number = (await api.call('POST', '/v1/phone-numbers', { body: { phone_number: '+14155550100', sip_trunk_id: trunk.id } })).body;
  const agent = (await api.call('POST', '/v1/agents', { body: { ...AGENT, opening_message: 'Hello {{name}} of {{city}}', outbound_phone_number_id: number.id } })).body;
  await api.call('PATCH', `/v1/phone-numbers/${number.id}`, { body: { agent_id: agent.id } });
  return {
    agentId: agent.id, numberId: number.id, trunkId: trunk.id,
    place: (body = {}, { key, idempotencyKey } = {}) => api.call('POST', '/v1/calls', {
      ...(key === undefined ? {} : { key }), body: { to: TO, agent_id: agent.id, ...body }, headers: idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey },
    }),
  };
}

t.test('placing a call', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const { agentId, numberId, trunkId, place } = await outboundWorld(api);
  const { db } = api.context;

  t.test('is answered with the queued call, told of, and dialled', async (t) => {
    const asked = {
      metadata: { order: '7' }, variables: { name: 'Ada', city: 'Ulm' }, overrides: { system_prompt: 'Be brief.', language: 'en-GB' },
      ring_timeout_ms: 20_000, max_duration_seconds: 60, max_cost_micros: 5000,
    };
    const made = await place(asked);
    t.match(made, { status: 201, headers: { 'ratelimit-policy': /^"call";/ }, body: {
      object: 'call', livemode: true, direction: 'outbound', transport: 'sip', status: 'queued', end_reason: null, outcome: null, agent_id: agentId, agent_version: 1,
      lead_id: null, campaign_id: null, phone_number_id: numberId, sip_trunk_id: trunkId, realtime_session_id: null, from: '+14155550100', to: TO, test: false,
      created_at: '2026-11-21T12:00:00.000Z', ringing_at: null, answered_at: null, ended_at: null, answered_by: null, transfer: null, analysis: null, cost_micros: 0, ...asked,
    } });
    t.same((await api.call('GET', `/v1/calls/${made.body.id}`)).body, made.body);
    t.match(api.liveCalls.placed, [{
      callId: made.body.id, livemode: true, to: TO, from: '+14155550100', sipTrunkId: trunkId, ringTimeoutMs: 20_000, maxCostMicros: 5000, recordingPath: String,
      agent: { openingMessage: 'Hello Ada of Ulm', systemPrompt: 'Be brief.', language: 'en-GB', maxDurationMs: 60_000 },
    }]);
    const { id, ...fields } = made.body;
    t.strictSame(api.events.splice(0), [{ accountId: api.account.id, livemode: true, event: 'outboundCall', data: { id, ...fields }, eventKey: `outboundCall:${id}`, test: false }]);
    await endCall(api.context, id, { status: 'completed', endReason: 'caller_hangup', outcome: 'conversation', endedAt: new Date('2026-11-21T12:00:09.000Z'), summary: QUIET });
    const call = (await api.call('GET', `/v1/calls/${id}`)).body;
    t.strictSame(api.events.splice(0), [{ accountId: api.account.id, livemode: true, event: 'callCompleted', data: call, eventKey: `callCompleted:${id}`, test: false }], 'as GET shows it');
    t.match(call, { metadata: asked.metadata, duration_ms: 0, outcome: 'conversation', end_reason: 'caller_hangup', cost_micros: 0, answered_by: null });
    const [row] = await db.query<{ api_key_id: string }>('SELECT api_key_id FROM call WHERE id = $1', [id]);
    t.match(row?.api_key_id, /^[0-9a-f]{24}$/, 'its usage can name the key');
  });

  t.test('metadata is kept verbatim and never reaches the model', async (t) => {
    api.liveCalls.placed.length = 0;
    const metadata = { ' Key ': ' {{name}} ', empty: '', 'é': '✓', city: 'Metropolis' };
    const { body } = await place({ metadata });
    t.strictSame(body.metadata, metadata);
    t.notMatch(JSON.stringify(api.liveCalls.placed[0]?.agent), /Metropolis|✓/);
    t.match((await api.call('GET', `/v1/calls/${body.id}/log`)).body.entries, [{ source: 'session', event: 'merge_fields_unresolved', detail: { fields: ['name', 'city'] } }]);
  });

  t.test('limits of what is asked, at the edge and one past it', async (t) => {
    const long = 'v'.repeat(500);
    const full = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [String(n).padStart(40, 'k'), long]));
    for (const fine of [{ metadata: full }, { metadata: {} }, { ring_timeout_ms: 5000 }, { ring_timeout_ms: 120_000 }, { max_duration_seconds: 30 }, { max_duration_seconds: 14_400 }, { max_cost_micros: 1 }]) {
      t.match(await place(fine), { status: 201 }, JSON.stringify(fine).slice(0, 60));
    }
    for (const metadata of [{ a: 1 }, { a: { b: 'c' } }, { a: null }, [], 'x', { ...full, more: '' }, { ['k'.repeat(41)]: 'v' }, { k: `${long}v` }]) {
      t.match(await place({ metadata }), refused(400, 'invalid_metadata', 'metadata'), JSON.stringify(metadata).slice(0, 60));
    }
    for (const to of ['4155550199', '+0155', '+1 415', 'sip:x@y', '', 7, null, `+1${'5'.repeat(15)}`]) t.match(await place({ to }), refused(400, 'invalid_phone_number', 'to'), String(to));
    for (const [param, value] of [
      ['ring_timeout_ms', 4999], ['ring_timeout_ms', 120_001], ['ring_timeout_ms', '9000'], ['max_duration_seconds', 29], ['max_duration_seconds', 14_401],
      ['max_cost_micros', 0], ['max_cost_micros', 1.5], ['variables.n', 1], ['overrides.language', 'english'], ['overrides.voice.tts.speed', 3],
    ] as const) {
      const body = param.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;
      t.match(await place(body), refused(400, 'invalid_parameter', param), `${param} ${value}`);
    }
    t.match(await place({ agent_id: 'x' }), refused(400, 'invalid_id', 'agent_id'));
    t.match(await place({ nonsense: 1 }), refused(400, 'unknown_parameter', 'nonsense'));
    t.match(await place({ overrides: { voice: { tts: { pitch: 1 } } } }), refused(400, 'unknown_parameter', 'overrides.voice.tts.pitch'));
    for (const missing of ['to', 'agent_id']) t.match(await place({ [missing]: undefined }), refused(400, 'missing_parameter', missing));
  });

  t.test('an overridden voice changes what it names and keeps the rest', async (t) => {
    api.liveCalls.placed.length = 0;
    t.match(await place({ overrides: { voice: { tts: { voice: 'other', speed: 1.5 }, turn_taking: { silence_wait_ms: 900 } } } }), { status: 201, body: { overrides: { voice: { tts: { voice: 'other' } } } } });
    t.match(api.liveCalls.placed[0]?.agent, { tts: { model: 'local/mouth', voice: 'other', speed: 1.5, stability: 0.5 }, stt: { model: 'local/ear' }, turnTaking: { silenceWaitMs: 900, interruptSensitivity: 'normal' } });
    t.match(await place({ overrides: { voice: { tts: { model: 'no/such' } } } }), refused(400, 'unknown_model', 'overrides.voice.tts.model'));
    t.match(await place({ overrides: { voice: { tts: { speed: 1 }, realtime: { model: 'local/one' } } } }), refused(400, 'conflicting_voice'));
    t.match(await place({ overrides: { language: 'de-DE' } }), refused(400, 'unsupported_language', 'agent_id'));
    await db.query(`UPDATE agent SET definition = jsonb_set(definition, '{voice}', '{"realtime": {"model": "local/one", "voice": null, "language": "auto"}, "turn_taking": {}}') WHERE id = $1`, [agentId]);
    t.match(await place(), refused(400, 'unknown_model', 'agent_id'), 'a voice that no engine here runs');
    await api.call('PATCH', `/v1/agents/${agentId}`, { body: { voice: null, recording: { channels: 'mono' } } });
    t.match(await place(), { status: 201, body: { recording: { available: false, channels: 'mono', duration_ms: null } } });
  });

  t.test('what is named must exist, in this account and mode', async (t) => {
    const stranger = await api.newAccount();
    const foreign = (await api.call('POST', '/v1/agents', { key: stranger.live, body: AGENT })).body.id;
    const test = (await api.call('POST', '/v1/agents', { key: api.account.test, body: AGENT })).body.id;
    for (const id of [UNKNOWN, foreign]) t.match(await place({ agent_id: id }), refused(404, 'agent_not_found', 'agent_id'));
    t.match(await place({ agent_id: test }), refused(403, 'key_mode_mismatch', 'agent_id'));
    t.match(await place({ from_phone_number_id: UNKNOWN }), refused(404, 'phone_number_not_found', 'from_phone_number_id'));
    t.match(await place({ lead_id: UNKNOWN }), refused(404, 'lead_not_found', 'lead_id'));
  });

  t.test('a lead gives its fields, and is noted', async (t) => {
    const lead = (await api.call('POST', '/v1/leads', { body: { name: 'Grace', phone_number: TO, fields: { city: 'Arlington' } } })).body;
    api.liveCalls.placed.length = 0;
    api.clock.advance(60_000);
    const made = await place({ lead_id: lead.id });
    t.match(made, { status: 201, body: { lead_id: lead.id } });
    t.match(api.liveCalls.placed[0]?.agent.openingMessage, 'Hello Grace of Arlington');
    t.match((await api.call('GET', `/v1/leads/${lead.id}`)).body, { last_call_at: made.body.created_at });
    const listed = await api.call('GET', `/v1/calls?lead_id=${lead.id}`);
    t.same(listed.body.data.map(({ id }: { id: string }) => id), [made.body.id]);
    t.same((await api.call('GET', `/v1/calls?lead_id=${UNKNOWN}`)).body.data, []);
    await db.query('UPDATE call SET campaign_id = $1 WHERE id = $2', ['c'.repeat(24), made.body.id]);
    t.match((await api.call('GET', `/v1/calls?campaign_id=${'c'.repeat(24)}&direction=outbound&to=${encodeURIComponent(TO)}`)).body.data, [{ id: made.body.id, campaign_id: 'c'.repeat(24) }]);
  });

  t.test('numbers and trunks that cannot call', async (t) => {
    const bare = (await api.call('POST', '/v1/agents', { body: AGENT })).body.id;
    t.match(await place({ agent_id: bare }), refused(400, 'no_outbound_number', 'from_phone_number_id'));
    t.match(await place({ agent_id: bare, from_phone_number_id: numberId }), { status: 201, body: { from: '+14155550100' } });
    const lone = (await api.call('POST', '/v1/phone-numbers', { body: { phone_number: '+14155550101' } })).body.id;
    t.match(await place({ from_phone_number_id: lone }), refused(409, 'no_trunk', 'from_phone_number_id'));
    const mute = (await api.call('POST', '/v1/phone-numbers', { body: { phone_number: '+14155550102', sip_trunk_id: trunkId, outbound_enabled: false } })).body.id;
    t.match(await place({ from_phone_number_id: mute }), refused(400, 'no_outbound_number', 'from_phone_number_id'));
    for (const [change, undo] of [["direction = 'inbound'", "direction = 'both'"], ['enabled = false', 'enabled = true']] as const) {
      await db.query(`UPDATE sip_trunk SET ${change} WHERE id = $1`, [trunkId]);
      t.match(await place(), refused(409, 'no_trunk'), change);
      await db.query(`UPDATE sip_trunk SET ${undo} WHERE id = $1`, [trunkId]);
    }
  });

  t.test('what the trunk says goes with the call, its password opened, and stays out of everything else', async (t) => {
    const password = 'open sesame';
    const change = (body: object) => api.call('PATCH', `/v1/sip-trunks/${trunkId}`, { body });
    api.liveCalls.placed.length = 0;
    api.events.length = 0;
    await change({ port: 5070, transport: 'tcp', username: 'shop', password, realm: 'pbx', from_domain: 'shop.example', caller_id_mode: 'pai', number_format: 'strip_plus', outbound_proxy: 'edge.example', headers: { 'X-Account': '7' }, codecs: ['G722', 'PCMA'] });
    const made = await place();
    t.strictSame(api.liveCalls.placed[0]?.trunk, {
      host: '198.51.100.7', transport: 'tcp', codecs: ['PCMA'], port: 5070, outboundProxy: 'edge.example', username: 'shop', password, realm: 'pbx', fromDomain: 'shop.example',
      callerIdMode: 'pai', numberFormat: 'strip_plus', headers: { 'X-Account': '7' },
    });
    const rows = await db.query('SELECT call.*, (SELECT json_agg(call_log_entry) FROM call_log_entry WHERE call_id = id) AS log FROM call WHERE id = $1', [made.body.id]);
    t.notMatch(JSON.stringify([made.body, api.events, rows]), new RegExp(password));
    for (const [wrong, words] of [[{ transport: 'tls' }, /TLS/], [{ media_encryption: 'required' }, /encrypted media/], [{ codecs: ['opus'] }, /PCMU/], [{ outbound_proxy: 'sips:edge.example' }, /TLS/], [{ host: null }, /no host/]] as const) {
      await change(wrong);
      t.match(await place(), { ...refused(409, 'no_trunk', 'from_phone_number_id'), body: { error: { code: 'no_trunk', message: words } } }, JSON.stringify(wrong));
      await change({ host: '198.51.100.7', transport: 'udp', media_encryption: 'disabled', codecs: null, outbound_proxy: null });
    }
    t.match(await place(), { status: 201 });
  });

  t.test('destinations that are not called', async (t) => {
    const before = (await api.call('GET', '/v1/calls?limit=1')).body.data[0].id;
    for (const to of ['+8816123456', '+19005550100']) t.match(await place({ to }), refused(403, 'destination_not_allowed', 'to'), to);
    t.match(await place({ to: '+8816123456', agent_id: UNKNOWN }), { status: 403 });
    t.equal((await api.call('GET', '/v1/calls?limit=1')).body.data[0].id, before, 'no call was made');
  });

  t.test('an installation that cannot dial refuses before anything happens', async (t) => {
    const events = api.events.length;
    api.liveCalls.refusal = new ApiError('dialling_unavailable');
    t.match(await place({}, { idempotencyKey: 'later' }), { ...refused(503, 'dialling_unavailable'), headers: { 'retry-after': '1' } });
    api.liveCalls.refusal = undefined;
    t.equal(api.events.length, events);
    t.match(await place({}, { idempotencyKey: 'later' }), { status: 201, headers: { 'idempotent-replayed': undefined } }, 'the key is free');
  });

  t.test('a dialling that fails ends the call, which says so', async (t) => {
    api.events.length = 0;
    api.liveCalls.onPlace = () => Promise.reject(new ApiError('concurrency_limit', 'All places are taken.'));
    t.match(await place(), { status: 201, body: { status: 'failed', end_reason: 'concurrency_limit', end_detail: 'All places are taken.', outcome: 'not_connected', duration_ms: 0 } });
    api.liveCalls.onPlace = () => Promise.reject(new Error('secret internals'));
    t.match(await place(), { status: 201, body: { status: 'failed', end_reason: 'internal_error', end_detail: 'The call could not be dialled.' } });
    api.liveCalls.onPlace = () => Promise.resolve();
    t.same(api.events.map(({ event }) => event), ['outboundCall', 'callCompleted', 'outboundCall', 'callCompleted']);
  });

  t.test('a test call', async (t) => {
    api.events.length = 0;
    const url = `/v1/agents/${agentId}/test-call`;
    const made = await api.call('POST', url, { body: { to: TO }, headers: { 'Idempotency-Key': 'try it' } });
    t.match(made, { status: 201, body: { object: 'call', status: 'queued', test: true, livemode: true, agent_id: agentId } });
    t.match(api.events, [{ event: 'outboundCall', test: true, data: { id: made.body.id, test: true } }]);
    t.match(await api.call('POST', url, { body: { to: TO }, headers: { 'Idempotency-Key': 'try it' } }), { status: 201, headers: { 'idempotent-replayed': 'true' }, body: { id: made.body.id } });
    t.equal(api.events.length, 1);
    t.match(await api.call('POST', `/v1/agents/${UNKNOWN}/test-call`, { body: { to: TO } }), refused(404, 'agent_not_found', 'id'));
    t.match(await api.call('POST', url, { body: {} }), refused(400, 'missing_parameter', 'to'));
    t.match(await api.call('POST', url, { body: { to: TO, metadata: {} } }), refused(400, 'unknown_parameter', 'metadata'));
    t.match(await api.call('POST', url, { body: { to: '+8816123456' } }), refused(403, 'destination_not_allowed'));
  });

  t.test('test mode needs neither trunk nor number', async (t) => {
    const key = api.account.test;
    const agent = (await api.call('POST', '/v1/agents', { key, body: AGENT })).body.id;
    api.liveCalls.placed.length = 0;
    t.match(await place({ agent_id: agent, to: '+15005550001' }, { key }), { status: 201, body: { livemode: false, from: null, phone_number_id: null, sip_trunk_id: null, test: false } });
    t.match(api.liveCalls.placed, [{ livemode: false, to: '+15005550001', from: null, sipTrunkId: null, ringTimeoutMs: 30_000 }]);
    const number = (await api.call('POST', '/v1/phone-numbers', { key, body: { phone_number: '+14155550103' } })).body.id;
    t.match(await place({ agent_id: agent, from_phone_number_id: number }, { key }), { status: 201, body: { from: '+14155550103', sip_trunk_id: null } });
    t.match(await place({}, { key }), refused(403, 'key_mode_mismatch', 'agent_id'));
  });


  t.test('a placed call is never placed twice: by a retry, or by many at once', async (t) => {
    const count = async (): Promise<number> => (await db.query<{ n: number }>('SELECT count(*)::integer AS n FROM call'))[0]?.n ?? 0;
    const [before, placed] = [await count(), api.liveCalls.placed.length];
    const first = await place({}, { idempotencyKey: 'one' });
    t.match(await place({}, { idempotencyKey: 'one' }), { status: 201, headers: { 'idempotent-replayed': 'true' }, body: { id: first.body.id } });
    t.match(await place({ metadata: { other: 'body' } }, { idempotencyKey: 'one' }), refused(409, 'idempotency_key_reused'));
    const answers = await Promise.all(Array.from({ length: 8 }, () => place({}, { idempotencyKey: 'many' })));
    for (const answer of answers) if (answer.status !== 201) t.match(answer, { ...refused(409, 'idempotency_in_progress'), headers: { 'retry-after': '1' } });
    t.equal(new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id)).size, 1);
    t.equal(await count(), before + 2);
    t.equal(api.liveCalls.placed.length, placed + 2);
  });

  t.test('nor after a crash between the commit and the answer', async (t) => {
    const placed = api.liveCalls.placed.length;
    const { body: { id } } = await place({}, { idempotencyKey: 'crash' });
    // As the row is when the process dies before it has answered, and the next one has started.
    await db.query("UPDATE idempotency SET status = NULL, answer = NULL, lease_until = '2000-01-01' WHERE key = 'crash'");
    await endLostCalls(api.context, () => Promise.resolve({ durationMs: 0 }));
    t.match(await place({}, { idempotencyKey: 'crash' }), { status: 201, headers: { 'idempotent-replayed': 'true' }, body: { id, status: 'failed', end_reason: 'node_lost' } }, 'the retry is shown what became of it');
    t.equal(api.liveCalls.placed.length, placed + 1);
  });
});

t.test('calls at once, and what pays for them', async (t) => {
  const asked: object[] = [];
  const api = await startApiHarness({ accountConcurrency: 3, requireCredit: async (transaction, call) => {
    await transaction.query('SELECT 1');
    asked.push(call);
    if (call.maxCostMicros === 1) throw new ApiError('insufficient_credits');
  } });
  t.teardown(() => api.close());
  const { agentId, numberId, trunkId, place } = await outboundWorld(api);

  t.match(await place({ max_cost_micros: 1 }), refused(402, 'insufficient_credits'));
  t.same((await api.call('GET', '/v1/calls')).body.data, []);
  t.same([api.liveCalls.placed, api.events], [[], []], 'what was rolled back is told to nobody');
  const paid = await place({ max_cost_micros: 2 });
  t.match(asked.at(-1), { callId: paid.body.id, accountId: api.account.id, livemode: true, direction: 'outbound', agentId, maxCostMicros: 2 });
  const session = await api.call('POST', '/v1/realtime/sessions', { body: { agent_id: agentId } });
  t.match(asked.at(-1), { callId: session.body.call_id, direction: 'realtime' });
  const limit = refused(429, 'concurrency_limit');
  const openSession = () => api.call('POST', '/v1/realtime/sessions', { body: { agent_id: agentId } });
  const end = (id: string) => endCall(api.context, id, { status: 'completed', endReason: 'caller_hangup', outcome: 'no_conversation', endedAt: new Date(), summary: QUIET });

  await end(paid.body.id);
  await end(session.body.call_id);
  api.liveCalls.placed.length = 0;
  const answers = await Promise.all(Array.from({ length: 6 }, () => place()));
  t.same(answers.map(({ status }) => status).sort((a, b) => a - b), [201, 201, 201, 429, 429, 429], 'of many at once, exactly as many as there are places');
  t.match(answers.find(({ status }) => status === 429), { ...limit, headers: { 'retry-after': '1' } });
  t.equal(api.liveCalls.placed.length, 3);
  t.match(await openSession(), limit);
  const inbound = await routeInboundCall(api.context, { sourceAddress: '127.0.0.1', calledUser: '14155550100' });
  if (inbound.kind !== 'route') throw new Error(inbound.kind);
  const arrive = () => inbound.accept({ from: 'alice', to: '14155550100', sipCallId: 'a' });
  t.same(await arrive(), { refused: 'concurrency_limit' }, 'a caller is refused too');
  t.match(await place({}, { key: (await api.newAccount()).live }), { status: 404 }, 'another account has places of its own');

  const [first, second, third] = answers.filter(({ status }) => status === 201).map(({ body }) => body.id as string);
  await end(first ?? '');
  t.match(await arrive(), { callId: String });
  t.match(asked.at(-1), { direction: 'inbound' });
  t.match(await openSession(), limit);
  await end(second ?? '');
  t.match(await openSession(), { status: 201 });
  t.match(await place(), limit);
  await end(third ?? '');
  t.match(await place({ from_phone_number_id: numberId }), { status: 201, body: { sip_trunk_id: trunkId } });
});
