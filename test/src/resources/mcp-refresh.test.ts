import type { RequestListener } from 'node:http';
import t from 'tap';
import { McpFault, readTools } from '../../../src/resources/mcp-servers/connection.ts';
import { AddressGuard } from '../../../src/events/address-guard.ts';
import { startApiHarness } from '../../support/api-harness.ts';
import { modernMcp, olderMcp, sseMcp, startHttpPeer, tool, type HttpPeer, type Offer } from '../../support/mcp-peer.ts';

const SECRET = 'canary-7f3a9c1e5b';

interface Peers { [name: string]: HttpPeer }

async function startPeers(listeners: Record<string, RequestListener>): Promise<Peers> {
  return Object.fromEntries(await Promise.all(Object.entries(listeners).map(async ([name, listener]) => [name, await startHttpPeer(listener)])));
}

t.test('refreshing an MCP server', async (t) => {
  const offer: Offer = { tools: [tool('weather'), tool('book_table'), tool('a.dotted/name')] };
  const paged: Offer = { tools: Array.from({ length: 100 }, (_, n) => tool(`tool_${n}`)), pageSize: 30 };
  let needed = `Bearer ${SECRET}`;
  const peers = await startPeers({
    modern: modernMcp(offer), older: olderMcp(offer), sse: sseMcp(offer), paged: modernMcp(paged), many: modernMcp({ tools: Array.from({ length: 101 }, (_, n) => tool(`tool_${n}`)) }),
    wordy: modernMcp({ tools: [tool('wordy', 'x'.repeat(257 * 1024))] }),
    flood: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const pour = (): void => { while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, 0x20))) { /* until it is full */ } };
      response.on('drain', pour);
      pour();
    },
    garbage: (_request, response) => { response.writeHead(200, { 'content-type': 'text/html' }).end('<html>hello</html>'); },
    broken: (_request, response) => { response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":'); },
    failing: (request, response) => { response.writeHead(500).end(`secret was ${request.headers.authorization}`); },
    closed: (request) => { request.socket.destroy(); },
    guarded: (request, response) => {
      if (request.headers.authorization === needed) modernMcp({ tools: [tool('private', `You sent ${request.headers.authorization}.`)] })(request, response);
      else response.writeHead(401).end(`not ${request.headers.authorization}`);
    },
    redirecting: (_request, response) => { response.writeHead(307, { location: 'http://169.254.169.254/' }).end(); },
  });
  const api = await startApiHarness({ allowPrivateAddresses: Object.values(peers).map(({ authority }) => authority) });
  t.teardown(async () => {
    await api.close();
    await Promise.all(Object.values(peers).map((peer) => peer.close()));
  });
  const add = async (name: string, fields: object = {}): Promise<string> => {
    const made = await api.call('POST', '/v1/mcp-servers', { body: { name, url: `http://${peers[name]?.authority}/mcp`, ...fields } });
    t.match(made, { status: 201, body: { status: 'unknown', tools: [], refreshed_at: null, last_error: null } }, name);
    return String(made.body.id);
  };
  const refresh = (id: string) => api.call('POST', `/v1/mcp-servers/${id}/refresh`);

  t.test('tools are read over each transport and revision of the protocol', async (t) => {
    for (const [name, fields] of [['modern', {}], ['older', {}], ['sse', { transport: 'sse' }]] as const) {
      const id = await add(name, fields);
      const answer = await refresh(id);
      t.match(answer, { status: 200, body: { status: 'connected', last_error: null, refreshed_at: new Date(api.clock.now()).toISOString() } }, name);
      t.strictSame(answer.body.tools.map((read: { name: string }) => read.name), ['weather', 'book_table', 'a.dotted/name'], name);
      t.match(answer.body.tools[0], { description: 'Does weather', input_schema: { type: 'object', required: ['city'] }, enabled: true }, name);
      t.strictSame((await api.call('GET', `/v1/mcp-servers/${id}`)).body, answer.body, 'GET shows what the refresh answered');
    }
  });

  t.test('lists in pages are read whole, up to 100 tools and 256 KiB', async (t) => {
    t.match((await refresh(await add('paged'))).body, { status: 'connected', tools: { length: 100 } });
    t.match((await refresh(await add('many'))).body, { status: 'error', last_error: 'The server offers 101 tools; at most 100 are taken.', tools: [] });
    t.match((await refresh(await add('wordy'))).body, { status: 'error', last_error: 'The descriptions of the server\'s tools are larger than 256 KiB.' });
  });

  t.test('what a server does wrong is said in words', async (t) => {
    for (const [name, words] of [
      ['garbage', /does not speak the Model Context Protocol/], ['broken', /does not speak the Model Context Protocol/], ['failing', 'HTTP 500.'], ['closed', /^The connection failed \(\w+\)\.$/],
      ['flood', 'The server\'s answer is larger than 4 MiB.'], ['guarded', 'HTTP 401: the server refused our headers.'], ['redirecting', /^HTTP 307: the server redirects/],
    ] as const) {
      const id = await add(name);
      t.match(await refresh(id), { status: 200, body: { status: 'error', last_error: words, tools: [] } }, name);
      t.match((await api.call('GET', `/v1/mcp-servers/${id}`)).body, { status: 'error', last_error: words });
    }
  });

  t.test('a server that fails keeps the tools it had; one that was switched off stays off', async (t) => {
    const changing = { tools: [tool('one'), tool('two')] };
    const peer = await startHttpPeer((request, response) => {
      if (changing.tools.length === 0) response.writeHead(503).end();
      else modernMcp(changing)(request, response);
    });
    t.teardown(() => peer.close());
    const id = await add('modern');
    await api.context.db.query('UPDATE mcp_server SET url = $2 WHERE id = $1', [id, `http://${peer.authority}/`]);
    t.match((await refresh(id)).body, { status: 'error', last_error: /^Unsafe_url: / }, 'an address that is not let through is not connected to');
    t.equal(peer.requests.length, 0);
    await api.context.db.query('UPDATE mcp_server SET url = $2 WHERE id = $1', [id, `http://${peers['modern']?.authority}/`]);
    offer.tools = [tool('one'), tool('two')];
    await refresh(id);
    t.match(await api.call('PATCH', `/v1/mcp-servers/${id}`, { body: { tools: [{ name: 'two', enabled: false }] } }), { status: 200, body: { status: 'connected', tools: [{ name: 'one', enabled: true }, { name: 'two', enabled: false }] } });
    offer.tools = [tool('two', 'better'), tool('three')];
    t.match((await refresh(id)).body.tools, [{ name: 'two', description: 'better', enabled: false }, { name: 'three', enabled: true }]);
    await api.context.db.query('UPDATE mcp_server SET url = $2 WHERE id = $1', [id, `http://${peers['failing']?.authority}/`]);
    t.match((await refresh(id)).body, { status: 'error', tools: [{ name: 'two' }, { name: 'three' }] });
  });

  t.test('headers are sent, sealed, and never shown', async (t) => {
    const id = await add('guarded', { headers: { Authorization: needed, 'X-Team': 'short' } });
    const made = await api.call('GET', `/v1/mcp-servers/${id}`);
    t.strictSame(made.body.headers_set, ['Authorization', 'X-Team']);
    t.notOk('headers' in made.body);
    const answer = await refresh(id);
    t.match(answer.body, { status: 'connected', tools: [{ name: 'private', description: 'You sent [redacted].' }] }, 'a server that echoes what it got gives nothing away');
    t.ok(peers['guarded']?.requests.some(({ headers }) => headers['x-team'] === 'short'));
    const failing = await add('failing', { headers: { Authorization: needed } });
    const failed = await refresh(failing);
    t.match(failed.body, { status: 'error', last_error: 'HTTP 500.' });

    needed = `Bearer other-${SECRET}`;
    t.match((await refresh(id)).body, { status: 'error', last_error: 'HTTP 401: the server refused our headers.' });
    t.match((await api.call('PATCH', `/v1/mcp-servers/${id}`, { body: { headers: { Authorization: needed } } })).body, { status: 'unknown', last_error: null, headers_set: ['Authorization'] });
    t.match((await refresh(id)).body, { status: 'connected' });
    t.match((await api.call('PATCH', `/v1/mcp-servers/${id}`, { body: { headers: null } })).body, { status: 'unknown', headers_set: [] });

    const stored = await api.context.db.query<{ row: string }>('SELECT row_to_json(mcp_server)::text AS row FROM mcp_server');
    const wrong = await api.call('POST', '/v1/mcp-servers', { body: { name: 'x', url: 'https://203.0.112.1/', headers: { Authorization: `${SECRET}\n` } } });
    t.match(wrong, { status: 400, body: { error: { code: 'invalid_parameter', param: 'headers.Authorization' } } });
    const key = { 'Idempotency-Key': 'once' };
    const body = { name: 'kept', url: `http://${peers['modern']?.authority}/`, headers: { Authorization: SECRET } };
    const first = await api.call('POST', '/v1/mcp-servers', { body, headers: key });
    const again = await api.call('POST', '/v1/mcp-servers', { body, headers: key });
    t.equal(again.headers['idempotent-replayed'], 'true');
    t.strictSame(again.body, first.body);
    const kept = await api.context.db.query('SELECT answer FROM idempotency');
    const shown = JSON.stringify([stored, wrong, first, again, kept, made, answer, failed, api.events, api.logged, (await api.call('GET', '/v1/mcp-servers?limit=100')).body]);
    t.notOk(shown.includes(SECRET), 'no answer, row, log line or event holds a header\'s value');
  });

  t.test('a retry with the same Idempotency-Key answers what the first refresh did', async (t) => {
    const id = await add('older');
    const headers = { 'Idempotency-Key': 'refresh once' };
    const first = await api.call('POST', `/v1/mcp-servers/${id}/refresh`, { headers });
    const count = peers['older']?.requests.length;
    t.strictSame((await api.call('POST', `/v1/mcp-servers/${id}/refresh`, { headers })).body, first.body);
    t.equal(peers['older']?.requests.length, count, 'nobody was asked twice');
  });

  t.test('a server that was changed while it was read stays as it was changed', async (t) => {
    const id = await add('modern');
    let changed: Promise<unknown> | undefined;
    const peer = await startHttpPeer((request, response) => {
      changed ??= api.call('PATCH', `/v1/mcp-servers/${id}`, { body: { headers: { 'X-New': 'value' } } });
      void changed.then(() => modernMcp(offer)(request, response));
    });
    t.teardown(() => peer.close());
    // The one address that may be connected to is given to the slow server.
    const guard = api.context.guard as unknown as { allows: (url: URL) => boolean };
    const allows = guard.allows.bind(guard);
    guard.allows = (url) => allows(url) || url.host === peer.authority;
    await api.context.db.query('UPDATE mcp_server SET url = $2 WHERE id = $1', [id, `http://${peer.authority}/`]);
    t.match((await refresh(id)).body, { status: 'unknown', tools: [], headers_set: ['X-New'] });
  });
});

t.test('a server that never answers is given up', async (t) => {
  const peer = await startHttpPeer(() => undefined);
  const streaming = await startHttpPeer((_request, response) => { response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n'); });
  t.teardown(() => Promise.all([peer.close(), streaming.close()]));
  const guard = new AddressGuard({ allowed: [peer.authority, streaming.authority] });
  for (const { authority } of [peer, streaming]) {
    for (const transport of ['streamable_http', 'sse'] as const) {
      await t.rejects(readTools(guard, { url: `http://${authority}/`, transport, headers: {} }, 300), new McpFault('no answer within 0.3 s'), transport);
    }
  }
});

t.test('a name that resolves to a private address is not connected to', async (t) => {
  const peer = await startHttpPeer(() => undefined);
  t.teardown(() => peer.close());
  const port = peer.authority.split(':')[1];
  await t.rejects(readTools(new AddressGuard({ allowed: [] }), { url: `http://localhost:${port}/`, transport: 'streamable_http', headers: {} }, 2000), /^unsafe_url: /);
  t.equal(peer.requests.length, 0);
});
