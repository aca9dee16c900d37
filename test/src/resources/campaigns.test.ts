import t from 'tap';
import { newId } from '../../../src/db/id.ts';
import { COUNTS, HOUR_MS, campaignRig } from './campaigns-rig.ts';

const UNKNOWN = 'f'.repeat(24);
const later = (ms: number, hours: number): string => new Date(ms + hours * HOUR_MS).toISOString();

t.test('making, reading, changing and deleting', async (t) => {
  const rig = await campaignRig();
  t.teardown(() => rig.api.close());
  const { api, agentId } = rig;
  const numberId = String((await api.call('POST', '/v1/phone-numbers', { body: { phone_number: '+14155550100' } })).body.id);
  const post = (fields: Record<string, unknown>) => api.call('POST', '/v1/campaigns', { body: { name: 'C', agent_id: agentId, ...fields } });

  await t.test('a campaign as it is made', async (t) => {
    const lead_ids = await rig.leads(3);
    const plain = await post({ lead_ids });
    t.equal(plain.status, 201);
    const { id, created_at, ...rest } = plain.body;
    t.same(rest, {
      object: 'campaign', livemode: true, name: 'C', agent_id: agentId, status: 'idle', paused_reason: null, lead_count: 3, lead_filter: null, scheduled_at: null,
      from_phone_number_ids: null, max_concurrent_calls: 5, calls_per_minute: null, calling_hours: null, retry: { max_attempts: 1, interval_minutes: 30, on: ['busy', 'no_answer'] },
      failure_breaker: { failure_pct: 50, window_calls: 20 }, max_cost_micros: null, cost_micros: 0, counts: { ...COUNTS, pending: 3 }, started_at: null, completed_at: null, updated_at: created_at,
    });
    t.same(await rig.get(id), plain.body);
    t.same((await rig.rows(id)).map(({ lead_id }) => lead_id), lead_ids, 'its leads in the order given');
    t.match((await rig.rows(id))[0], { object: 'campaign_lead', campaign_id: id, status: 'pending', attempts: 0, last_call_id: null, outcome: null, next_attempt_at: null });

    const full = {
      scheduled_at: later(api.clock.now(), 2), from_phone_number_ids: [numberId], max_concurrent_calls: 500, calls_per_minute: 60,
      calling_hours: { timezone: 'lead', days: ['monday', 'friday'], start: '20:00', end: '02:00' },
      retry: { max_attempts: 5, interval_minutes: 10_080, on: ['busy', 'no_answer', 'voicemail', 'failed'] }, failure_breaker: { failure_pct: 100, window_calls: 500 }, max_cost_micros: 5_000_000,
    };
    const made = await post({ name: 'x'.repeat(200), lead_ids, ...full });
    t.match(made, { status: 201, body: { ...full, status: 'scheduled' } });
    t.match((await post({ lead_ids, calling_hours: { start: '09:00', end: '17:00' }, retry: {}, failure_breaker: null })).body, {
      calling_hours: { timezone: 'agent', days: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'], start: '09:00', end: '17:00' },
      retry: { max_attempts: 1 }, failure_breaker: null,
    }, 'gaps are filled in');
  });

  await t.test('fields and their bounds', async (t) => {
    const lead_ids = await rig.leads(1);
    const refused: [Record<string, unknown>, string, string?][] = [
      [{ name: '' }, 'name'], [{ name: 'x'.repeat(201) }, 'name'], [{ agent_id: 'x' }, 'agent_id', 'invalid_id'], [{ colour: 1 }, 'colour', 'unknown_parameter'],
      [{ lead_ids: [] }, 'lead_ids'], [{ lead_ids: ['x'] }, 'lead_ids[0]', 'invalid_id'], [{ lead_ids: [lead_ids[0], lead_ids[0]] }, 'lead_ids[1]'],
      [{ lead_filter: { tags: ['a'] } }, 'lead_filter'], [{ lead_ids: undefined }, 'lead_ids', 'missing_parameter'],
      [{ lead_ids: undefined, lead_filter: { tags: [] } }, 'lead_filter.tags'], [{ lead_ids: undefined, lead_filter: { tags: ['x'.repeat(65)] } }, 'lead_filter.tags[0]'],
      [{ lead_ids: undefined, lead_filter: { tags: ['nobody has it'] } }, 'lead_filter'], [{ lead_ids: undefined, lead_filter: { tags: ['a'], any: true } }, 'lead_filter.any', 'unknown_parameter'],
      [{ scheduled_at: later(api.clock.now(), 0) }, 'scheduled_at'], [{ scheduled_at: 'tomorrow' }, 'scheduled_at'],
      [{ max_concurrent_calls: 0 }, 'max_concurrent_calls'], [{ max_concurrent_calls: 501 }, 'max_concurrent_calls'], [{ calls_per_minute: 0 }, 'calls_per_minute'], [{ calls_per_minute: 6001 }, 'calls_per_minute'],
      [{ calling_hours: { start: '24:00', end: '02:00' } }, 'calling_hours.start'], [{ calling_hours: { start: '9:00', end: '17:00' } }, 'calling_hours.start'],
      [{ calling_hours: { start: '09:00', end: '17:60' } }, 'calling_hours.end'], [{ calling_hours: { start: '09:00', end: '09:00' } }, 'calling_hours.end'],
      [{ calling_hours: { start: '09:00' } }, 'calling_hours.end', 'missing_parameter'], [{ calling_hours: { start: '09:00', end: '17:00', days: [] } }, 'calling_hours.days'],
      [{ calling_hours: { start: '09:00', end: '17:00', days: ['someday'] } }, 'calling_hours.days[0]'], [{ calling_hours: { start: '09:00', end: '17:00', days: ['monday', 'monday'] } }, 'calling_hours.days'],
      [{ calling_hours: { start: '09:00', end: '17:00', timezone: 'Mars/Olympus' } }, 'calling_hours.timezone'],
      [{ retry: { max_attempts: 0 } }, 'retry.max_attempts'], [{ retry: { max_attempts: 6 } }, 'retry.max_attempts'], [{ retry: { interval_minutes: 0 } }, 'retry.interval_minutes'],
      [{ retry: { on: ['conversation'] } }, 'retry.on[0]'], [{ failure_breaker: { failure_pct: 0 } }, 'failure_breaker.failure_pct'], [{ failure_breaker: { failure_pct: 101 } }, 'failure_breaker.failure_pct'],
      [{ failure_breaker: { window_calls: 0 } }, 'failure_breaker.window_calls'], [{ failure_breaker: { window_calls: 501 } }, 'failure_breaker.window_calls'],
      [{ max_cost_micros: 0 }, 'max_cost_micros'], [{ max_cost_micros: 0.5 }, 'max_cost_micros'],
    ];
    for (const [fields, param, code = 'invalid_parameter'] of refused) {
      t.match(await post({ lead_ids, ...fields }), { status: 400, body: { error: { type: 'invalid_request_error', code, param } } }, JSON.stringify(fields));
    }
    for (const timezone of ['agent', 'lead', 'America/New_York']) t.equal((await post({ lead_ids, calling_hours: { timezone, start: '00:00', end: '23:59' } })).status, 201, timezone);
  });

  await t.test('what it names must exist, in the same account and mode', async (t) => {
    const lead_ids = await rig.leads(2);
    const [ofTest] = await rig.leads(1, { livemode: false });
    const stranger = await api.newAccount();
    const foreign = String((await api.call('POST', '/v1/agents', { key: stranger.live, body: { name: 'A', system_prompt: 'P', opening_message: 'O' } })).body.id);
    const testAgent = String((await api.call('POST', '/v1/agents', { key: api.account.test, body: { name: 'A', system_prompt: 'P', opening_message: 'O' } })).body.id);
    const testNumber = String((await api.call('POST', '/v1/phone-numbers', { key: api.account.test, body: { phone_number: '+14155550101' } })).body.id);
    const foreignLead = String((await api.call('POST', '/v1/leads', { key: stranger.live, body: { name: 'L', phone_number: '+14155550199' } })).body.id);
    for (const [fields, status, code, param] of [
      [{ agent_id: UNKNOWN }, 404, 'agent_not_found', 'agent_id'], [{ agent_id: foreign }, 404, 'agent_not_found', 'agent_id'], [{ agent_id: testAgent }, 403, 'key_mode_mismatch', 'agent_id'],
      [{ from_phone_number_ids: [numberId, UNKNOWN] }, 404, 'phone_number_not_found', 'from_phone_number_ids[1]'], [{ from_phone_number_ids: [testNumber] }, 403, 'key_mode_mismatch', 'from_phone_number_ids[0]'],
      [{ lead_ids: [...lead_ids, UNKNOWN] }, 404, 'lead_not_found', 'lead_ids[2]'], [{ lead_ids: [foreignLead] }, 404, 'lead_not_found', 'lead_ids[0]'], [{ lead_ids: [lead_ids[0], ofTest] }, 403, 'key_mode_mismatch', 'lead_ids[1]'],
    ] as const) {
      t.match(await post({ lead_ids, ...fields }), { status, body: { error: { code, param } } }, JSON.stringify(fields));
      const { id } = await rig.campaign();
      t.match(await api.call('PATCH', `/v1/campaigns/${id}`, { body: fields }), { status, body: { error: { code, param } } }, `PATCH ${JSON.stringify(fields)}`);
    }
    const before = (await api.call('GET', '/v1/campaigns?limit=1')).body.data[0].id;
    await post({ lead_ids: [UNKNOWN] });
    t.equal((await api.call('GET', '/v1/campaigns?limit=1')).body.data[0].id, before, 'a refusal makes nothing');
  });

  await t.test('a list by tags', async (t) => {
    const both = await rig.leads(2, { tags: ['vip', 'north'] });
    const one = await rig.leads(1, { tags: ['vip'] });
    await rig.leads(1, { tags: ['vip', 'north'], livemode: false });
    const made = await rig.campaign({ lead_filter: { tags: ['vip', 'north'] } });
    t.match(made, { lead_count: 2, lead_filter: { tags: ['vip', 'north'] } });
    t.same((await rig.rows(made.id)).map(({ lead_id }) => lead_id), both);
    t.match(await rig.campaign({ lead_filter: { tags: ['vip'] } }), { lead_count: 3 });
    await rig.leads(1, { tags: ['vip'] });
    t.match(await rig.get(made.id), { lead_count: 2 }, 'the list is made once');
    t.match((await api.call('PATCH', `/v1/campaigns/${made.id}`, { body: { lead_ids: one } })).body, { lead_count: 1, lead_filter: null, counts: { ...COUNTS, pending: 1 } });
    t.same((await rig.rows(made.id)).map(({ lead_id }) => lead_id), one);
    t.match((await api.call('PATCH', `/v1/campaigns/${made.id}`, { body: { lead_filter: { tags: ['vip'] } } })).body, { lead_count: 4, lead_filter: { tags: ['vip'] } });
  });

  await t.test('changes', async (t) => {
    const { id } = await rig.campaign({ max_cost_micros: 10, calls_per_minute: 5, calling_hours: { start: '09:00', end: '10:00', days: ['monday'] }, retry: { max_attempts: 4, interval_minutes: 9 } });
    const patch = (body: object) => api.call('PATCH', `/v1/campaigns/${id}`, { body });
    const before = await rig.get(id);
    t.same((await patch({})).body, before);
    t.match((await patch({ name: 'Renamed' })).body, { name: 'Renamed', max_cost_micros: 10, retry: { max_attempts: 4 } }, 'only what was sent');
    t.match((await patch({ retry: { max_attempts: 2 } })).body, { retry: { max_attempts: 2, interval_minutes: 30, on: ['busy', 'no_answer'] } }, 'objects are replaced whole');
    t.match((await patch({ max_cost_micros: null, calls_per_minute: null, calling_hours: null, retry: null, failure_breaker: null, max_concurrent_calls: null, from_phone_number_ids: null })).body,
      { max_cost_micros: null, calls_per_minute: null, calling_hours: null, retry: { max_attempts: 1 }, failure_breaker: null, max_concurrent_calls: 5, from_phone_number_ids: null }, 'null clears');
    for (const body of [{ name: null }, { agent_id: null }, { lead_ids: null }, { status: 'running' }]) t.equal((await patch(body)).status, 400, JSON.stringify(body));
    t.equal((await patch({ description: 'x'.repeat(1024 * 1024) })).status, 413);

    await rig.move(id, 'start');
    t.match(await patch({ name: 'x' }), { status: 409, body: { error: { type: 'conflict_error', code: 'campaign_in_progress' } } });
    t.match(await api.call('DELETE', `/v1/campaigns/${id}`), { status: 409, body: { error: { code: 'campaign_in_progress' } } });
    t.match(await patch({ agent_id: UNKNOWN }), { status: 404 }, 'what is missing comes before the status');
    t.match(await patch({ name: '' }), { status: 400 }, 'and the fields before both');
    await rig.move(id, 'pause');
    t.match(await patch({ name: 'Paused' }), { status: 200, body: { name: 'Paused', status: 'paused' } });
    t.match(await patch({ lead_ids: await rig.leads(1) }), { status: 409, body: { error: { code: 'invalid_campaign_state', param: 'lead_ids' } } }, 'its leads stay once it was started');
    t.match(await patch({ scheduled_at: later(api.clock.now(), 1) }), { status: 409, body: { error: { code: 'invalid_campaign_state', param: 'scheduled_at' } } });
  });

  await t.test('deletion', async (t) => {
    const { id } = await rig.campaign();
    t.same((await api.call('DELETE', `/v1/campaigns/${id}`)).body, { id, object: 'campaign', deleted: true });
    for (const path of ['', '/leads', '/events']) t.match(await api.call('GET', `/v1/campaigns/${id}${path}`), { status: 404, body: { error: { code: 'campaign_not_found' } } }, path);
    t.equal((await api.call('DELETE', `/v1/campaigns/${id}`)).status, 404);
    t.notOk((await api.call('GET', '/v1/campaigns?limit=100')).body.data.some((one: { id: string }) => one.id === id));
    t.same(await api.context.db.query('SELECT 1 FROM campaign_lead WHERE campaign_id = $1', [id]), []);
  });

  await t.test('lists', async (t) => {
    const first = await api.call('GET', '/v1/campaigns?limit=2');
    t.match(first.body, { object: 'list', has_more: true });
    const second = await api.call('GET', `/v1/campaigns?limit=2&starting_after=${first.body.next_cursor}`);
    t.ok(second.body.data[0].id < first.body.data[1].id, 'newest first');
    t.same((await api.call('GET', `/v1/campaigns?limit=2&ending_before=${second.body.previous_cursor}`)).body.data, first.body.data);
    t.same((await api.call('GET', '/v1/campaigns', { key: api.account.test })).body.data, [], 'of this mode only');
    const paused = (await api.call('GET', `/v1/campaigns?status=paused&agent_id=${agentId}`)).body.data;
    t.ok(paused.length > 0 && paused.every(({ status }: { status: string }) => status === 'paused'));
    t.equal((await api.call('GET', '/v1/campaigns?status=lost')).status, 400);

    const { id } = await rig.campaign({ lead_ids: await rig.leads(5) });
    const page = await api.call('GET', `/v1/campaigns/${id}/leads?limit=2`);
    const next = await api.call('GET', `/v1/campaigns/${id}/leads?limit=2&starting_after=${page.body.next_cursor}`);
    const all = await rig.rows(id);
    t.same([...page.body.data, ...next.body.data], all.slice(0, 4));
    t.same((await api.call('GET', `/v1/campaigns/${id}/leads?limit=2&ending_before=${next.body.previous_cursor}`)).body.data, page.body.data, 'and back');
    t.match(await api.call('GET', `/v1/campaigns/${id}/leads?status=failed`), { body: { data: [], has_more: false } });
    const other = await rig.campaign();
    t.match(await api.call('GET', `/v1/campaigns/${other.id}/leads?starting_after=${page.body.next_cursor}`), { status: 400, body: { error: { code: 'invalid_cursor' } } }, 'a cursor of another list');
  });

  await t.test('one request, sent again', async (t) => {
    const body = { name: 'Once', agent_id: agentId, lead_ids: await rig.leads(1) };
    const headers = { 'Idempotency-Key': 'once' };
    const made = await api.call('POST', '/v1/campaigns', { body, headers });
    const again = await api.call('POST', '/v1/campaigns', { body, headers });
    t.same(again.body, made.body);
    t.equal(again.headers['idempotent-replayed'], 'true');
    const url = `/v1/campaigns/${made.body.id}/start`;
    const started = await api.call('POST', url, { headers });
    t.match(started, { status: 200, body: { status: 'running' } });
    t.same((await api.call('POST', url, { headers })).body, started.body, 'a move is made once');
    t.equal((await api.call('POST', url)).status, 409);
  });
});

t.test('moves', async (t) => {
  const rig = await campaignRig();
  t.teardown(() => rig.api.close());
  const { api, agentId } = rig;
  const wrong = { status: 409, body: { error: { type: 'conflict_error', code: 'invalid_campaign_state' } } };

  await t.test('through its life', async (t) => {
    const { id } = await rig.campaign();
    t.match(await rig.move(id, 'resume'), wrong);
    t.match(await rig.move(id, 'pause'), { status: 200, body: { status: 'idle', paused_reason: null } }, 'nothing to pause');
    const started = await rig.move(id, 'start');
    t.match(started, { status: 200, body: { status: 'running', started_at: String, counts: { pending: 1, in_flight: 0 } } });
    t.match(await rig.move(id, 'start'), wrong);
    t.match(await rig.move(id, 'resume'), wrong);
    t.match(await rig.move(id, 'pause'), { status: 200, body: { status: 'paused', paused_reason: 'requested' } });
    t.match(await rig.move(id, 'pause'), { status: 200, body: { status: 'paused', paused_reason: 'requested' } }, 'again');
    api.clock.advance(1000);
    t.match(await rig.move(id, 'resume'), { status: 200, body: { status: 'running', paused_reason: null, started_at: started.body.started_at } });
    t.match(await rig.move(id, 'stop'), { status: 200, body: { status: 'stopped' } });
    t.match(await rig.move(id, 'stop'), { status: 200, body: { status: 'stopped' } });
    t.match(await rig.move(id, 'pause'), { status: 200, body: { status: 'stopped', paused_reason: null } });
    t.match(await rig.move(id, 'resume'), wrong);
    t.match(await rig.move(id, 'start'), { status: 200, body: { status: 'running' } });
    t.match(await rig.rows(id), [{ status: 'pending', attempts: 0 }], 'without a dialler its leads wait');
    t.same(api.events.filter(({ event }) => event === 'campaignCompleted'), []);
  });

  await t.test('two at once: one wins', async (t) => {
    const { id } = await rig.campaign();
    const starts = await Promise.all(Array.from({ length: 6 }, () => rig.move(id, 'start')));
    t.same(starts.map(({ status }) => status).sort((a, b) => a - b), [200, 409, 409, 409, 409, 409]);
    await rig.move(id, 'pause');
    const both = await Promise.all([rig.move(id, 'resume'), rig.move(id, 'resume')]);
    t.same(both.map(({ status }) => status).sort((a, b) => a - b), [200, 409]);
  });

  await t.test('at its time', async (t) => {
    const at = later(api.clock.now(), 1);
    const { id } = await rig.campaign({ scheduled_at: at });
    await api.context.jobs.runDue();
    t.match(await rig.get(id), { status: 'scheduled', scheduled_at: at, started_at: null }, 'not before');
    api.clock.advance(HOUR_MS);
    await api.context.jobs.runDue();
    t.match(await rig.get(id), { status: 'running', started_at: at });
  });

  await t.test('another time, none, and by hand before it', async (t) => {
    const patch = (id: string, scheduled_at: string | null) => api.call('PATCH', `/v1/campaigns/${id}`, { body: { scheduled_at } });
    const make = async (): Promise<string> => (await rig.campaign({ scheduled_at: later(api.clock.now(), 1) })).id;
    const [moved, cleared, byHand, paused, stopped, deleted, planned] = await Promise.all([make(), make(), make(), make(), make(), make(), rig.campaign().then(({ id }) => id)]);
    t.match((await patch(moved, later(api.clock.now(), 3))).body, { status: 'scheduled', scheduled_at: later(api.clock.now(), 3) });
    t.match((await patch(cleared, null)).body, { status: 'idle', scheduled_at: null });
    t.match((await rig.move(byHand, 'start')).body, { status: 'running' });
    await rig.move(byHand, 'pause');
    t.match((await rig.move(paused, 'pause')).body, { status: 'paused', paused_reason: 'requested' });
    t.match((await rig.move(stopped, 'stop')).body, { status: 'stopped' });
    t.equal((await api.call('DELETE', `/v1/campaigns/${deleted}`)).status, 200);
    t.match((await patch(planned, later(api.clock.now(), 1))).body, { status: 'scheduled' });
    t.equal((await patch(planned, later(api.clock.now(), 0))).status, 400, 'the past');
    t.same((await api.context.db.query<{ count: number }>("SELECT count(*) AS count FROM job WHERE kind = 'campaign_start'")), [{ count: 2 }], 'no job is left for the others');
    api.clock.advance(HOUR_MS);
    await api.context.jobs.runDue();
    for (const [id, status] of [[moved, 'scheduled'], [cleared, 'idle'], [byHand, 'paused'], [paused, 'paused'], [stopped, 'stopped'], [planned, 'running']] as const) t.match(await rig.get(id), { status });
    api.clock.advance(2 * HOUR_MS);
    await api.context.jobs.runDue();
    t.match(await rig.get(moved), { status: 'running' });
  });

  await t.test('a job that comes late changes nothing', async (t) => {
    const { id } = await rig.campaign({ scheduled_at: later(api.clock.now(), 1) });
    const { scheduled_at } = await rig.get(id);
    await api.call('PATCH', `/v1/campaigns/${id}`, { body: { scheduled_at: later(api.clock.now(), 5) } });
    await api.context.jobs.enqueue(api.context.db, { kind: 'campaign_start', payload: { campaign_id: id, scheduled_at } });
    await api.context.jobs.enqueue(api.context.db, { kind: 'campaign_start', payload: { campaign_id: newId(), scheduled_at } });
    await api.context.jobs.runDue();
    t.match(await rig.get(id), { status: 'scheduled' });
  });

  await t.test('its agent', async (t) => {
    const agent = async (): Promise<string> => String((await api.call('POST', '/v1/agents', { body: { name: 'B', system_prompt: 'P', opening_message: 'O' } })).body.id);
    const used = await agent();
    const id = await rig.started({ agent_id: used });
    t.match(await api.call('DELETE', `/v1/agents/${used}`), { status: 409, body: { error: { type: 'conflict_error', code: 'agent_in_use' } } }, 'a running campaign keeps it');
    await rig.move(id, 'pause');
    t.equal((await api.call('DELETE', `/v1/agents/${used}`)).status, 200);
    t.match(await rig.move(id, 'resume'), { status: 404, body: { error: { code: 'agent_not_found', param: 'agent_id' } } });
    t.match((await api.call('PATCH', `/v1/campaigns/${id}`, { body: { agent_id: agentId } })).body, { agent_id: agentId });
    t.match(await rig.move(id, 'resume'), { status: 200 });

    const gone = await agent();
    const { id: scheduled } = await rig.campaign({ agent_id: gone, scheduled_at: later(api.clock.now(), 1) });
    await api.call('DELETE', `/v1/agents/${gone}`);
    api.clock.advance(HOUR_MS);
    await api.context.jobs.runDue();
    t.match(await rig.get(scheduled), { status: 'paused', paused_reason: 'agent_deleted', started_at: null });

    for (let round = 0; round < 4; round++) {
      const contested = await agent();
      const { id: racing } = await rig.campaign({ agent_id: contested });
      const [start, deletion] = await Promise.all([rig.move(racing, 'start'), api.call('DELETE', `/v1/agents/${contested}`)]);
      t.ok([[200, 409], [404, 200]].some(([a, b]) => start.status === a && deletion.status === b), `started or deleted, never both: ${start.status} ${deletion.status}`);
    }
  });
});
