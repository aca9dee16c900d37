import t from 'tap';
import { selectLeadsForCampaign, qualifyLead, touchLastCall } from '../../../src/resources/leads/actions.ts';
import { renderMergeFields, leadFields } from '../../../src/resources/agents/merge-fields.ts';
import { requireLead } from '../../../src/resources/leads/lookup.ts';
import { startApiHarness, type ApiHarness } from '../../support/api-harness.ts';
import { inNewAccount } from '../../support/new-account.ts';

const UNKNOWN = 'f'.repeat(24);
let line = 0;
const number = (): string => `+4930${String(1_000_000 + line++)}`;
const create = async (api: ApiHarness, body: object = {}, key?: string) => {
  const { status, body: lead } = await api.call('POST', '/v1/leads', { body: { name: 'A', phone_number: number(), ...body }, ...(key === undefined ? {} : { key }) });
  if (status !== 201) throw new Error(JSON.stringify(lead));
  return lead;
};
const now = (api: ApiHarness): string => new Date(api.clock.now()).toISOString();
const eventsOf = (api: ApiHarness, id: string): string[] => api.events.filter(({ data }) => data['id'] === id).map(({ event }) => event);

t.test('leads', async (t) => {
  const shared = await startApiHarness();
  t.teardown(() => shared.close());

  t.test('a lead from POST to DELETE', async (t) => {
    const api = await inNewAccount(shared);
    const body = {
      name: 'Ada Lovelace', phone_number: '+14155550100', tags: ['vip', 'london', 'vip'], email: 'ada@analytical.example', timezone: 'Europe/London', do_not_call: true,
      fields: { city: 'Bath', age: 36, married: true, nothing: null, address: { street: 'High' }, list: [1, 'two'] },
    };
    const made = await api.call('POST', '/v1/leads', { body });
    const expected = {
      id: /^[0-9a-f]{24}$/, object: 'lead', livemode: true, ...body, tags: ['vip', 'london'], qualified: false, qualified_at: null, qualification_notes: null, last_call_at: null,
      created_at: now(api), updated_at: now(api),
    };
    t.match(made, { status: 201, body: expected });
    const { id } = made.body;
    t.same((await api.call('GET', `/v1/leads/${id}`)).body, made.body);
    t.same(api.events, [{ accountId: api.account.id, livemode: true, event: 'leadCreated', data: made.body, eventKey: `leadCreated:${id}` }], 'told of once, as GET shows it');

    t.match(await api.call('POST', '/v1/leads', { body: { name: 'B', phone_number: '+14155550101' } }), {
      status: 201, body: { tags: [], fields: {}, email: null, timezone: null, do_not_call: false },
    }, 'two fields are enough');

    api.clock.advance(1000);
    const changedAt = now(api);
    t.match(await api.call('PATCH', `/v1/leads/${id}`, { body: { fields: { city: 'Rome' }, tags: ['new'] } }), {
      status: 200, body: { ...expected, fields: { city: 'Rome' }, tags: ['new'], updated_at: changedAt },
    }, 'objects and arrays are replaced whole, the rest stays');
    t.strictSame((await api.call('GET', `/v1/leads/${id}`)).body.fields, { city: 'Rome' });
    t.match(await api.call('PATCH', `/v1/leads/${id}`, { body: { tags: null, fields: null, email: null, timezone: null, do_not_call: null } }), {
      status: 200, body: { name: 'Ada Lovelace', tags: [], fields: {}, email: null, timezone: null, do_not_call: false },
    }, 'null clears');
    api.clock.advance(1000);
    t.match(await api.call('PATCH', `/v1/leads/${id}`, { body: {} }), { status: 200, body: { updated_at: changedAt } }, 'nothing sent, nothing changed');
    t.match(await api.call('PATCH', `/v1/leads/${id}`, { body: { name: 'Ada', phone_number: '+14155550102' } }), { status: 200, body: { name: 'Ada', phone_number: '+14155550102' } });

    t.same((await api.call('DELETE', `/v1/leads/${id}`)).body, { id, object: 'lead', deleted: true });
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      t.match(await api.call(method, `/v1/leads/${id}`, method === 'PATCH' ? { body: {} } : {}), { status: 404, body: { error: { code: 'lead_not_found', param: 'id' } } }, method);
    }
    t.notOk((await api.call('GET', '/v1/leads')).body.data.some((lead: { id: string }) => lead.id === id), 'gone from the list');
    t.equal((await api.call('POST', '/v1/leads', { body: { name: 'C', phone_number: '+14155550102' } })).status, 201, 'its number is free');
    t.same(api.events.map(({ event }) => event), ['leadCreated', 'leadCreated', 'leadCreated'], 'changes and deletions are not told of');
  });

  t.test('what a lead may hold', async (t) => {
    const api = await inNewAccount(shared);
    const lead = await create(api);
    const keys = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
    const bytes = (count: number): object => ({ k: 'é'.repeat(Math.floor((count - 8) / 2)) + 'x'.repeat((count - 8) % 2) });
    t.equal(Buffer.byteLength(JSON.stringify(bytes(16_384))), 16_384);
    const deep = (levels: number): unknown => (levels === 0 ? 1 : { x: deep(levels - 1) });
    const tags = (count: number, length: number): string[] => Array.from({ length: count }, (_, n) => String(n).padEnd(length, 'x'));
    const email = (length: number): string => `${'x'.repeat(64)}@${'y.'.repeat((length - 68) / 2)}yyy`;
    const good: object[] = [
      { name: 'x'.repeat(200) }, { name: '李小龙 🐉' }, { tags: tags(50, 64) }, { tags: [] }, { fields: keys(100) }, { fields: bytes(16_384) }, { fields: deep(20) }, { fields: { '': 1, 'First name': 'A' } },
      { email: email(254) }, { email: 'o\'hara+tag@sub.example.co.uk' }, { timezone: 'America/Argentina/Buenos_Aires' }, { timezone: 'UTC' },
      { phone_number: '+12' }, { phone_number: '+123456789012345' }, { phone_number: '+15005550001' }, { phone_number: '+14155550199' }, { phone_number: '+1234567890' },
    ];
    for (const fields of good) {
      t.match(await api.call('POST', '/v1/leads', { body: { name: 'A', phone_number: number(), ...fields } }), { status: 201, body: fields }, JSON.stringify(fields).slice(0, 80));
    }
    const bad: [fields: object, param: string, code?: string][] = [
      [{ name: '' }, 'name'], [{ name: ' ' }, 'name'], [{ name: 'x'.repeat(201) }, 'name'], [{ name: null }, 'name'], [{ name: 1 }, 'name'], [{ name: 'a\0b' }, 'name'],
      ...['14155550100', '+0155', '+1 415', '+1', '+', '', '+1234567890123456', 'tel:+14155550100', '+1415555010a', '+１４', null, 5].map((phone_number): [object, string, string] => [{ phone_number }, 'phone_number', 'invalid_phone_number']),
      [{ tags: tags(51, 1) }, 'tags'], [{ tags: [''] }, 'tags[0]'], [{ tags: ['a', 'x'.repeat(65)] }, 'tags[1]'], [{ tags: 'a' }, 'tags'], [{ tags: [1] }, 'tags[0]'],
      [{ fields: keys(101) }, 'fields'], [{ fields: bytes(16_385) }, 'fields'], [{ fields: [] }, 'fields'], [{ fields: 'x' }, 'fields'], [{ fields: deep(40) }, 'fields'], [{ fields: { x: '\ud800' } }, 'fields.x'],
      [{ email: email(256) }, 'email'], ...['ada', 'ada@', '@x.org', 'ada@localhost', 'a b@x.org', 'a@b@x.org', 'Ada <ada@x.org>', 'jörg@x.org', 'a@müller.org', ''].map((text): [object, string] => [{ email: text }, 'email']),
      ...['Mars/Olympus', '+01:00', '', 'Europe'].map((timezone): [object, string] => [{ timezone }, 'timezone']),
      [{ do_not_call: 'yes' }, 'do_not_call'],
      ...['id', 'livemode', 'qualified_at', 'last_call_at', 'created_at', 'colour'].map((name): [object, string, string] => [{ [name]: 'x' }, name, 'unknown_parameter']),
    ];
    for (const [fields, param, code = 'invalid_parameter'] of bad) {
      const expected = { status: 400, body: { error: { type: 'invalid_request_error', code, param } } };
      t.match(await api.call('POST', '/v1/leads', { body: { name: 'A', phone_number: number(), ...fields } }), expected, `POST ${JSON.stringify(fields).slice(0, 80)}`);
      t.match(await api.call('PATCH', `/v1/leads/${lead.id}`, { body: fields }), expected, `PATCH ${JSON.stringify(fields).slice(0, 80)}`);
    }
    for (const param of ['qualified', 'qualification_notes']) {
      t.match(await api.call('POST', '/v1/leads', { body: { name: 'A', phone_number: number(), [param]: true } }), { status: 400, body: { error: { code: 'unknown_parameter', param } } }, `${param} is for PATCH`);
    }
    t.match(await api.call('PATCH', `/v1/leads/${lead.id}`, { body: { qualification_notes: 'x'.repeat(2001) } }), { status: 400, body: { error: { param: 'qualification_notes' } } });
    t.match(await api.call('PATCH', `/v1/leads/${lead.id}`, { body: { qualification_notes: 'x'.repeat(2000) } }), { status: 200 });
    t.match(await api.call('POST', '/v1/leads', { body: { phone_number: number() } }), { status: 400, body: { error: { code: 'missing_parameter', param: 'name' } } });
    t.match(await api.call('POST', '/v1/leads', { body: { name: 'A' } }), { status: 400, body: { error: { code: 'missing_parameter', param: 'phone_number' } } });
    t.match(await api.call('POST', '/v1/leads', { raw: '{"name":"A","phone_number":"+14155550177","fields":{"__proto__":{"x":1}}}' }), { status: 400 });
    t.same((await api.call('GET', `/v1/leads/${lead.id}`)).body, { ...lead, qualification_notes: 'x'.repeat(2000) }, 'no refusal changed anything');
  });

  t.test('one lead for one number, in an account and mode', async (t) => {
    const api = await inNewAccount(shared);
    const first = await create(api, { phone_number: '+14155550100' });
    const second = await create(api, { phone_number: '+14155550101' });
    const exists = { status: 409, body: { error: { type: 'conflict_error', code: 'lead_exists', param: 'phone_number' } } };
    t.match(await api.call('POST', '/v1/leads', { body: { name: 'B', phone_number: '+14155550100' } }), exists);
    t.match(await api.call('PATCH', `/v1/leads/${second.id}`, { body: { phone_number: '+14155550100', qualified: true } }), exists);
    t.match(await api.call('GET', `/v1/leads/${second.id}`), { body: { phone_number: '+14155550101', qualified: false } });
    t.same(eventsOf(api, second.id), ['leadCreated'], 'a change that was refused is not told of');
    t.match(await api.call('PATCH', `/v1/leads/${first.id}`, { body: { phone_number: '+14155550100' } }), { status: 200 }, 'its own number is no other\'s');
    t.match(await api.call('POST', '/v1/leads', { key: api.account.test, body: { name: 'B', phone_number: '+14155550100' } }), { status: 201, body: { livemode: false } });
    t.equal(api.events.at(-1)?.livemode, false);
    t.equal((await api.call('POST', '/v1/leads', { key: (await api.newAccount()).live, body: { name: 'B', phone_number: '+14155550100' } })).status, 201);

    const answers = await Promise.all(Array.from({ length: 8 }, () => api.call('POST', '/v1/leads', { body: { name: 'R', phone_number: '+14155550150' } })));
    t.same(answers.map(({ status }) => status).toSorted((a, b) => a - b), [201, ...Array<number>(7).fill(409)], 'of POSTs at once exactly one wins');
    t.equal(api.events.filter(({ data }) => data['phone_number'] === '+14155550150').length, 1);
    const rivals = await Promise.all([create(api), create(api)]);
    const moves = await Promise.all(rivals.map(({ id }) => api.call('PATCH', `/v1/leads/${id}`, { body: { phone_number: '+14155550151' } })));
    t.same(moves.map(({ status }) => status).toSorted((a, b) => a - b), [200, 409], 'of PATCHes too');

    const retried = { body: { name: 'I', phone_number: '+14155550160' }, headers: { 'Idempotency-Key': 'lead-1' } };
    const made = await api.call('POST', '/v1/leads', retried);
    t.match(await api.call('POST', '/v1/leads', retried), { status: 201, headers: { 'idempotent-replayed': 'true' }, body: made.body });
    t.same(eventsOf(api, made.body.id), ['leadCreated']);
    // As a crash between the commit and the answer leaves it.
    await api.context.db.query('UPDATE idempotency SET status = NULL, answer = NULL, lease_until = $1 WHERE key = $2', [new Date(api.clock.now() - 1), 'lead-1']);
    t.match(await api.call('POST', '/v1/leads', retried), { status: 201, headers: { 'idempotent-replayed': 'true' }, body: made.body }, 'a retry after a crash finds it');
    t.same(eventsOf(api, made.body.id), ['leadCreated']);
  });

  t.test('qualified once', async (t) => {
    const api = await inNewAccount(shared);
    const owner = { accountId: api.account.id, livemode: true };
    const patch = (id: string, body: object) => api.call('PATCH', `/v1/leads/${id}`, { body });
    const { id } = await create(api);
    const qualified_at = now(api);
    t.match(await patch(id, { qualified: false }), { body: { qualified: false, qualified_at: null } });
    t.match(await patch(id, { qualified: true, qualification_notes: 'wants a demo' }), { status: 200, body: { qualified: true, qualified_at, qualification_notes: 'wants a demo' } });
    t.match(api.events.at(-1), { event: 'leadQualified', eventKey: `leadQualified:${id}`, data: { id, object: 'lead', qualified: true, qualification_notes: 'wants a demo' } });
    api.clock.advance(5000);
    await patch(id, { qualified: true });
    t.match(await patch(id, { qualified: null, qualification_notes: null }), { body: { qualified: false, qualified_at, qualification_notes: null } }, 'when it was first stays');
    t.match(await patch(id, { qualified: true }), { body: { qualified: true, qualified_at } });
    await qualifyLead(api.context, owner, id, 'again');
    t.same(eventsOf(api, id), ['leadCreated', 'leadQualified']);

    const racing = await create(api);
    const answers = await Promise.all(Array.from({ length: 6 }, () => patch(racing.id, { qualified: true })));
    t.ok(answers.every(({ status, body }) => status === 200 && body.qualified === true));
    t.same(eventsOf(api, racing.id), ['leadCreated', 'leadQualified'], 'changes at once fire one');

    const inCall = await create(api);
    t.match(await qualifyLead(api.context, owner, inCall.id, 'budget is there'), { qualified: true, qualification_notes: 'budget is there' });
    t.match(await qualifyLead(api.context, owner, inCall.id), { qualification_notes: 'budget is there' });
    t.same(eventsOf(api, inCall.id), ['leadCreated', 'leadQualified'], 'an agent in a call fires it as the API does');
    await t.rejects(qualifyLead(api.context, owner, UNKNOWN), { code: 'lead_not_found' });
    await t.rejects(qualifyLead(api.context, { ...owner, livemode: false }, inCall.id), { code: 'key_mode_mismatch' });
  });

  t.test('lists', async (t) => {
    const api = await inNewAccount(shared);
    const made: { id: string; name: string }[] = [];
    const startMs = api.clock.now();
    const people: object[] = [
      { name: 'Jürgen Müller', email: 'j.mueller@firma.example', tags: ['vip'] }, { name: 'ANNA Berg', phone_number: '+14155557711' }, { name: '100%_sure', tags: ['vip', 'b'] },
      { name: 'Иван Петров' }, { name: 'Back\\slash', email: 'Anna@Post.example' }, { name: 'Zoë', tags: ['b'] },
    ];
    for (const person of people) {
      made.push(await create(api, person));
      api.clock.advance(60_000);
    }
    await create(api, { name: 'Anna in test mode', tags: ['vip'] }, api.account.test);
    await create(api, { name: 'Anna elsewhere', tags: ['vip'] }, (await api.newAccount()).live);
    await api.call('PATCH', `/v1/leads/${made[1]?.id}`, { body: { qualified: true } });
    const names = async (query: string): Promise<string[]> => (await api.call('GET', `/v1/leads?${query}`)).body.data.map(({ name }: { name: string }) => name);
    const q = (text: string): Promise<string[]> => names(`q=${encodeURIComponent(text)}`);
    t.same(await names(''), ['Zoë', 'Back\\slash', 'Иван Петров', '100%_sure', 'ANNA Berg', 'Jürgen Müller'], 'newest first');
    t.same(await names('tag=vip'), ['100%_sure', 'Jürgen Müller']);
    t.same(await names('tag=VIP'), []);
    t.same(await names('phone_number=%2B14155557711'), ['ANNA Berg']);
    t.same(await names('qualified=true'), ['ANNA Berg']);
    t.equal((await names('qualified=false')).length, 5);
    t.same(await names(`created_after=${new Date(startMs + 60_000).toISOString()}&created_before=${new Date(startMs + 180_000).toISOString()}`), ['100%_sure', 'ANNA Berg'], 'from the first moment until before the second');
    t.same(await names('tag=b&q=zoe'), ['Zoë'], 'filters narrow each other');
    t.same(await q('anna'), ['Back\\slash', 'ANNA Berg'], 'names and addresses, whatever the case');
    t.same(await q('muller'), ['Jürgen Müller']);
    t.same(await q('MÜLL jürg'), ['Jürgen Müller'], 'every word, in any order');
    t.same(await q('firma.ex'), ['Jürgen Müller']);
    t.same(await q('7711'), ['ANNA Berg'], 'the end of a number');
    t.same(await q('петр'), ['Иван Петров']);
    t.same(await q('%'), ['100%_sure'], 'signs stand for themselves');
    t.same(await q('0%_'), ['100%_sure']);
    t.same(await q('back\\'), ['Back\\slash']);
    t.same(await q('%anna'), []);
    t.same(await q('nobody'), []);
    t.equal((await q(' ')).length, 6);
    t.same(await q('\'; DROP TABLE lead; --'), []);
    await api.call('PATCH', `/v1/leads/${made[5]?.id}`, { body: { name: 'Renée' } });
    t.same(await q('renee'), ['Renée'], 'a new name is found');
    t.same(await q('zoe'), []);
    for (const query of ['tag=', `tag=${'x'.repeat(65)}`, `q=${'x'.repeat(201)}`, 'q=', 'q=%00', 'qualified=maybe', 'created_after=yesterday', 'name=x']) {
      t.match(await api.call('GET', `/v1/leads?${query}`), { status: 400, body: { error: { param: query.split('=')[0] } } }, query);
    }
    t.match(await api.call('GET', '/v1/leads?phone_number=1415'), { status: 400, body: { error: { code: 'invalid_phone_number' } } });

    const page = (await api.call('GET', '/v1/leads?tag=vip&limit=1')).body;
    t.match(page, { data: [{ name: '100%_sure' }], has_more: true });
    t.same(await names(`tag=vip&limit=1&starting_after=${page.next_cursor}`), ['Jürgen Müller']);
    for (const other of ['', 'tag=b&', 'tag=vip&q=a&', 'tag=vip&qualified=false&']) {
      t.match(await api.call('GET', `/v1/leads?${other}limit=1&starting_after=${page.next_cursor}`), { status: 400, body: { error: { code: 'invalid_cursor' } } }, `a cursor belongs to its filters, not to ${other}`);
    }
  });

  t.test('what other resources ask of leads', async (t) => {
    const api = await inNewAccount(shared);
    const { db } = api.context;
    const owner = { accountId: api.account.id, livemode: true };
    const [a, b, c] = [await create(api, { tags: ['x', 'y'] }), await create(api, { tags: ['x'], do_not_call: true }), await create(api, { tags: ['y', 'x'] })];
    const test = await create(api, { tags: ['x'] }, api.account.test);
    const foreign = await create(api, { tags: ['x'] }, (await api.newAccount()).live);
    t.same(await selectLeadsForCampaign(db, owner, { ids: [c.id, a.id, c.id] }), [a.id, c.id], 'in the order they were made, each once');
    t.same(await selectLeadsForCampaign(db, owner, { tags: ['x'], most: 10 }), [a.id, b.id, c.id]);
    t.same(await selectLeadsForCampaign(db, owner, { tags: ['y', 'x'], most: 10 }), [a.id, c.id], 'every tag');
    t.same(await selectLeadsForCampaign(db, owner, { tags: ['x'], most: 2 }), [a.id, b.id]);
    await t.rejects(selectLeadsForCampaign(db, owner, { ids: [a.id, UNKNOWN] }), { code: 'lead_not_found', param: 'lead_ids[1]' });
    await t.rejects(selectLeadsForCampaign(db, owner, { ids: [foreign.id] }), { code: 'lead_not_found', param: 'lead_ids[0]' });
    await t.rejects(selectLeadsForCampaign(db, owner, { ids: [test.id] }), { code: 'key_mode_mismatch', param: 'lead_ids[0]' });
    await t.rejects(requireLead(db, owner, foreign.id, 'lead_id'), { code: 'lead_not_found', param: 'lead_id' });

    const calledAt = new Date(api.clock.now() + 2000);
    await touchLastCall(db, owner, a.id, calledAt);
    await touchLastCall(db, owner, a.id, new Date(calledAt.getTime() - 1000));
    t.match((await api.call('GET', `/v1/leads/${a.id}`)).body, { last_call_at: calledAt.toISOString(), updated_at: a.updated_at }, 'the latest call counts');
    await touchLastCall(db, { accountId: foreign.id }, b.id, new Date());
    t.equal((await api.call('GET', `/v1/leads/${b.id}`)).body.last_call_at, null, 'another account\'s is not touched');

    const row = await requireLead(db, owner, (await create(api, { name: 'Ada', email: 'a@x.org', fields: { city: 'Bath', name: 'never', 'First name': 'Augusta', Straße: 'Weg', age: 36 } })).id);
    const said = renderMergeFields('{{name}} {{lead.name}} {{city}} {{lead.fields.city}} {{lead.fields.name}} {{First name}} {{ Straße | "?" }} {{age}} {{lead.email}} {{zip | "?"}}', leadFields(row)).text;
    t.equal(said, 'Ada Ada Bath Bath never Augusta Weg 36 a@x.org ?', 'merge fields: its own before its `fields`, any heading a column may have');
  });
});
