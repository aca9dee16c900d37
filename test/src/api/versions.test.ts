import t from 'tap';
import { FIRST_VERSION, PUBLISHED_CHANGES, PUBLISHED_VERSIONS, VersionHistory, type VersionChange } from '../../../src/api/versions/history.ts';
import { buildApp } from '../../../src/app.ts';
import { Webhooks } from '../../../src/events/webhooks.ts';
import { startApiHarness } from '../../support/api-harness.ts';
import { AGENT } from '../../support/examples/agents.ts';

/** The worked example: a release in which an agent's `opening_message` is no longer called `greeting`. */
const RENAMED: VersionChange = {
  version: '2027-01-15',
  description: '`greeting` of an agent became `opening_message`.',
  routes: ['POST /v1/agents', 'GET /v1/agents', 'GET /v1/agents/:id', 'PATCH /v1/agents/:id'],
  upgradeRequest: ({ greeting, ...rest }) => (greeting === undefined ? rest : { ...rest, opening_message: greeting }),
  downgradeAnswer: (body) => (Array.isArray(body['data']) ? { ...body, data: body['data'].map(greeted) } : greeted(body)),
};
/** A second one, so that their order shows. */
const SHOUTED: VersionChange = {
  version: '2027-06-01',
  description: 'Names are no longer shouted.',
  routes: ['GET /v1/agents/:id'],
  downgradeAnswer: (body) => ({ ...body, name: `${String(body['name']).toUpperCase()} (${'opening_message' in body ? 'before' : 'after'} the renaming)` }),
  downgradeEvent: (payload) => ({ ...payload, shouted: true }),
};

function greeted(agent: Record<string, unknown>): Record<string, unknown> {
  const { opening_message, ...rest } = agent;
  return { ...rest, greeting: opening_message };
}

t.test('what is published', (t) => {
  t.equal(PUBLISHED_VERSIONS.current, '2026-09-01');
  t.same(PUBLISHED_VERSIONS.versions, ['2026-09-01']);
  t.same([...PUBLISHED_CHANGES].sort((a, b) => (a.version < b.version ? 1 : -1)), PUBLISHED_CHANGES, 'newest first');
  t.end();
});

t.test('a dated behaviour', async (t) => {
  const api = await startApiHarness({ versions: new VersionHistory([RENAMED, SHOUTED]) });
  t.teardown(() => api.close());
  const old = { 'Service-Version': FIRST_VERSION };
  const { opening_message: _none, ...withoutOpening } = AGENT;

  const made = await api.call('POST', '/v1/agents', { body: { ...withoutOpening, greeting: 'Good day' }, headers: { ...old, 'Idempotency-Key': 'v' } });
  t.match(made, { status: 201, headers: { 'service-version': '2026-09-01' }, body: { greeting: 'Good day' } });
  t.notOk('opening_message' in made.body);
  const url = `/v1/agents/${made.body.id}`;
  t.match(await api.call('POST', '/v1/agents', { body: { ...withoutOpening, greeting: 'Good day' }, headers: { ...old, 'Idempotency-Key': 'v' } }), { status: 201, body: { id: made.body.id, greeting: 'Good day' } }, 'a replay is of the version that asks');
  const newer = await api.call('POST', '/v1/agents', { body: { ...withoutOpening, opening_message: 'Good day' }, headers: { 'Service-Version': '2027-06-01', 'Idempotency-Key': 'v' } });
  t.match(newer, { status: 201, body: { id: made.body.id, opening_message: 'Good day' } });

  const header = (version: string) => ({ headers: { 'Service-Version': version } });
  t.match(await api.call('GET', url, header('2027-06-01')), { status: 200, body: { name: 'A', opening_message: 'Good day' } });
  t.match(await api.call('GET', url, header('2027-01-15')), { headers: { 'service-version': '2027-01-15' }, body: { name: 'A (before the renaming)', opening_message: 'Good day' } });
  t.match(await api.call('GET', url, header('2026-09-01')), { body: { name: 'A (before the renaming)', greeting: 'Good day' } }, 'newest change first');
  t.match(await api.call('GET', '/v1/agents', header('2026-09-01')), { body: { data: [{ greeting: 'Good day' }] } });
  t.match(await api.call('PATCH', url, { body: { greeting: 'Hi' }, ...header('2026-09-01') }), { status: 200, body: { greeting: 'Hi' } });
  t.match(await api.call('PATCH', url, { body: { greeting: 'Hi' }, ...header('2027-01-15') }), { status: 400, body: { error: { code: 'unknown_parameter', param: 'greeting' } } });
  t.match(await api.call('GET', `/v1/agents/${'f'.repeat(24)}`, header('2026-09-01')), { status: 404, body: { error: { code: 'agent_not_found' } } }, 'errors are errors in every version');
  t.match(await api.call('GET', url, header('2026-10-01')), { status: 400, body: { error: { code: 'invalid_version' } } });
});

