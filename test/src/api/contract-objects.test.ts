import t from 'tap';
import { startApiHarness, type ApiHarness } from '../../support/api-harness.ts';
import { allExamples } from '../../support/examples/all.ts';
import type { Example } from '../../support/examples/example.ts';

const ID = /^[0-9a-f]{24}$/;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const api = await startApiHarness({ allowPrivateAddresses: ['127.0.0.1:1'] });
t.teardown(() => api.close());
const examples = await allExamples();
const routes = api.app.knownRoutes.all();
const has = (method: string, url: string): boolean => routes.some((route) => route.method === method && route.url === url);

/** One object of a resource: its path, and that of its list. */
async function made(harness: ApiHarness, { path, make }: Example): Promise<{ one: string; list: string; id: string }> {
  const ids = await make(harness, harness.account.live);
  const list = typeof ids === 'string' ? path : path.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? '');
  const id = typeof ids === 'string' ? ids : (ids['id'] ?? '');
  return { one: `${list}/${id}`, list, id };
}
const isOne = (example: Example): boolean => routes.some(({ method, url }) => method === 'GET' && new RegExp(`^${example.path}/:\\w+$`).test(url));

t.test('every object: id, kind, mode, times', async (t) => {
  const objects = examples.filter(isOne);
  t.ok(objects.length >= 11, objects.map(({ path }) => path).join());
  for (const example of objects) {
    const { one, id } = await made(api, example);
    const { status, body } = await api.call('GET', one);
    t.equal(status, 200, one);
    t.match(body, { id, object: /^[a-z_]+$/ }, example.path);
    t.match(id, ID);
    t.equal(example.path === '/v1/api-keys' ? body.mode : body.livemode, example.path === '/v1/api-keys' ? 'live' : true, `${example.path}: its mode`);
    for (const [name, value] of Object.entries(body)) {
      if (name.endsWith('_at') && value !== null) t.match(value, TIMESTAMP, `${example.path} ${name}`);
      if (name.endsWith('_micros') && value !== null) t.ok(Number.isSafeInteger(value), `${example.path} ${name}`);
    }
    t.ok('created_at' in body || 'expires_at' in body, `${example.path}: when it was made`);
  }
});

t.test('ids sort by creation', async (t) => {
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) {
    ids.push((await api.call('POST', '/v1/knowledge-bases', { body: { name: `n${n}` } })).body.id);
    api.clock.advance(1);
  }
  t.same(ids.toSorted(), ids);
});

t.test('what is deleted answers 404 and leaves its list', async (t) => {
  const deletable = examples.filter((example) => isOne(example) && routes.some(({ method, url }) => method === 'DELETE' && new RegExp(`^${example.path}/:\\w+$`).test(url)))
    // A canceled appointment stays, a revoked key is kept to tell why it is refused, a live call stays, a voice is deleted at its provider: their own tests say so.
    .filter(({ path }) => !['/v1/appointments', '/v1/api-keys', '/v1/calls', '/v1/voices'].includes(path));
  t.ok(deletable.length >= 7, deletable.map(({ path }) => path).join());
  for (const example of deletable) {
    const { one, list, id } = await made(api, example);
    const { body: { object } } = await api.call('GET', one);
    t.ok((await api.call('GET', `${list}?limit=100`)).body.data.some((item: { id: string }) => item.id === id), `${one} is listed`);
    t.strictSame((await api.call('DELETE', one)).body, { id, object, deleted: true }, one);
    for (const method of ['GET', 'DELETE', ...(has('PATCH', `${example.path}/:id`) ? ['PATCH'] : [])] as ('GET' | 'DELETE' | 'PATCH')[]) {
      t.match(await api.call(method, one, method === 'PATCH' ? { body: {} } : {}), { status: 404, body: { error: { code: example.notFound } } }, `${method} ${one}`);
    }
    t.notOk((await api.call('GET', `${list}?limit=100`)).body.data.some((item: { id: string }) => item.id === id), `${one} is listed no more`);
  }
});

