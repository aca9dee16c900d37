import t from 'tap';
import { requireAgent } from '../../../src/resources/agents/actions.ts';
import { readToolHeaders } from '../../../src/resources/agents/tool-headers.ts';
import { toolsOf } from '../../../src/resources/agents/tools.ts';
import type { ToolInput } from '../../../src/resources/agents/tools-schema.ts';
import { startApiHarness } from '../../support/api-harness.ts';

const SECRET = 'Bearer very-secret-0123456789';
const HTTP = { type: 'http', name: 'order_status', description: 'Looks an order up.', url: 'https://93.184.216.34/orders' } as const;

t.test('tools', async (t) => {
  const api = await startApiHarness({ allowPrivateAddresses: ['127.0.0.1:9999'] });
  t.teardown(() => api.close());
  const { db, keyring } = api.context;
  const body = { name: 'Desk', system_prompt: 'Help.', opening_message: 'Hello.' };
  const create = (tools: unknown, more: object = {}) => api.call('POST', '/v1/agents', { body: { ...body, ...more, tools } });
  const rowOf = (id: string) => requireAgent(db, { accountId: api.account.id, livemode: true }, id);
  const refuse = async (tool: object, code: string, param: string, name = JSON.stringify(tool).slice(0, 100)): Promise<void> => {
    t.match(await create([{ type: 'end_call' }, { ...HTTP, ...tool }]), { status: 400, body: { error: { code, param: `tools[1]${param}` } } }, name);
  };

  t.test('filled in', async (t) => {
    const made = await create([{ type: 'take_message' }, { type: 'end_call', enabled: false }, HTTP]);
    t.equal(made.status, 201);
    t.same(made.body.tools, [
      { type: 'take_message', enabled: true }, { type: 'end_call', enabled: false },
      { ...HTTP, enabled: true, parameters: { type: 'object', properties: {} }, method: 'POST', headers_set: [], timeout_ms: 5000, filler: null },
    ]);
    const full = { ...HTTP, enabled: false, method: 'GET', timeout_ms: 30_000, filler: 'One moment.', parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] } };
    t.match((await create([full])).body.tools, [full]);
  });

  t.test('what is refused', async (t) => {
    for (const field of ['name', 'description', 'url']) await refuse({ [field]: undefined }, 'missing_parameter', `.${field}`);
    await refuse({ name: 'end_call' }, 'invalid_parameter', '.name', 'a built-in\'s name');
    await refuse({ name: '1st' }, 'invalid_parameter', '.name');
    await refuse({ name: 'x'.repeat(65) }, 'invalid_parameter', '.name');
    await refuse({ description: 'x'.repeat(1025) }, 'invalid_parameter', '.description');
    await refuse({ method: 'TRACE' }, 'invalid_parameter', '.method');
    for (const timeout_ms of [499, 30_001]) await refuse({ timeout_ms }, 'invalid_parameter', '.timeout_ms');
    await refuse({ filler: 'x'.repeat(201) }, 'invalid_parameter', '.filler');
    await refuse({ colour: 1 }, 'unknown_parameter', '.colour');
    await refuse({ headers_set: [] }, 'unknown_parameter', '.headers_set');
    t.match(await create([{ type: 'end_call', url: HTTP.url }]), { status: 400, body: { error: { code: 'unknown_parameter', param: 'tools[0].url' } } });
    t.match(await create([{ type: 'dance' }]), { status: 400, body: { error: { code: 'invalid_parameter', param: 'tools[0].type' } } });
    t.match(await create([HTTP, HTTP]), { status: 400, body: { error: { code: 'invalid_parameter', param: 'tools[1].name' } } }, 'names are unique');
    t.match(await create([{ type: 'end_call' }, { type: 'end_call' }]), { status: 400, body: { error: { param: 'tools[1].type' } } });
    const many = (count: number): ToolInput[] => Array.from({ length: count }, (_, n) => ({ ...HTTP, name: `t${n}` }));
    t.equal((await create(many(50))).status, 201);
    t.match(await create(many(51)), { status: 400, body: { error: { param: 'tools' } } });
  });

  t.test('addresses, as for webhooks', async (t) => {
    for (const url of ['http://127.0.0.1/', 'http://10.0.0.1/', 'https://[::1]/', 'http://169.254.169.254/latest', 'ftp://example.com/', 'file:///etc/passwd', 'nonsense', 'https://u:p@93.184.216.34/', 'http://localhost/']) {
      await refuse({ url }, 'unsafe_url', '.url', url);
    }
    t.equal((await create([{ ...HTTP, url: 'http://127.0.0.1:9999/x' }])).status, 201, 'what the operator lets through');
    t.equal((await create([{ ...HTTP, url: 'https://nowhere.invalid/x' }])).status, 201, 'what does not resolve now is checked again at each call');
    const { id } = (await create([HTTP])).body;
    t.match(await api.call('PATCH', `/v1/agents/${id}`, { body: { tools: [{ ...HTTP, url: 'http://10.0.0.1/' }] } }), { status: 400, body: { error: { code: 'unsafe_url', param: 'tools[0].url' } } });
  });

  t.test('parameters are a JSON Schema of an object, small and self-contained', async (t) => {
    const deep = (levels: number): object => (levels === 0 ? { type: 'string' } : { type: 'object', properties: { a: deep(levels - 1) } });
    const wide = (bytes: number): object => ({ type: 'object', description: 'x'.repeat(bytes - JSON.stringify({ type: 'object', description: '' }).length) });
    for (const parameters of [
      {}, { type: 'string' }, { type: 'object', properties: 5 }, { type: 'object', required: 'x' }, { type: 'object', properties: { a: { type: 'strin' } } },
      { type: 'object', properties: { a: { pattern: '(' } } }, { type: 'object', $ref: 'https://example.com/schema.json' }, { type: 'object', $ref: '#/$defs/none' }, { type: 'object', $ref: 'file:///etc/passwd' },
      deep(5), wide(8193),
    ]) await refuse({ parameters }, 'invalid_parameter', '.parameters', JSON.stringify(parameters).slice(0, 80));
    for (const parameters of [deep(4), wide(8192), { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }, { type: 'object', properties: { a: { $ref: '#/$defs/b' } }, $defs: { b: { type: 'integer' } } }]) {
      const made = await create([{ ...HTTP, parameters }]);
      t.equal(made.status, 201, JSON.stringify(parameters).slice(0, 80));
      t.same(made.body.tools[0].parameters, parameters, 'shown as it was sent');
    }
    await refuse({ parameters: [] }, 'invalid_parameter', '.parameters');
  });

  t.test('headers are written, never read', async (t) => {
    const headers = { Authorization: SECRET, 'X-Team': 'support' };
    const made = await create([{ ...HTTP, headers }]);
    const { id } = made.body;
    t.same(made.body.tools[0].headers_set, ['Authorization', 'X-Team']);
    t.same(await readToolHeaders(db, keyring, id), { order_status: headers });

    const moved = async (tool: object): Promise<unknown> => {
      const { body: changed } = await api.call('PATCH', `/v1/agents/${id}`, { body: { tools: [{ ...HTTP, ...tool }] } });
      return [changed.tools[0].headers_set, await readToolHeaders(db, keyring, id)];
    };
    t.same(await moved({ description: 'Other words.', url: 'https://93.184.216.34/other' }), [['Authorization', 'X-Team'], { order_status: headers }], 'kept while the origin stays');
    t.equal((await api.call('PATCH', `/v1/agents/${id}`, { body: { name: 'New' } })).body.tools[0].headers_set.length, 2, 'kept by a change of something else');
    t.same(await moved({ url: 'https://93.184.216.35/other' }), [[], {}], 'never sent to another origin');
    await moved({ headers });
    t.same(await moved({ name: 'renamed' }), [[], {}], 'nor by another tool');
    await moved({ headers });
    t.same(await moved({ headers: { 'X-Team': 'sales' } }), [['X-Team'], { order_status: { 'X-Team': 'sales' } }], 'replaced whole');
    t.same(await moved({ headers: null }), [[], {}], 'cleared');
    await moved({ headers });

    const other = (await create([HTTP])).body.id;
    await db.query('INSERT INTO agent_tool_headers (agent_id, sealed) SELECT $1, sealed FROM agent_tool_headers WHERE agent_id = $2', [other, id]);
    await t.rejects(readToolHeaders(db, keyring, other), 'a sealed value opens only where it was put');

    const seen = [made.body, (await api.call('GET', `/v1/agents/${id}`)).body, (await api.call('GET', '/v1/agents')).body, (await api.call('GET', `/v1/agents/${id}/versions`)).body, api.events, api.logged];
    t.notMatch(JSON.stringify(seen), /very-secret/, 'in no answer, version, event or log');
    const stored = await db.query<{ text: string }>('SELECT definition::text AS text FROM agent UNION ALL SELECT definition::text FROM agent_version UNION ALL SELECT coalesce(answer, \'\') FROM idempotency');
    t.notMatch(JSON.stringify(stored), /very-secret/, 'nowhere in the clear');

    await api.call('DELETE', `/v1/agents/${id}`);
    t.same(await db.query('SELECT 1 FROM agent_tool_headers WHERE agent_id = $1', [id]), [], 'a deleted agent leaves none');
    for (const bad of [{ Host: 'x' }, { 'Content-Length': '1' }, { 'a b': 'x' }, { a: 'x\r\nEvil: 1' }, { a: 5 }, { a: 'x'.repeat(4097) }, Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`h${n}`, 'x']))]) {
      const refused = await create([{ ...HTTP, headers: bad }]);
      t.match(refused, { status: 400, body: { error: { param: /^tools\[0\]\.headers/ } } }, JSON.stringify(bad).slice(0, 60));
    }
    const wrong = await create([{ ...HTTP, headers: { Authorization: `${SECRET}\n` } }]);
    t.notMatch(JSON.stringify(wrong.body), /very-secret/, 'nor in the refusal of a wrong one');
  });

  t.test('what a call gets', async (t) => {
    const names = async (tools: object[], more: object = {}): Promise<string[]> => {
      const { definition } = await rowOf((await create(tools, more)).body.id);
      return toolsOf(definition).map((tool) => (tool.type === 'http' ? tool.name : tool.type));
    };
    const booking = ['book_appointment', 'reschedule_appointment', 'check_availability', 'cancel_appointment'];
    t.same(await names([]), ['end_call']);
    t.same(await names([], { appointment_booking_enabled: true }), ['end_call', ...booking], 'an agent that can book has the tools for it');
    t.same(await names(booking.map((type) => ({ type }))), ['end_call'], 'no booking whatever tools says');
    t.same(await names([{ type: 'cancel_appointment', enabled: false }], { appointment_booking_enabled: true }), ['end_call', ...booking.slice(0, 3)]);
    t.same(await names([{ type: 'end_call', enabled: false }, { type: 'qualify_lead' }, { type: 'send_dtmf' }, HTTP, { ...HTTP, name: 'off', enabled: false }]), ['send_dtmf', 'qualify_lead', 'order_status']);
    t.same(await names([{ type: 'transfer_call' }, { type: 'search_knowledge' }]), ['end_call'], 'nobody to transfer to, nothing to search');
    t.same(await names([], { transfer: { destinations: [{ name: 'Sales', to: '+14155550100' }] } }), ['end_call', 'transfer_call']);
    const { definition } = await rowOf((await create([])).body.id);
    t.same(toolsOf({ ...definition, knowledge_base_id: 'a'.repeat(24) }).map(({ type }) => type), ['end_call', 'search_knowledge']);
  });
});
