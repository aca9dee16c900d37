import t from 'tap';
import { withoutSecrets } from '../../../src/resources/mcp-servers/header-secrets.ts';
import { requireMcpServers } from '../../../src/resources/mcp-servers/lookup.ts';
import { startApiHarness } from '../../support/api-harness.ts';

const URL_OF = (n: number): string => `https://203.0.112.${n}/mcp`;

t.test('MCP servers', async (t) => {
  const api = await startApiHarness({ allowPrivateAddresses: ['127.0.0.1:3999'] });
  t.teardown(() => api.close());
  const add = async (fields: object = {}, key = api.account.live): Promise<string> => {
    const made = await api.call('POST', '/v1/mcp-servers', { key, body: { name: 'Tools', url: URL_OF(1), ...fields } });
    t.equal(made.status, 201, JSON.stringify(made.body));
    return String(made.body.id);
  };

  t.test('created with defaults, read, changed field by field, deleted', async (t) => {
    const made = await api.call('POST', '/v1/mcp-servers', { body: { name: 'Tools', url: URL_OF(1) } });
    t.strictSame(made.body, {
      id: made.body.id, object: 'mcp_server', livemode: true, name: 'Tools', url: URL_OF(1), transport: 'streamable_http', headers_set: [], enabled: true, tools: [], tool_timeout_ms: 10_000,
      status: 'unknown', last_error: null, refreshed_at: null, created_at: '2026-11-21T12:00:00.000Z', updated_at: '2026-11-21T12:00:00.000Z',
    });
    const { id } = made.body;
    t.strictSame((await api.call('GET', `/v1/mcp-servers/${id}`)).body, made.body);
    t.strictSame((await api.call('PATCH', `/v1/mcp-servers/${id}`, { body: {} })).body, made.body, 'nothing sent, nothing changed');
    api.clock.advance(1000);
    const changed = await api.call('PATCH', `/v1/mcp-servers/${id}`, { body: { name: 'More', url: URL_OF(2), transport: 'sse', enabled: false, tool_timeout_ms: 500, headers: { 'X-Key': 'v' } } });
    t.match(changed, { status: 200, body: { name: 'More', url: URL_OF(2), transport: 'sse', enabled: false, tool_timeout_ms: 500, headers_set: ['X-Key'], updated_at: '2026-11-21T12:00:01.000Z' } });
    t.match((await api.call('PATCH', `/v1/mcp-servers/${id}`, { body: { transport: null, enabled: null, tool_timeout_ms: null } })).body, { transport: 'streamable_http', enabled: true, tool_timeout_ms: 10_000, headers_set: ['X-Key'], name: 'More' }, 'null means the default');
    t.strictSame((await api.call('DELETE', `/v1/mcp-servers/${id}`)).body, { id, object: 'mcp_server', deleted: true });
    for (const [method, path] of [['GET', ''], ['PATCH', ''], ['DELETE', ''], ['POST', '/refresh']] as const) {
      t.match(await api.call(method, `/v1/mcp-servers/${id}${path}`, method === 'PATCH' ? { body: {} } : {}), { status: 404, body: { error: { code: 'mcp_server_not_found', param: 'id' } } }, `${method} ${path}`);
    }
    t.notOk((await api.call('GET', '/v1/mcp-servers')).body.data.some((listed: { id: string }) => listed.id === id));
  });

  t.test('what cannot be', async (t) => {
    const refused = async (body: object, code: string, param: string): Promise<void> => {
      t.match(await api.call('POST', '/v1/mcp-servers', { body: { name: 'n', url: URL_OF(1), ...body } }), { status: 400, body: { error: { type: 'invalid_request_error', code, param } } }, JSON.stringify(body).slice(0, 80));
    };
    for (const url of ['http://203.0.112.1/', 'ftp://203.0.112.1/', 'nonsense', 'https://127.0.0.1/', 'https://10.1.2.3/', 'https://169.254.169.254/latest', 'https://[::1]/', 'https://user:pw@203.0.112.1/', 'http://127.0.0.1:4000/', `https://203.0.112.1/${'x'.repeat(2048)}`, '']) {
      await refused({ url }, 'unsafe_url', 'url');
    }
    const id = await add({ url: 'http://127.0.0.1:3999/' });
    t.match(await api.call('PATCH', `/v1/mcp-servers/${id}`, { body: { url: 'http://10.0.0.1/' } }), { status: 400, body: { error: { code: 'unsafe_url', param: 'url' } } });
    for (const tool_timeout_ms of [499, 30_001, 1.5, '500']) await refused({ tool_timeout_ms }, 'invalid_parameter', 'tool_timeout_ms');
    for (const tool_timeout_ms of [500, 30_000]) await add({ tool_timeout_ms });
    for (const name of ['', 'x'.repeat(201), 7, 'a\0b']) await refused({ name }, 'invalid_parameter', 'name');
    await add({ name: 'x'.repeat(200) });
    await refused({ transport: 'stdio' }, 'invalid_parameter', 'transport');
    await refused({ tools: [] }, 'unknown_parameter', 'tools');
    await refused({ status: 'connected' }, 'unknown_parameter', 'status');
    t.match(await api.call('POST', '/v1/mcp-servers', { body: { url: URL_OF(1) } }), { status: 400, body: { error: { code: 'missing_parameter', param: 'name' } } });
    t.match(await api.call('POST', '/v1/mcp-servers', { body: { name: 'n' } }), { status: 400, body: { error: { code: 'missing_parameter', param: 'url' } } });
    t.match(await api.call('PATCH', `/v1/mcp-servers/${id}`, { body: { tools: [{ name: 'nothing', enabled: true }] } }), { status: 400, body: { error: { code: 'invalid_parameter', param: 'tools[0].name' } } });
    t.match(await api.call('PATCH', `/v1/mcp-servers/${id}`, { body: { tools: [{ name: 'a', enabled: true, description: 'x' }] } }), { status: 400, body: { error: { code: 'unknown_parameter', param: 'tools[0].description' } } });
  });

  t.test('headers', async (t) => {
    const refused = async (headers: object, param: string): Promise<void> => {
      t.match(await api.call('POST', '/v1/mcp-servers', { body: { name: 'n', url: URL_OF(1), headers } }), { status: 400, body: { error: { code: 'invalid_parameter', param } } }, param);
    };
    await refused({ Host: 'x' }, 'headers.Host');
    await refused({ 'content-length': '5' }, 'headers.content-length');
    await refused({ 'Mcp-Session-Id': '5' }, 'headers.Mcp-Session-Id');
    await refused({ 'X-A': '1', 'x-a': '2' }, 'headers.x-a');
    await refused({ 'X-A': 'line\r\nHost: y' }, 'headers.X-A');
    await refused({ 'X-A': 'x'.repeat(4097) }, 'headers.X-A');
    await refused({ 'X-A': 5 }, 'headers.X-A');
    await refused({ 'a b': '1' }, 'headers');
    await refused(Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`X-${n}`, 'v'])), 'headers');
    const most = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`X-${n}`, 'v'.repeat(4096)]));
    t.strictSame((await api.call('GET', `/v1/mcp-servers/${await add({ headers: most })}`)).body.headers_set, Object.keys(most));
    const proto = JSON.parse('{"name":"n","url":"https://203.0.112.1/","headers":{"__proto__":"polluted"}}');
    const made = await api.call('POST', '/v1/mcp-servers', { raw: JSON.stringify(proto), headers: { 'content-type': 'application/json' } });
    t.ok(made.status === 400 || made.status === 201);
    t.equal(({} as Record<string, unknown>)['polluted'], undefined);
  });

  t.test('headers go nowhere but where they were meant for', async (t) => {
    const id = await add({ headers: { Authorization: 'Bearer kept-here' } });
    const change = (body: object) => api.call('PATCH', `/v1/mcp-servers/${id}`, { body });
    for (const url of [URL_OF(2), 'https://203.0.112.1:8443/mcp', 'http://127.0.0.1:3999/']) {
      t.match(await change({ url }), { status: 400, body: { error: { code: 'missing_parameter', param: 'headers' } } }, url);
    }
    t.match((await api.call('GET', `/v1/mcp-servers/${id}`)).body, { url: URL_OF(1), headers_set: ['Authorization'] }, 'nothing has changed');
    t.match((await change({ url: 'https://203.0.112.1/other' })).body, { url: 'https://203.0.112.1/other', headers_set: ['Authorization'] }, 'another path of the same origin');
    t.match((await change({ url: URL_OF(2), headers: { Authorization: 'Bearer new' } })).body, { url: URL_OF(2), headers_set: ['Authorization'] });
    t.match((await change({ url: URL_OF(3), headers: null })).body, { url: URL_OF(3), headers_set: [] });
    t.match((await change({ url: URL_OF(4) })).body, { url: URL_OF(4) }, 'without headers there is nothing to be careful with');
  });

  t.test('what a server echoes is gone through for so many words of a header, however many it has', (t) => {
    const words = Array.from({ length: 500 }, (_, n) => `secret${String(n).padStart(3, '0')}`);
    const shown = withoutSecrets({ all: words.join(' '), some: words.slice(0, 2).join('-'), late: words[499] }, { Cookie: words.join(' ') });
    t.strictSame(shown, { all: '[redacted]', some: '[redacted]-[redacted]', late: 'secret499' });
    t.end();
  });

  t.test('listed newest first, in pages, a mode apart', async (t) => {
    const mine = await api.newAccount();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      ids.unshift(await add({ name: `n${n}` }, mine.live));
      api.clock.advance(1);
    }
    await add({}, mine.test);
    const first = await api.call('GET', '/v1/mcp-servers?limit=3', { key: mine.live });
    t.match(first.body, { object: 'list', has_more: true, data: { length: 3 } });
    const second = await api.call('GET', `/v1/mcp-servers?limit=3&starting_after=${first.body.next_cursor}`, { key: mine.live });
    t.strictSame([...first.body.data, ...second.body.data].map(({ id }) => id), ids);
    t.equal(second.body.has_more, false);
    t.match(await api.call('GET', `/v1/mcp-servers?starting_after=${first.body.next_cursor}`, { key: mine.test }), { status: 400, body: { error: { code: 'invalid_cursor' } } });
  });

  t.test('one that an agent lists stays', async (t) => {
    const [one, two] = [await add(), await add()];
    const agent = await api.call('POST', '/v1/agents', { body: { name: 'A', system_prompt: 'P', opening_message: 'O', mcp_server_ids: [one, two] } });
    t.match(agent, { status: 201, body: { mcp_server_ids: [one, two] } });
    t.match(await api.call('DELETE', `/v1/mcp-servers/${two}`), { status: 409, body: { error: { type: 'conflict_error', code: 'mcp_server_in_use', param: 'id' } } });
    t.match(await api.call('POST', '/v1/agents', { body: { name: 'A', system_prompt: 'P', opening_message: 'O', mcp_server_ids: [one, 'f'.repeat(24)] } }), { status: 404, body: { error: { code: 'mcp_server_not_found', param: 'mcp_server_ids[1]' } } });
    await api.call('PATCH', `/v1/agents/${agent.body.id}`, { body: { mcp_server_ids: [one] } });
    t.match(await api.call('DELETE', `/v1/mcp-servers/${two}`), { status: 200 });
    await api.call('DELETE', `/v1/agents/${agent.body.id}`);
    t.match(await api.call('DELETE', `/v1/mcp-servers/${one}`), { status: 200 }, 'a deleted agent uses nothing');
  });

  t.test('a deletion and an agent that names the server: one of the two is refused', async (t) => {
    for (let round = 0; round < 5; round++) {
      const id = await add();
      const [agent, deleted] = await Promise.all([
        api.call('POST', '/v1/agents', { body: { name: 'A', system_prompt: 'P', opening_message: 'O', mcp_server_ids: [id] } }),
        api.call('DELETE', `/v1/mcp-servers/${id}`),
      ]);
      t.ok((agent.status === 201 && deleted.status === 409) || (agent.status === 404 && deleted.status === 200), `${agent.status} ${deleted.status}`);
    }
  });

  t.test('what agents ask for is answered in their order, of their account and mode', async (t) => {
    const owner = { accountId: api.account.id, livemode: true };
    const ids = [await add(), await add(), await add()];
    const asked = [ids[2] ?? '', ids[0] ?? ''];
    t.strictSame((await requireMcpServers(api.context.db, owner, asked)).map(({ id }) => id), asked);
    t.strictSame(await requireMcpServers(api.context.db, owner, []), []);
    await t.rejects(requireMcpServers(api.context.db, owner, [await add({}, api.account.test)], 'ids'), { code: 'key_mode_mismatch', param: 'ids[0]' });
    const stranger = await api.newAccount();
    await t.rejects(requireMcpServers(api.context.db, owner, [await add({}, stranger.live)], 'ids'), { code: 'mcp_server_not_found', param: 'ids[0]' });
  });
});
