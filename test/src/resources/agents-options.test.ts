import t from 'tap';
import { requireAgent } from '../../../src/resources/agents/actions.ts';
import { isKnowledgeBaseInUse, isMcpServerInUse } from '../../../src/resources/agents/in-use.ts';
import { resolveAgentSpec } from '../../../src/resources/agents/spec.ts';
import { startApiHarness } from '../../support/api-harness.ts';

const OFFICE = [{ start: '09:00', end: '17:00' }];

t.test('what an agent can be told besides its words', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const body = { name: 'Desk', system_prompt: 'Help.', opening_message: 'Hello.' };
  const create = (more: object = {}) => api.call('POST', '/v1/agents', { body: { ...body, ...more } });
  const refuse = async (more: object, code: string, param: string): Promise<void> => {
    const { status, body: { error } } = await create(more);
    t.match({ status, error }, { status: code.endsWith('_not_found') ? 404 : 400, error: { code, param } }, JSON.stringify(more).slice(0, 80));
  };
  const DEFAULTS = {
    fallbacks: { stt: [], llm: [], tts: [], realtime: [] }, latency_budget_ms: null, mcp_server_ids: [], tools: [], transfer: { destinations: [] },
    voicemail: { action: 'hang_up', message: null }, redaction: { pii: [] }, keyterms: [], pronunciations: [], background_sound: null, analysis: null,
    booking: {
      timezone: null, slot_minutes: 30, buffer_minutes: 0, max_days_ahead: 60,
      hours: { monday: OFFICE, tuesday: OFFICE, wednesday: OFFICE, thursday: OFFICE, friday: OFFICE, saturday: [], sunday: [] },
    },
  };

  t.test('defaults, also of agents stored before a field existed', async (t) => {
    const made = (await create()).body;
    for (const [name, value] of Object.entries(DEFAULTS)) t.same(made[name], value, name);
    const old = { name: 'Old', system_prompt: 'P', opening_message: 'O', voice: made.voice, language: 'en-US', timezone: 'UTC', variables: {} };
    await api.context.db.query('UPDATE agent SET definition = $2 WHERE id = $1', [made.id, JSON.stringify(old)]);
    await api.context.db.query('UPDATE agent_version SET definition = $2 WHERE agent_id = $1', [made.id, JSON.stringify(old)]);
    const { body: read } = await api.call('GET', `/v1/agents/${made.id}`);
    for (const [name, value] of Object.entries(DEFAULTS)) t.same(read[name], value, `${name} of an old agent`);
    t.match((await api.call('GET', '/v1/agents')).body.data.find(({ id }: { id: string }) => id === made.id), DEFAULTS);
    t.match((await api.call('GET', `/v1/agents/${made.id}/versions`)).body.data[0], DEFAULTS);
    t.match(await api.call('PATCH', `/v1/agents/${made.id}`, { body: { name: 'New' } }), { status: 200, body: { name: 'New', ...DEFAULTS } });
  });

  t.test('everything at once, changed one by one, and back to the default by null', async (t) => {
    const everything = {
      fallbacks: { stt: [{ model: 'local/ear' }], llm: [{ model: 'local/other' }, { model: 'local/mind' }], tts: [{ model: 'local/mouth', voice: 'dark' }, { model: 'local/mouth' }] },
      latency_budget_ms: 800,
      transfer: { destinations: [{ name: 'Sales', to: '+14155550100' }, { name: 'Boss', to: 'sip:boss@example.com', mode: 'warm', whisper: 'A call for you.' }, { name: 'Workshop', to: 'desk-phone.2' }] },
      voicemail: { action: 'leave_message', message: 'Please call back.' }, redaction: { pii: ['card_number', 'name'] }, keyterms: ['Wirevoice', 'Spoke and Chain'],
      pronunciations: [{ text: 'SQL', say_as: 'sequel' }], background_sound: 'office', analysis: { success_criteria: 'A visit was booked.', schema: { type: 'object', properties: { visit: { type: 'boolean' } } } },
      booking: { timezone: 'America/New_York', hours: { saturday: [{ start: '13:00', end: '24:00' }, { start: '08:00', end: '12:00' }] }, slot_minutes: 15, buffer_minutes: 5, max_days_ahead: 14 },
    };
    const shown = {
      ...everything,
      fallbacks: { ...everything.fallbacks, tts: [{ model: 'local/mouth', voice: 'dark' }, { model: 'local/mouth', voice: null }], realtime: [] },
      transfer: { destinations: [{ name: 'Sales', to: '+14155550100', mode: 'cold', whisper: null }, everything.transfer.destinations[1], { name: 'Workshop', to: 'desk-phone.2', mode: 'cold', whisper: null }] },
      analysis: { summary: true, ...everything.analysis },
      booking: { ...everything.booking, hours: { monday: [], tuesday: [], wednesday: [], thursday: [], friday: [], saturday: [{ start: '08:00', end: '12:00' }, { start: '13:00', end: '24:00' }], sunday: [] } },
    };
    const made = await create(everything);
    t.equal(made.status, 201);
    for (const [name, value] of Object.entries(shown)) t.same(made.body[name], value, name);
    t.same((await api.call('GET', `/v1/agents/${made.body.id}`)).body, made.body);
    t.same((await api.call('GET', `/v1/agents/${made.body.id}/versions`)).body.data[0].booking, shown.booking);

    const replaced = (await api.call('PATCH', `/v1/agents/${made.body.id}`, { body: { booking: { slot_minutes: 60 }, voicemail: { action: 'continue' } } })).body;
    t.same(replaced.booking, { ...DEFAULTS.booking, slot_minutes: 60 }, 'replaced whole');
    t.same(replaced.voicemail, { action: 'continue', message: null });
    t.same(replaced.transfer, shown.transfer, 'what was not sent stays');
    const nothing = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, null]));
    const cleared = await api.call('PATCH', `/v1/agents/${made.body.id}`, { body: nothing });
    t.equal(cleared.status, 200);
    for (const [name, value] of Object.entries(DEFAULTS)) t.same(cleared.body[name], value, `${name}: null`);
  });

  t.test('bounds', async () => {
    const hours = (monday: object[]) => ({ booking: { hours: { monday } } });
    await refuse({ booking: { timezone: 'Mars/Olympus' } }, 'invalid_parameter', 'booking.timezone');
    await refuse({ booking: { timezone: '+02:00' } }, 'invalid_parameter', 'booking.timezone');
    for (const [start, end] of [['9:00', '17:00'], ['24:00', '24:00'], ['09:60', '17:00'], ['noon', '17:00']]) await refuse(hours([{ start, end }]), 'invalid_parameter', 'booking.hours.monday[0].start');
    for (const end of ['24:01', '25:00', '09:00', '08:00']) await refuse(hours([{ start: '09:00', end }]), 'invalid_parameter', 'booking.hours.monday[0].end');
    await refuse(hours([{ start: '09:00', end: '12:00' }, { start: '11:59', end: '13:00' }]), 'invalid_parameter', 'booking.hours.monday[1]');
    await refuse(hours(Array.from({ length: 11 }, (_, n) => ({ start: `${String(n + 10)}:00`, end: `${String(n + 10)}:30` }))), 'invalid_parameter', 'booking.hours.monday');
    await refuse({ booking: { hours: { funday: [] } } }, 'unknown_parameter', 'booking.hours.funday');
    for (const [field, low, high] of [['slot_minutes', 5, 480], ['buffer_minutes', 0, 240], ['max_days_ahead', 1, 365]] as const) {
      for (const value of [low - 1, high + 1, low + 0.5]) await refuse({ booking: { [field]: value } }, 'invalid_parameter', `booking.${field}`);
      for (const value of [low, high]) t.equal((await create({ booking: { [field]: value } })).status, 201, `${field} ${value}`);
    }
    for (const value of [299, 10_001]) await refuse({ latency_budget_ms: value }, 'invalid_parameter', 'latency_budget_ms');
    await refuse({ fallbacks: { llm: [{ model: 'local/mind' }, { model: 'nobody/none' }] } }, 'unknown_model', 'fallbacks.llm[1].model');
    await refuse({ fallbacks: { stt: Array.from({ length: 6 }, () => ({ model: 'local/ear' })) } }, 'invalid_parameter', 'fallbacks.stt');
    await refuse({ fallbacks: { stt: [{ model: 'local/ear', voice: 'x' }] } }, 'unknown_parameter', 'fallbacks.stt[0].voice');
    await refuse({ voicemail: { action: 'leave_message' } }, 'missing_parameter', 'voicemail.message');
    await refuse({ voicemail: { action: 'sing' } }, 'invalid_parameter', 'voicemail.action');
    await refuse({ voicemail: { message: 'x'.repeat(1001) } }, 'invalid_parameter', 'voicemail.message');
    for (const to of ['14155550100', 'sip:', 'sip:a b@c', 'tel:+1', 'a@b', '+1<2>', '']) {
      // A bare number is also how a user of a trunk may be called.
      if (to === '14155550100') t.equal((await create({ transfer: { destinations: [{ name: 'X', to }] } })).status, 201);
      else await refuse({ transfer: { destinations: [{ name: 'X', to }] } }, 'invalid_parameter', 'transfer.destinations[0].to');
    }
    await refuse({ transfer: { destinations: [{ name: 'X', to: 'a' }, { name: 'X', to: 'b' }] } }, 'invalid_parameter', 'transfer.destinations[1].name');
    await refuse({ transfer: { destinations: Array.from({ length: 21 }, (_, n) => ({ name: `D${n}`, to: 'a' })) } }, 'invalid_parameter', 'transfer.destinations');
    await refuse({ redaction: { pii: ['shoe_size'] } }, 'invalid_parameter', 'redaction.pii[0]');
    await refuse({ redaction: { pii: ['name', 'name'] } }, 'invalid_parameter', 'redaction.pii');
    await refuse({ keyterms: Array.from({ length: 101 }, (_, n) => `k${n}`) }, 'invalid_parameter', 'keyterms');
    await refuse({ keyterms: ['x'.repeat(101)] }, 'invalid_parameter', 'keyterms[0]');
    await refuse({ pronunciations: [{ text: 'SQL' }] }, 'missing_parameter', 'pronunciations[0].say_as');
    await refuse({ background_sound: 'jungle' }, 'invalid_parameter', 'background_sound');
    await refuse({ analysis: { schema: { type: 'array' } } }, 'invalid_parameter', 'analysis.schema');
    await refuse({ analysis: { success_criteria: 'x'.repeat(2001) } }, 'invalid_parameter', 'analysis.success_criteria');
    for (const [field, low, high] of [['max_duration_seconds', 30, 14_400]] as const) {
      for (const value of [low - 1, high + 1]) await refuse({ [field]: value }, 'invalid_parameter', field);
      for (const value of [low, high]) t.equal((await create({ [field]: value })).status, 201, `${field} ${value}`);
    }
  });

  t.test('knowledge bases and MCP servers must exist', async (t) => {
    await refuse({ knowledge_base_id: 'f'.repeat(24) }, 'knowledge_base_not_found', 'knowledge_base_id');
    await refuse({ mcp_server_ids: ['f'.repeat(24)] }, 'mcp_server_not_found', 'mcp_server_ids[0]');
    await refuse({ mcp_server_ids: ['x'] }, 'invalid_id', 'mcp_server_ids[0]');
    await refuse({ mcp_server_ids: ['f'.repeat(24), 'f'.repeat(24)] }, 'invalid_parameter', 'mcp_server_ids');
    await refuse({ mcp_server_ids: Array.from({ length: 11 }, (_, n) => String(n).padStart(24, '0')) }, 'invalid_parameter', 'mcp_server_ids');
    const newBase = async (key: string): Promise<string> => (await api.call('POST', '/v1/knowledge-bases', { key, body: { name: 'Facts' } })).body.id;
    const own = await newBase(api.account.live);
    const made = await create({ knowledge_base_id: own });
    t.match(made, { status: 201, body: { knowledge_base_id: own } });
    t.match(await api.call('DELETE', `/v1/knowledge-bases/${own}`), { status: 409, body: { error: { code: 'knowledge_base_in_use' } } }, 'and stays while an agent has it');
    await api.call('PATCH', `/v1/agents/${made.body.id}`, { body: { knowledge_base_id: null } });
    t.equal((await api.call('DELETE', `/v1/knowledge-bases/${own}`)).status, 200);
    await refuse({ knowledge_base_id: await newBase((await api.newAccount()).live) }, 'knowledge_base_not_found', 'knowledge_base_id');
    t.match(await create({ knowledge_base_id: await newBase(api.account.test) }), { status: 403, body: { error: { code: 'key_mode_mismatch', param: 'knowledge_base_id' } } });

    const { id } = (await create()).body;
    const { db } = api.context;
    const [base, server] = ['a'.repeat(24), 'b'.repeat(24)];
    await db.query(`UPDATE agent SET definition = definition || $2 WHERE id = $1`, [id, JSON.stringify({ knowledge_base_id: base, mcp_server_ids: ['c'.repeat(24), server] })]);
    t.same([await isKnowledgeBaseInUse(db, api.account.id, base), await isMcpServerInUse(db, api.account.id, server)], [true, true]);
    t.same([await isKnowledgeBaseInUse(db, api.account.id, server), await isMcpServerInUse(db, api.account.id, base)], [false, false]);
    await api.call('DELETE', `/v1/agents/${id}`);
    t.same([await isKnowledgeBaseInUse(db, api.account.id, base), await isMcpServerInUse(db, api.account.id, server)], [false, false], 'a deleted agent holds nothing');
  });

  t.test('a change touches only what was sent, even when a model has gone meanwhile', async (t) => {
    const { id } = (await create({ voice: { llm: { model: 'local/mind' } } })).body;
    const { engines } = api.context;
    const known = engines.isKnownModel;
    engines.isKnownModel = () => false;
    t.teardown(() => { engines.isKnownModel = known; });
    t.match(await api.call('PATCH', `/v1/agents/${id}`, { body: { name: 'New' } }), { status: 200, body: { name: 'New' } });
    t.match(await api.call('PATCH', `/v1/agents/${id}`, { body: { voice: { llm: { model: 'local/mind' } } } }), { status: 400, body: { error: { code: 'unknown_model' } } });
    engines.isKnownModel = known;
    t.match((await api.call('PATCH', `/v1/agents/${id}`, { body: { language: null, timezone: null, voice: null } })).body, { language: 'en-US', timezone: 'UTC', voice: { stt: { endpointing_ms: 300 } } });
  });

  t.test('versions are paged like every list', async (t) => {
    const { id } = (await create({ name: 'v1' })).body;
    for (const n of [2, 3, 4, 5]) await api.call('PATCH', `/v1/agents/${id}`, { body: { name: `v${n}` } });
    await api.context.db.query(`UPDATE agent_version SET created_at = created_at - version * interval '1 minute' WHERE agent_id = $1`, [id]);
    const url = `/v1/agents/${id}/versions`;
    const names = ({ body: page }: { body: { data: { name: string }[] } }) => page.data.map(({ name }) => name);
    const first = await api.call('GET', `${url}?limit=2`);
    // A clock that was set back does not shuffle them.
    t.match(first.body, { object: 'list', has_more: true, data: [{ object: 'agent_version', agent_id: id, version: 5 }, { version: 4 }] });
    const second = await api.call('GET', `${url}?limit=2&starting_after=${first.body.next_cursor}`);
    t.same(names(second), ['v3', 'v2']);
    const last = await api.call('GET', `${url}?limit=2&starting_after=${second.body.next_cursor}`);
    t.same(names(last), ['v1']);
    t.match(last.body, { has_more: false, next_cursor: null });
    t.same(names(await api.call('GET', `${url}?limit=2&ending_before=${last.body.previous_cursor}`)), ['v3', 'v2']);
    t.match(await api.call('GET', `${url}?starting_after=${first.body.next_cursor}&ending_before=${first.body.next_cursor}`), { status: 400, body: { error: { code: 'conflicting_cursors' } } });
    const other = (await create()).body.id;
    t.match(await api.call('GET', `/v1/agents/${other}/versions?starting_after=${first.body.next_cursor}`), { status: 400, body: { error: { code: 'invalid_cursor' } } }, 'a cursor of another agent');
  });

  t.test('merge fields: the call\'s variables, the lead, its fields, the agent\'s variables; never metadata', async (t) => {
    const { id } = (await create({
      system_prompt: '{{name}} {{city}} {{plan}} {{lead.name}} {{lead.fields.city}} {{lead.email}} {{age}} {{vip}} {{deep}} {{gone | "nobody"}}',
      opening_message: '{{phone_number}}/{{color}}', variables: { name: 'Agent', city: 'Agentville', plan: 'agent-plan', color: 'red' },
    })).body;
    const row = await requireAgent(api.context.db, { accountId: api.account.id, livemode: true }, id);
    const lead = { name: 'Ada', phone_number: '+15550100003', email: null, fields: { city: 'Bath', name: 'never: the lead\'s own name wins', age: 36, vip: true, deep: { no: 1 }, plan: 'lead-plan' } };
    const now = new Date(api.clock.now());
    const resolved = resolveAgentSpec(row, { variables: { plan: 'call-plan' }, lead, now, phoneNumber: '+15550100009' });
    t.equal(resolved.agent.systemPrompt, 'Ada Bath call-plan Ada Bath  36 true  nobody');
    t.same(resolved.unresolved, ['lead.email', 'deep']);
    t.equal(resolved.agent.openingMessage, '+15550100003/red');
    const without = resolveAgentSpec(row, { variables: {}, now, phoneNumber: '+15550100009' });
    t.match(without, { agent: { systemPrompt: /^Agent Agentville agent-plan /, openingMessage: '+15550100009/red' } });
  });
});
