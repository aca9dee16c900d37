import t from 'tap';
import { SCOPES, type Scope } from '../../../src/api/scopes.ts';
import { buildApp } from '../../../src/app.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { startApiHarness } from '../../support/api-harness.ts';
import { quietLog } from '../../support/test-database.ts';

const UNKNOWN = 'f'.repeat(24);
/** Every route of the API with what it asks for; a route missing here fails the last test. */
const ROUTES: [method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, scope: Scope, notFound?: string][] = [
  ['POST', '/v1/api-keys', 'api_keys:write'], ['GET', '/v1/api-keys', 'api_keys:read'], ['GET', '/v1/api-keys/:id', 'api_keys:read', 'api_key'],
  ['POST', '/v1/api-keys/:id/rotate', 'api_keys:write', 'api_key'], ['DELETE', '/v1/api-keys/:id', 'api_keys:write', 'api_key'],
  ['POST', '/v1/agents', 'agents:write'], ['GET', '/v1/agents', 'agents:read'], ['GET', '/v1/agents/:id', 'agents:read', 'agent'],
  ['PATCH', '/v1/agents/:id', 'agents:write', 'agent'], ['DELETE', '/v1/agents/:id', 'agents:write', 'agent'], ['GET', '/v1/agents/:id/versions', 'agents:read', 'agent'],
  ['POST', '/v1/phone-numbers', 'phone_numbers:write'], ['GET', '/v1/phone-numbers', 'phone_numbers:read'], ['GET', '/v1/phone-numbers/:id', 'phone_numbers:read', 'phone_number'],
  ['PATCH', '/v1/phone-numbers/:id', 'phone_numbers:write', 'phone_number'], ['DELETE', '/v1/phone-numbers/:id', 'phone_numbers:write', 'phone_number'],
  ['POST', '/v1/sip-trunks', 'sip_trunks:write'], ['GET', '/v1/sip-trunks', 'sip_trunks:read'], ['GET', '/v1/sip-trunks/:id', 'sip_trunks:read', 'sip_trunk'],
  ['PATCH', '/v1/sip-trunks/:id', 'sip_trunks:write', 'sip_trunk'], ['DELETE', '/v1/sip-trunks/:id', 'sip_trunks:write', 'sip_trunk'],
  ['POST', '/v1/realtime/sessions', 'calls:write'],
  ['GET', '/v1/calls', 'calls:read'], ['GET', '/v1/calls/:id', 'calls:read', 'call'], ['GET', '/v1/calls/:id/transcript', 'calls:read', 'call'],
  ['GET', '/v1/calls/:id/log', 'calls:read', 'call'], ['GET', '/v1/calls/:id/recording', 'calls:read', 'call'], ['POST', '/v1/calls/:id/hangup', 'calls:write', 'call'],
  ['DELETE', '/v1/calls/:id', 'calls:write', 'call'],
  ['GET', '/v1/webhook', 'webhooks:read'], ['PATCH', '/v1/webhook', 'webhooks:write'], ['POST', '/v1/webhook/rotate-secret', 'webhooks:write'],
  ['GET', '/v1/webhook/deliveries', 'webhooks:read'], ['POST', '/v1/webhook/test', 'webhooks:write'],
];