t.test('a key keeps the version it was made with', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const old = await api.call('POST', '/v1/api-keys', { body: { name: 'Old', scopes: ['agents:read', 'agents:write', 'api_keys:write'] } });
  t.equal(old.body.service_version, '2026-09-01');
  const app = await buildApp({ ...api.context, versions: new VersionHistory([RENAMED]) });
  t.teardown(() => app.close());
  const later = async (method: 'GET' | 'POST', url: string, key: string, body?: object, headers: Record<string, string> = {}) => {
    const answer = await app.inject({ method, url, headers: { authorization: `Bearer ${key}`, ...headers }, ...(body === undefined ? {} : { payload: body }) });
    return { headers: answer.headers, status: answer.statusCode, body: answer.json() };
  };
  const agent = await later('POST', '/v1/agents', old.body.secret, { name: 'A', system_prompt: 'P', greeting: 'Good day' });
  t.match(agent, { status: 201, headers: { 'service-version': '2026-09-01' }, body: { greeting: 'Good day' } });
  const rotated = await later('POST', `/v1/api-keys/${old.body.id}/rotate`, old.body.secret);
  t.equal(rotated.body.service_version, '2026-09-01', 'a rotated key keeps its predecessor\'s');
  const fresh = await later('POST', '/v1/api-keys', rotated.body.secret, { name: 'New', scopes: ['agents:read'] });
  t.equal(fresh.body.service_version, '2027-01-15');
  t.match(await later('GET', `/v1/agents/${agent.body.id}`, fresh.body.secret), { headers: { 'service-version': '2027-01-15' }, body: { opening_message: 'Good day' } });
  t.match(await later('GET', `/v1/agents/${agent.body.id}`, fresh.body.secret, undefined, { 'Service-Version': '2026-09-01' }), { body: { greeting: 'Good day' } }, 'the header overrides');
});

t.test('webhook payloads are of the version of the account\'s first key', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  await api.call('PATCH', '/v1/webhook', { body: { url: 'https://example.com/hook' } });
  await api.call('POST', '/v1/api-keys', { body: { name: 'A later one', scopes: ['agents:read'] } });
  const sent: string[] = [];
  const send = async (changes: VersionChange[]): Promise<unknown> => {
    const webhooks = new Webhooks({
      ...api.context, versions: new VersionHistory(changes),
      post: (post) => {
        sent.push(post.body);
        return Promise.resolve({ responseStatus: 204, error: '', durationMs: 1, succeeded: true, mayRetry: false });
      },
    });
    await webhooks.test({ accountId: api.account.id, livemode: true, event: 'leadCreated', data: { id: 'x' }, eventKey: 'k' });
    await webhooks.close();
    return JSON.parse(sent.at(-1) ?? '');
  };
  t.notOk(Object.hasOwn(await send([]) as object, 'shouted'));
  t.match(await send([SHOUTED]), { event: 'leadCreated', data: { id: 'x', event_key: 'k' }, shouted: true });
});
