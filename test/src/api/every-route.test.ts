import t from 'tap';
import { startApiHarness, type Answer } from '../../support/api-harness.ts';
import { allExamples } from '../../support/examples/all.ts';
import type { Example } from '../../support/examples/example.ts';

const api = await startApiHarness({ allowPrivateAddresses: ['127.0.0.1:1'] });
t.teardown(() => api.close());
const examples = await allExamples();
const exampleOf = (url: string): Example | undefined => examples.toSorted((a, b) => b.path.length - a.path.length).find(({ path }) => url === path || url.startsWith(`${path}/`));
const routes = api.app.knownRoutes.all().filter(({ method, url, scope }) => method !== 'HEAD' && url.startsWith('/v1/') && scope !== 'public');
const LEASE_MS = 120_000;

/** Lists without an id in their path whose objects an example makes. */
t.test('a list shows an account\'s own objects of its own mode, and nobody else\'s', async (t) => {
  const stranger = await api.newAccount();
  const lists = routes.filter(({ method, url, schema }) => method === 'GET' && !url.includes(':') && JSON.stringify(schema['querystring'] ?? {}).includes('starting_after'));
  t.ok(lists.length >= 12, `${lists.length} lists`);
  for (const { url } of lists) {
    const example = examples.find(({ path }) => path === url);
    for (const key of [stranger.live, api.account.test, api.account.live]) {
      const id = example ? await example.make(api, key) : undefined;
      const { status, body } = await api.call('GET', `${url}?limit=100`, { key });
      t.equal(status, 200, url);
      t.match(body, { object: 'list', has_more: Boolean, data: Array });
      if (typeof id === 'string' && id !== '') t.ok(body.data.some((item: { id: string }) => item.id === id), `${url} shows what was just made`);
    }
    const of = async (key: string): Promise<string[]> => (await api.call('GET', `${url}?limit=100`, { key })).body.data.map((item: { id?: string }) => item.id ?? '').filter((id: string) => id !== '');
    const seen = [await of(stranger.live), await of(api.account.test), await of(api.account.live), await of(stranger.test)];
    t.equal(new Set(seen.flat()).size, seen.flat().length, `${url}: nothing is in two worlds`);
  }
});

/** Their bodies name objects or live calls, so their own resources' tests replay them. */
const REPLAYED_ELSEWHERE = [
  'POST /v1/calls', 'POST /v1/realtime/sessions', 'POST /v1/agents/:id/test-call', 'POST /v1/voices', 'POST /v1/campaigns', 'POST /v1/webhook/test',
  'POST /v1/campaigns/:id/resume', 'POST /v1/calls/:id/say', 'POST /v1/calls/:id/context', 'POST /v1/calls/:id/dtmf', 'POST /v1/calls/:id/transfer', 'POST /v1/calls/:id/hangup',
  'POST /v1/knowledge-bases/:id/documents/:document_id/retry', 'POST /v1/mcp-servers/:id/refresh',
];

t.test('every POST with an Idempotency-Key is replayed, and found again after a crash before its answer was kept', async (t) => {
  const posts = routes.filter(({ method, config }) => method === 'POST' && config.recall !== 'no_effect');
  const replayed: string[] = [];
  for (const { url } of posts) {
    const name = `POST ${url}`;
    if (REPLAYED_ELSEWHERE.includes(name)) continue;
    const example = exampleOf(url);
    const ids = url.includes(':') ? await example?.make(api, api.account.live) : '';
    const path = url.replaceAll(/:(\w+)/g, (_, parameter: string) => (typeof ids === 'object' ? (ids[parameter] ?? '') : (ids ?? '')));
    const body = example?.bodies?.[name];
    const post = (): Promise<Answer> => api.call('POST', path, { ...(body === undefined ? {} : { body }), headers: { 'Idempotency-Key': name } });
    const first = await post();
    t.ok(first.status === 200 || first.status === 201, `${name}: ${JSON.stringify(first.body).slice(0, 200)}`);
    t.notOk('idempotent-replayed' in first.headers);
    const again = await post();
    t.match(again, { status: first.status, headers: { 'idempotent-replayed': 'true' } }, `${name} again`);
    t.equal(again.body.id, first.body.id);

    await api.context.db.query('UPDATE idempotency SET status = NULL, answer = NULL WHERE key = $1', [name]);
    api.clock.advance(LEASE_MS + 1);
    const found = await post();
    t.match(found, { status: first.status, headers: { 'idempotent-replayed': 'true' }, body: { object: first.body.object } }, `${name} after a crash: ${JSON.stringify(found.body).slice(0, 200)}`);
    t.equal(found.body.id, first.body.id);
    replayed.push(name);
  }
  t.same(posts.map(({ url }) => `POST ${url}`).filter((name) => !replayed.includes(name)).sort(), [...REPLAYED_ELSEWHERE].sort(), 'each POST is tested here or named above');
});

t.test('every route says in a few words what it does', (t) => {
  for (const { method, url, schema } of routes) t.match(schema['summary'], /^[A-Z].{3,70}[^.]$/, `${method} ${url}`);
  t.end();
});
