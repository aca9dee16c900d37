import t from 'tap';
import { startApiHarness } from '../../support/api-harness.ts';

const AT = '2026-12-01T10:00:00.000Z';

t.test('appointments', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const client = { client_name: 'Ada', phone_number: '+14155550123' };
  const newAgent = async (key = api.account.live): Promise<string> => (await api.call('POST', '/v1/agents', { key, body: { name: 'A', system_prompt: 'P', opening_message: 'O' } })).body.id;
  let line = 0;
  const newLead = async (key = api.account.live): Promise<string> => (await api.call('POST', '/v1/leads', { key, body: { name: 'L', phone_number: `+1415556${String(line++).padStart(4, '0')}` } })).body.id;
  const book = (more: object = {}, options: object = {}) => api.call('POST', '/v1/appointments', { body: { ...client, date_time: AT, ...more }, ...options });
  const patch = (id: string, body: object) => api.call('PATCH', `/v1/appointments/${id}`, { body });
  const eventsOf = (id: string) => api.events.filter(({ data }) => data['id'] === id).map(({ event }) => event);
  const agent_id = await newAgent();

  t.test('booked, read, told', async (t) => {
    const lead_id = await newLead();
    const made = await book({ agent_id: await newAgent(), lead_id, notes: 'Brings the bike.', date_time: '2026-12-01T11:00:00+01:00', duration_minutes: 45 });
    t.match(made, { status: 201, body: {
      object: 'appointment', livemode: true, ...client, date_time: AT, duration_minutes: 45, status: 'scheduled', notes: 'Brings the bike.', agent_id: String, lead_id,
      created_at: '2026-11-21T12:00:00.000Z', updated_at: '2026-11-21T12:00:00.000Z',
    } });
    t.match(made.body.id, /^[0-9a-f]{24}$/);
    t.same((await api.call('GET', `/v1/appointments/${made.body.id}`)).body, made.body);
    t.same(api.events.at(-1), { accountId: api.account.id, livemode: true, event: 'appointmentBooked', data: made.body, eventKey: `appointmentBooked:${made.body.id}` });
    t.match((await book()).body, { duration_minutes: 30, notes: null, agent_id: null, lead_id: null }, 'what is left open');
    await api.call('DELETE', `/v1/leads/${lead_id}`);
    t.equal((await api.call('GET', `/v1/appointments/${made.body.id}`)).body.lead_id, null, 'its lead is gone');
  });

  t.test('bounds', async (t) => {
    const refuse = async (more: object, code: string, param: string): Promise<void> => {
      t.match(await book(more), { status: 400, body: { error: { code, param } } }, JSON.stringify(more).slice(0, 80));
    };
    for (const field of ['client_name', 'phone_number', 'date_time']) await refuse({ [field]: undefined }, 'missing_parameter', field);
    for (const client_name of ['', '   ', 'x'.repeat(201), null]) await refuse({ client_name }, 'invalid_parameter', 'client_name');
    await refuse({ phone_number: '0415555' }, 'invalid_phone_number', 'phone_number');
    for (const date_time of ['tomorrow', '2026-12-01', '2026-12-01T10:00:00', '2026-02-30T25:00:00Z', 5, '1999-12-31T23:59:59.999Z', '2100-01-01T00:00:00Z']) await refuse({ date_time }, 'invalid_parameter', 'date_time');
    for (const date_time of ['2000-01-01T00:00:00Z', '2099-12-31T23:59:59.999Z']) t.equal((await book({ date_time })).body.date_time, new Date(date_time).toISOString());
    for (const duration_minutes of [4, 481, 30.5, '30']) await refuse({ duration_minutes }, 'invalid_parameter', 'duration_minutes');
    for (const duration_minutes of [5, 480]) t.equal((await book({ duration_minutes })).body.duration_minutes, duration_minutes);
    await refuse({ notes: 'x'.repeat(5001) }, 'invalid_parameter', 'notes');
    t.equal((await book({ notes: 'x'.repeat(5000) })).status, 201);
    await refuse({ agent_id: 'x' }, 'invalid_id', 'agent_id');
    await refuse({ lead_id: 'x' }, 'invalid_id', 'lead_id');
    for (const field of ['status', 'id', 'created_at']) await refuse({ [field]: 'scheduled' }, 'unknown_parameter', field);
    const { id } = (await book()).body;
    for (const [body, param] of [[{ status: 'lost' }, 'status'], [{ date_time: null }, 'date_time'], [{ date_time: '2100-01-01T00:00:00Z' }, 'date_time'], [{ client_name: null }, 'client_name'], [{ duration_minutes: 4 }, 'duration_minutes']] as const) {
      t.match(await patch(id, body), { status: 400, body: { error: { code: 'invalid_parameter', param } } });
    }
  });

  t.test('an agent or lead must exist, here and in this mode', async (t) => {
    const stranger = await api.newAccount();
    for (const [field, code, make] of [['agent_id', 'agent_not_found', newAgent], ['lead_id', 'lead_not_found', newLead]] as const) {
      for (const id of ['f'.repeat(24), await make(stranger.live)]) {
        t.match(await book({ [field]: id }), { status: 404, body: { error: { code, param: field } } });
        t.match(await patch((await book()).body.id, { [field]: id }), { status: 404, body: { error: { code, param: field } } });
      }
      t.match(await book({ [field]: await make(api.account.test) }), { status: 403, body: { error: { code: 'key_mode_mismatch' } } });
    }
  });

  t.test('a time is taken by one appointment of an agent\'s calendar', async (t) => {
    const first = (await book({ agent_id })).body;
    const taken = { status: 409, body: { error: { type: 'conflict_error', code: 'slot_taken', param: 'date_time' } } };
    const count = api.events.length;
    for (const [date_time, duration_minutes] of [[AT, 30], ['2026-12-01T09:31:00Z', 30], ['2026-12-01T10:29:59.999Z', 30], ['2026-12-01T09:00:00Z', 180], ['2026-12-01T10:10:00Z', 5]] as const) {
      t.match(await book({ agent_id, date_time, duration_minutes }), taken, `${date_time} for ${duration_minutes} minutes`);
    }
    t.equal(api.events.length, count, 'nothing is told of what did not happen');
    t.equal((await book({ agent_id, date_time: '2026-12-01T09:30:00Z' })).status, 201, 'one ends as the other begins');
    const after = (await book({ agent_id, date_time: '2026-12-01T10:30:00Z' })).body;
    t.equal((await book({ agent_id: await newAgent() })).status, 201, 'another agent has a calendar of its own');
    for (const status of [(await book()).status, (await book()).status]) t.equal(status, 201, 'without an agent nothing conflicts');

    t.match(await patch(after.id, { date_time: AT }), taken, 'moved into another');
    t.match(await patch(after.id, { date_time: '2026-12-01T10:20:00Z', duration_minutes: 60 }), taken);
    t.match(await patch(first.id, { duration_minutes: 31 }), taken, 'made longer');
    t.match(await patch((await book()).body.id, { agent_id }), taken, 'given to the agent');
    t.match((await api.call('GET', `/v1/appointments/${after.id}`)).body, { date_time: '2026-12-01T10:30:00.000Z', updated_at: after.updated_at }, 'and stays as it was');

    t.match(await patch(first.id, { status: 'confirmed' }), { status: 200, body: { status: 'confirmed' } });
    t.match(await book({ agent_id }), taken, 'a confirmed one keeps its time too');
    for (const status of ['completed', 'no_show']) {
      await patch(first.id, { status });
      const other = await book({ agent_id });
      t.equal(other.status, 201, `${status} gives it free`);
      t.match(await patch(first.id, { status: 'scheduled' }), taken, 'and it cannot come back');
      await api.call('DELETE', `/v1/appointments/${other.body.id}`);
    }
    t.equal((await patch(first.id, { status: 'scheduled' })).status, 200, 'a canceled one gives it free as well');
  });

  t.test('moved: same id, new time', async (t) => {
    const made = (await book({ agent_id: await newAgent() })).body;
    api.clock.advance(1000);
    const moved = await patch(made.id, { date_time: '2026-12-02T08:00:00Z' });
    t.match(moved, { status: 200, body: { ...made, date_time: '2026-12-02T08:00:00.000Z', updated_at: new Date(api.clock.now()).toISOString() } });
    t.match((await patch(made.id, { date_time: '2026-12-02T08:10:00Z' })).body, { id: made.id, duration_minutes: 30 }, 'even onto a part of itself');
    t.match((await patch(made.id, { duration_minutes: 60, notes: 'n' })).body, { duration_minutes: 60, notes: 'n', date_time: '2026-12-02T08:10:00.000Z' });
    t.match((await patch(made.id, { duration_minutes: null, notes: null, agent_id: null })).body, { duration_minutes: 30, notes: null, agent_id: null });
    t.same(eventsOf(made.id), ['appointmentBooked']);
    const before = (await api.call('GET', `/v1/appointments/${made.id}`)).body;
    api.clock.advance(1000);
    t.same((await patch(made.id, {})).body, before, 'nothing sent, nothing changed');
    t.same((await patch(made.id, { date_time: '2026-12-02T09:10:00+01:00', status: 'scheduled' })).body, before, 'nor by what it is already');
  });

  t.test('canceled once', async (t) => {
    const byDelete = (await book({ agent_id: await newAgent() })).body;
    api.clock.advance(1000);
    const canceled = await api.call('DELETE', `/v1/appointments/${byDelete.id}`);
    const expected = { ...byDelete, status: 'canceled', updated_at: new Date(api.clock.now()).toISOString() };
    t.same([canceled.status, canceled.body], [200, expected], 'the answer is the appointment');
    t.same((await api.call('GET', `/v1/appointments/${byDelete.id}`)).body, expected, 'which stays readable');
    t.ok((await api.call('GET', '/v1/appointments')).body.data.some(({ id }: { id: string }) => id === byDelete.id), 'and listed');
    t.same(api.events.at(-1), { accountId: api.account.id, livemode: true, event: 'appointmentCanceled', data: expected, eventKey: `appointmentCanceled:${byDelete.id}` });
    api.clock.advance(1000);
    t.same((await api.call('DELETE', `/v1/appointments/${byDelete.id}`)).body, expected, 'again changes nothing');
    t.same((await patch(byDelete.id, { status: 'canceled' })).body, expected);
    t.same(eventsOf(byDelete.id), ['appointmentBooked', 'appointmentCanceled'], 'and tells nothing');

    const byPatch = (await book()).body;
    t.match(await patch(byPatch.id, { status: 'canceled', notes: 'Ill.' }), { status: 200, body: { status: 'canceled', notes: 'Ill.' } });
    await api.call('DELETE', `/v1/appointments/${byPatch.id}`);
    t.same(eventsOf(byPatch.id), ['appointmentBooked', 'appointmentCanceled']);
    for (const body of [{ date_time: '2026-12-09T10:00:00Z' }, { duration_minutes: 60 }, { agent_id }, { status: 'scheduled' }, { status: 'completed' }]) {
      t.match(await patch(byPatch.id, body), { status: 409, body: { error: { code: 'appointment_canceled' } } }, JSON.stringify(body));
    }
    t.match(await patch(byPatch.id, { notes: 'Flu.' }), { status: 200, body: { notes: 'Flu.', status: 'canceled' } }, 'its notes can still be written');
    t.same(eventsOf(byPatch.id), ['appointmentBooked', 'appointmentCanceled']);
  });

  t.test('many at once', async (t) => {
    const many = Array.from({ length: 20 }, (_, n) => n);
    const own = await newAgent();
    const answers = await Promise.all(many.map((n) => book({ agent_id: own, date_time: `2027-01-04T10:${String(n).padStart(2, '0')}:00Z` })));
    const won = answers.filter(({ status }) => status === 201);
    t.equal(won.length, 1, 'one of twenty has the slot');
    t.same(new Set(answers.filter((answer) => !won.includes(answer)).map(({ status, body }) => `${status} ${body.error.code}`)), new Set(['409 slot_taken']));
    const { data } = (await api.call('GET', `/v1/appointments?agent_id=${own}`)).body;
    t.equal(data.length, 1);
    t.equal(api.events.filter(({ event, data: told }) => event === 'appointmentBooked' && told['agent_id'] === own).length, 1, 'told once');

    const movers = await Promise.all(many.map((n) => book({ agent_id: own, date_time: `2027-01-${String(n + 5).padStart(2, '0')}T10:00:00Z` })));
    const moved = await Promise.all([...movers.map(({ body }) => patch(body.id, { date_time: '2027-02-01T10:00:00Z' })), ...many.map(() => book({ agent_id: own, date_time: '2027-02-01T10:15:00Z' }))]);
    t.equal(moved.filter(({ status }) => status < 300).length, 1, 'moves and bookings for one slot: one has it');
    t.ok(moved.every(({ status }) => status < 300 || status === 409));

    const { id } = won[0]?.body ?? {};
    const cancels = await Promise.all(many.map((n) => (n % 2 ? patch(id, { status: 'canceled' }) : api.call('DELETE', `/v1/appointments/${id}`))));
    t.ok(cancels.every(({ status, body }) => status === 200 && body.status === 'canceled'));
    t.same(eventsOf(id), ['appointmentBooked', 'appointmentCanceled'], 'canceled once');
  });

  t.test('a retry books nothing twice', async (t) => {
    const headers = { 'idempotency-key': 'book-1' };
    const own = await newAgent();
    const first = await book({ agent_id: own }, { headers });
    const again = await book({ agent_id: own }, { headers });
    t.match(again, { status: 201, headers: { 'idempotent-replayed': 'true' } });
    t.same(again.body, first.body);
    await api.context.db.query(`UPDATE idempotency SET answer = NULL, status = NULL, lease_until = $1 WHERE key = 'book-1'`, [new Date(0)]);
    const recalled = await book({ agent_id: own }, { headers });
    t.match(recalled, { status: 201, body: first.body }, 'also when the first answer was lost');
    t.same(eventsOf(first.body.id), ['appointmentBooked']);
    t.match(await book({ agent_id: own }, { headers: { 'idempotency-key': 'book-2' } }), { status: 409, body: { error: { code: 'slot_taken' } } });
  });

  t.test('lists: newest first, filtered, paged', async (t) => {
    const own = await newAgent();
    const lead_id = await newLead();
    const ids: string[] = [];
    for (const [n, day] of [3, 1, 2].entries()) {
      api.clock.advance(1000);
      ids.push((await book({ agent_id: own, date_time: `2027-03-0${day}T10:00:00Z`, ...(n === 1 ? { lead_id } : {}) })).body.id);
    }
    await api.call('DELETE', `/v1/appointments/${ids[2]}`);
    const list = async (query: string): Promise<string[]> => (await api.call('GET', `/v1/appointments?${query}`)).body.data.map(({ id }: { id: string }) => id);
    const [a, b, c] = ids;
    t.same(await list(`agent_id=${own}`), [c, b, a], 'by creation, not by date_time');
    t.same(await list(`agent_id=${own}&status=canceled`), [c]);
    t.same(await list(`lead_id=${lead_id}`), [b]);
    t.same(await list(`agent_id=${own}&from=2027-03-02T10:00:00Z`), [c, a], 'from then on');
    t.same(await list(`agent_id=${own}&to=2027-03-02T10:00:00Z`), [b], 'before then');
    t.same(await list(`agent_id=${own}&from=2027-03-02T11:00:00%2B01:00&to=2027-03-02T10:00:00.001Z`), [c]);
    const first = (await api.call('GET', `/v1/appointments?agent_id=${own}&limit=2`)).body;
    t.match(first, { object: 'list', has_more: true, data: [{ id: c }, { id: b }] });
    t.same(await list(`agent_id=${own}&limit=2&starting_after=${first.next_cursor}`), [a]);
    t.match(await api.call('GET', `/v1/appointments?limit=2&starting_after=${first.next_cursor}`), { status: 400, body: { error: { code: 'invalid_cursor' } } }, 'with other filters');
    for (const query of ['status=lost', 'agent_id=x', 'from=tomorrow', 'limit=101', 'q=x']) t.equal((await api.call('GET', `/v1/appointments?${query}`)).status, 400, query);
    t.same((await api.call('GET', '/v1/appointments', { key: api.account.test })).body.data, [], 'of this mode only');
  });
});