t.test('access', async (t) => {
  const api = await startApiHarness({ extensions: [(app) => { app.get('/open', { config: { scope: 'public' } }, async () => ({ open: true })); }] });
  t.teardown(() => api.close());

  t.test('no route answers without a key, with a false one, or without its scope', async (t) => {
    const others = new Map<Scope, string>();
    for (const scope of new Set(ROUTES.map(([, , scope]) => scope))) others.set(scope, await api.newKey(api.account, SCOPES.filter((other) => other !== scope)));
    for (const [method, path, scope] of ROUTES) {
      const url = path.replace(':id', UNKNOWN);
      const name = `${method} ${path}`;
      t.match(await api.call(method, url, { key: null }), { status: 401, body: { error: { type: 'authentication_error', code: 'missing_api_key' } }, headers: { 'www-authenticate': 'Bearer' } }, name);
      t.match(await api.call(method, url, { key: `${api.account.live}x` }), { status: 401, body: { error: { code: 'invalid_api_key' } } }, name);
      const refused = await api.call(method, url, { key: others.get(scope) ?? '' });
      t.match(refused, { status: 403, body: { error: { type: 'permission_error', code: 'missing_scope' } } }, name);
      t.match(refused.body.error.message, scope);
      t.notOk('param' in refused.body.error);
    }
  });

  t.test('ids: malformed, unknown', async (t) => {
    for (const [method, path, , resource] of ROUTES) {
      if (resource === undefined) continue;
      const body = method === 'PATCH' ? { body: {} } : {};
      t.match(await api.call(method, path.replace(':id', 'nonsense'), body), { status: 400, body: { error: { code: 'invalid_id', param: 'id' } } }, `${method} ${path}`);
      t.match(await api.call(method, path.replace(':id', 'a'.repeat(5000)), body), { status: 400, body: { error: { code: 'invalid_id', param: 'id' } } }, `${method} ${path}, 5000 characters`);
      t.match(await api.call(method, path.replace(':id', UNKNOWN), body), { status: 404, body: { error: { type: 'not_found_error', code: `${resource}_not_found` } } }, `${method} ${path}`);
    }
  });

  t.test('unknown query parameters are refused everywhere', async (t) => {
    for (const [method, path] of ROUTES) {
      // Where a body is read, it comes first.
      const missing = method === 'POST' || method === 'PATCH' ? String : 'unknown_parameter';
      t.match(await api.call(method, `${path.replace(':id', UNKNOWN)}?nonsense=1`), { status: 400, body: { error: { code: missing } } }, `${method} ${path}`);
    }
  });

  t.test('every /v1 route is in the table above', (t) => {
    const registered = api.app.knownRoutes.all().filter((route) => route.includes(' /v1/') && !route.startsWith('HEAD '));
    t.same(registered.sort(), ROUTES.map(([method, path]) => `${method} ${path}`).sort());
    t.end();
  });

  t.test('paths and methods', async (t) => {
    t.match(await api.call('GET', '/v1/nothing', { key: null }), { status: 404, body: { error: { code: 'route_not_found', type: 'not_found_error' } } });
    t.match(await api.call('PUT', '/v1/agents', { key: null }), { status: 405, headers: { allow: 'GET, HEAD, POST' }, body: { error: { code: 'method_not_allowed' } } });
    t.match(await api.call('GET', '/v1/agents/%zz'), { status: 400, body: { error: { request_id: /^req_/ } } });
    t.match(await api.call('GET', '/open', { key: null }), { status: 200, body: { open: true } });
  });

  t.test('headers', async (t) => {
    const { headers } = await api.call('GET', '/v1/agents', { headers: { 'Request-Id': 'mine' } });
    t.match(headers, { 'request-id': /^req_[0-9a-f]{24}$/, 'service-version': '2026-09-01', 'ratelimit-policy': /^"read";q=/, 'x-content-type-options': 'nosniff' });
    t.match(await api.call('GET', '/v1/agents', { headers: { 'Service-Version': '2020-01-01' } }), { status: 400, body: { error: { code: 'invalid_version' } } });
    t.match(await api.call('GET', '/v1/agents', { headers: { 'Service-Version': '2026-09-01' } }), { status: 200 });
  });

  t.test('a route without a scope stops the start', async (t) => {
    await t.rejects(buildApp(api.context, [(app) => { app.get('/forgotten', async () => ({})); }]), /GET \/forgotten declares no scope/);
  });

  t.test('health', async (t) => {
    t.match(await api.call('GET', '/healthz', { key: null }), { status: 200 });
    api.context.checks.push({ name: 'media', run: async () => 'no worker' });
    t.match(await api.call('GET', '/readyz', { key: null }), { status: 503, body: { failing: { media: 'no worker' } } });
    api.context.checks.pop();
    t.match(await api.call('GET', '/readyz', { key: null }), { status: 200 });
  });
});

t.test('a database that is away', async (t) => {
  const api = await startApiHarness();
  const db = openDatabase({ connection: { socketDir: '/nonexistent' }, log: quietLog, retryForMs: 50 });
  const app = await buildApp({ ...api.context, db });
  t.teardown(async () => {
    await app.close();
    await db.close();
    await api.close();
  });
  const answer = await app.inject({ method: 'GET', url: '/v1/agents', headers: { authorization: `Bearer ${api.account.live}` } });
  t.match(answer, { statusCode: 503, headers: { 'retry-after': '1' } });
  t.match(answer.json(), { error: { type: 'api_error', code: 'service_unavailable' } });
  t.notMatch(answer.body, /ENOENT|nonexistent/);
  t.equal((await app.inject({ method: 'GET', url: '/healthz' })).statusCode, 200);
});

t.test('rate limits', async (t) => {
  const rate = (burst: number) => ({ perSecond: 1, burst });
  const api = await startApiHarness({ rateLimits: { read: rate(3), write: rate(2), accountRead: rate(5), accountWrite: rate(100), unauthenticated: rate(2) } });
  t.teardown(() => api.close());
  for (let n = 3; n > 0; n--) t.match(await api.call('GET', '/v1/agents'), { status: 200, headers: { ratelimit: `"read";r=${n - 1};t=${4 - n}` } });
  const refused = await api.call('GET', '/v1/agents');
  t.match(refused, { status: 429, headers: { 'retry-after': '1' }, body: { error: { type: 'rate_limit_error', code: 'rate_limited' } } });
  api.clock.advance(1000);
  t.match(await api.call('GET', '/v1/agents'), { status: 200 }, 'a client that waits is admitted');
  t.match(await api.call('PATCH', '/v1/webhook', { body: {} }), { status: 200 }, 'writes have a bucket of their own');
  t.match(await api.call('GET', '/v1/agents', { key: api.account.test }), { status: 200 });
  t.match(await api.call('GET', '/v1/agents', { key: api.account.test }), { status: 200 });
  t.match(await api.call('GET', '/v1/agents', { key: api.account.test }), { status: 429 }, 'the account is at its end before the key');
  for (const status of [401, 401, 429]) t.match(await api.call('GET', '/v1/agents', { key: 'wrong' }), { status });
});