t.test('a change with nothing in it changes nothing, and one of what is not there is refused', async (t) => {
  const changeable = examples.filter(({ path }) => has('PATCH', `${path}/:id`));
  t.ok(changeable.length >= 7, changeable.map(({ path }) => path).join());
  for (const example of changeable) {
    const { one } = await made(api, example);
    const before = (await api.call('GET', one)).body;
    api.clock.advance(1000);
    t.match(await api.call('PATCH', one, { body: {} }), { status: 200 }, one);
    t.strictSame((await api.call('GET', one)).body, before, one);
    for (const [body, code, param] of [[{ nonsense: 1 }, 'unknown_parameter', 'nonsense'], [{ id: before.id }, 'unknown_parameter', 'id'], [{ created_at: before.created_at }, 'unknown_parameter', 'created_at']] as const) {
      t.match(await api.call('PATCH', one, { body }), { status: 400, body: { error: { code, param } } }, `${one} ${param}`);
    }
    t.equal((await api.call('PATCH', one, { body: [] })).status, 400, one);
  }
});

interface Shape { $ref?: string; type?: string | string[]; anyOf?: Shape[]; properties?: Record<string, Shape> }

t.test('null clears whatever may be null', async (t) => {
  const { body: document } = await api.call('GET', '/openapi.json', { key: null });
  const resolve = (shape: Shape): Shape => (shape.$ref === undefined ? shape : document.components.schemas[shape.$ref.split('/').at(-1) ?? '']);
  const nullable = (shape: Shape): boolean => [shape.type].flat().includes('null') || (resolve(shape).anyOf ?? []).some(nullable);
  let cleared = 0;
  for (const example of examples.filter(({ path }) => has('PATCH', `${path}/:id`))) {
    const { requestBody } = document.paths[`${example.path}/{id}`].patch;
    const fields = Object.entries(resolve(requestBody.content['application/json'].schema).properties ?? {}).filter(([, shape]) => nullable(shape)).map(([name]) => name);
    const { one } = await made(api, example);
    const fresh = (await api.call('GET', one)).body;
    for (const field of fields) {
      const { status, body } = await api.call('PATCH', one, { body: { [field]: null } });
      // A trunk must keep one way in or out.
      if (status === 400 && example.path === '/v1/sip-trunks') continue;
      t.equal(status, 200, `${one} ${field}: ${JSON.stringify(body.error ?? '')}`);
      // What is written only has no field of its own.
      if (!(field in fresh)) continue;
      t.ok(body[field] === null || JSON.stringify(body[field]) === JSON.stringify(fresh[field]), `${one} ${field} is its default`);
      t.strictSame((await api.call('GET', one)).body[field], body[field]);
      cleared++;
    }
  }
  t.ok(cleared > 40, `${cleared} fields`);
});

t.test('a key makes keys of its own mode', async (t) => {
  const make = (key: string, mode?: string) => api.call('POST', '/v1/api-keys', { key, body: { name: 'K', scopes: ['agents:read'], ...(mode === undefined ? {} : { mode }) } });
  for (const [key, own, other] of [[api.account.live, 'live', 'test'], [api.account.test, 'test', 'live']] as const) {
    for (const mode of [undefined, own]) t.match(await make(key, mode), { status: 201, body: { mode: own, secret: new RegExp(`^wv_${own}_`) } });
    t.match(await make(key, other), { status: 403, body: { error: { type: 'permission_error', code: 'key_mode_mismatch' } } });
  }
});

t.test('a page: 20 when nothing is asked, 1 to 100 when it is; cursors of 1 to 512 characters', async (t) => {
  const { live: key } = await api.newAccount();
  for (let n = 0; n < 101; n++) await api.call('POST', '/v1/knowledge-bases', { key, body: { name: `n${n}` } });
  const list = (query: string) => api.call('GET', `/v1/knowledge-bases${query}`, { key });
  for (const [query, count] of [['', 20], ['?limit=1', 1], ['?limit=21', 21], ['?limit=100', 100]] as const) {
    const { status, body } = await list(query);
    t.equal(status, 200, query);
    t.equal(body.data.length, count, query);
    t.match(body, { has_more: true, next_cursor: /^[\w-]{1,512}$/ }, query);
  }
  const { body: { next_cursor } } = await list('?limit=100');
  t.match((await list(`?starting_after=${next_cursor}`)).body, { data: { length: 1 }, has_more: false, next_cursor: null });
  for (const side of ['starting_after', 'ending_before']) {
    for (const [cursor, code] of [['', 'invalid_parameter'], ['x', 'invalid_cursor'], ['x'.repeat(512), 'invalid_cursor'], ['x'.repeat(513), 'invalid_parameter']] as const) {
      t.match(await list(`?${side}=${cursor}`), { status: 400, body: { error: { code, param: side } } }, `${side} of ${cursor.length}`);
    }
  }
});
