import t from 'tap';
import { SCOPES, type RouteScope } from '../../../src/api/scopes.ts';
import { buildApp } from '../../../src/app.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { startApiHarness, type ApiHarness } from '../../support/api-harness.ts';
import { allExamples } from '../../support/examples/all.ts';
import type { Example } from '../../support/examples/example.ts';
import { quietLog } from '../../support/test-database.ts';

const UNKNOWN = 'f'.repeat(24);
const READS = ['GET', 'HEAD'];
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
interface Route { method: Method; url: string; name: string; scope: RouteScope; example: Example | undefined }

/** Every route of the API as it is registered: nothing here is kept by hand. */
async function routesOf(api: ApiHarness): Promise<Route[]> {
  const examples = (await allExamples()).toSorted((a, b) => b.path.length - a.path.length);
  return api.app.knownRoutes.all()
    .filter(({ method, url, scope }) => method !== 'HEAD' && url.startsWith('/v1/') && scope !== 'public')
    .map(({ method, url, scope }) => ({ method: method as Method, url, name: `${method} ${url}`, scope, example: examples.find(({ path }) => url === path || url.startsWith(`${path}/`)) }));
}

const hasId = ({ url }: Route): boolean => url.includes('/:');
const lastParameter = (url: string): string => url.match(/:\w+/g)?.at(-1)?.slice(1) ?? '';
const withIds = ({ name, url, example }: Route, ids: string | Record<string, string>): string => {
  const path = url.replaceAll(/:(\w+)/g, (_, parameter: string) => (typeof ids === 'string' ? ids : (ids[parameter] ?? UNKNOWN)));
  return path + (example?.queries?.[name] ?? '');
};
const bodyOf = ({ name, method, example }: Route): { body?: unknown } => {
  const body = example?.bodies?.[name] ?? (method === 'PATCH' ? {} : undefined);
  return body === undefined ? {} : { body };
};

t.test('access', async (t) => {
  const api = await startApiHarness({ extensions: [(app) => { app.get('/open', { config: { scope: 'public' } }, async () => ({ open: true })); }] });
  t.teardown(() => api.close());
  const routes = await routesOf(api);

  t.test('every route declares a scope of its group, and every route with an id has an example', (t) => {
    t.ok(routes.length > 30);
    for (const route of routes) {
      t.ok(route.scope === 'any_key' || (SCOPES as readonly string[]).includes(route.scope), route.name);
      if (hasId(route)) t.ok(route.example, `${route.name} has an example in test/support/examples`);
    }
    t.end();
  });

  t.test('no route answers without a key, with a false one, a revoked one, or without its scope', async (t) => {
    const others = new Map<RouteScope, string>();
    for (const scope of new Set(routes.map((route) => route.scope))) others.set(scope, await api.newKey(api.account, SCOPES.filter((other) => other !== scope)));
    const revoked = await api.newKey(api.account, ['agents:read']);
    const { body: { data: [newest] } } = await api.call('GET', '/v1/api-keys?limit=1');
    await api.call('DELETE', `/v1/api-keys/${newest.id}`);
    for (const route of routes) {
      const { method, name, scope } = route;
      const url = withIds(route, UNKNOWN);
      t.match(await api.call(method, url, { key: null }), { status: 401, body: { error: { type: 'authentication_error', code: 'missing_api_key' } }, headers: { 'www-authenticate': 'Bearer' } }, name);
      t.match(await api.call(method, url, { key: `${api.account.live}x` }), { status: 401, body: { error: { code: 'invalid_api_key' } } }, name);
      t.match(await api.call(method, url, { key: revoked }), { status: 401, body: { error: { code: 'revoked_api_key' } } }, name);
      if (scope === 'any_key') continue;
      const refused = await api.call(method, url, { key: others.get(scope) ?? '' });
      t.match(refused, { status: 403, body: { error: { type: 'permission_error', code: 'missing_scope' } } }, name);
      t.match(refused.body.error.message, scope);
      t.notOk('param' in refused.body.error);
    }
  });

  t.test('ids: malformed, unknown, another account\'s, another mode\'s', async (t) => {
    const stranger = await api.newAccount();
    const made = new Map<Example, { foreign: string | Record<string, string>; test: string | Record<string, string> }>();
    for (const route of routes.filter(hasId)) {
      const { method, name, url, example } = route;
      if (!example) continue;
      const body = bodyOf(route);
      const param = lastParameter(url);
      t.match(await api.call(method, withIds(route, 'nonsense'), body), { status: 400, body: { error: { code: 'invalid_id' } } }, name);
      t.match(await api.call(method, withIds(route, 'a'.repeat(5000)), body), { status: 400, body: { error: { code: 'invalid_id' } } }, `${name}, 5000 characters`);
      const missing = { status: 404, body: { error: { type: 'not_found_error', code: example.notFound } } };
      t.match(await api.call(method, withIds(route, UNKNOWN), body), url.match(/:/g)?.length === 1 ? missing : { status: 404 }, name);
      const known = made.get(example) ?? { foreign: await example.make(api, stranger.live), test: await example.make(api, api.account.test) };
      made.set(example, known);
      const foreign = await api.call(method, withIds(route, known.foreign), body);
      t.match(foreign, url.match(/:/g)?.length === 1 ? missing : { status: 404 }, `${name} of another account (${param})`);
      t.match(await api.call(method, withIds(route, known.test), body), { status: 403, body: { error: { type: 'permission_error', code: 'key_mode_mismatch' } } }, `${name} of the other mode`);
    }
  });

  t.test('unknown query parameters are refused everywhere', async (t) => {
    for (const route of routes) {
      const url = withIds(route, UNKNOWN);
      // Where a body is read, it comes first.
      const code = READS.includes(route.method) || route.method === 'DELETE' ? 'unknown_parameter' : String;
      t.match(await api.call(route.method, `${url}${url.includes('?') ? '&' : '?'}nonsense=1`, bodyOf(route)), { status: 400, body: { error: { code } } }, route.name);
    }
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
  const api = await startApiHarness({ rateLimits: { read: rate(3), write: rate(2), call: rate(2), accountRead: rate(5), accountWrite: rate(100), unauthenticated: rate(2), public: rate(3) } });
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
  for (const status of [200, 200, 200, 429]) t.match(await api.call('GET', '/openapi.json', { key: null }), { status }, 'what anybody may have');
  for (let n = 0; n < 10; n++) t.match(await api.call('GET', '/healthz', { key: null }), { status: 200 });
  for (const status of [401, 401, 429]) t.match(await api.call('GET', '/v1/agents', { key: 'wrong' }), { status });
});
