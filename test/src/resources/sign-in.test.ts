import t from 'tap';
import { firstStart } from '../../../src/first-start.ts';
import { findInboundRoute } from '../../../src/resources/phone-numbers/actions.ts';
import { startApiHarness } from '../../support/api-harness.ts';
import { createTestDatabase } from '../../support/test-database.ts';

t.test('first start', async (t) => {
  const api = await startApiHarness();
  const fresh = await createTestDatabase();
  t.teardown(async () => {
    await api.close();
    await fresh.close();
  });
  const context = { ...api.context, db: fresh.db };

  const both = await Promise.all([firstStart(context), firstStart(context)]);
  t.equal(both.filter(({ apiKeys }) => apiKeys !== undefined).length, 1, 'of two at once, one makes everything');
  const [first] = both.filter(({ apiKeys }) => apiKeys !== undefined);
  t.match(first?.apiKeys, { live: /^wv_live_/, test: /^wv_test_/ });
  t.match(first?.signInUrl, /^http:\/\/localhost:8080\/talk\/sign-in\?token=wvs_[\w-]{43}$/);
  for (const [mode, user] of Object.entries(first?.numbers ?? {})) {
    for (const sourceAddress of ['127.0.0.1', '127.9.9.9', '::1']) {
      t.match(await findInboundRoute(fresh.db, { sourceAddress, calledUser: user }), { kind: 'route', livemode: mode === 'live', accountId: first?.accountId, agent: { definition: { name: /Spoke/ } }, trunk: { name: 'local' } }, `${user} from ${sourceAddress}`);
    }
    t.match(await findInboundRoute(fresh.db, { sourceAddress: '192.168.1.2', calledUser: user }), { kind: 'unknown_source' });
  }
  const counts = async (): Promise<unknown> => fresh.db.query('SELECT (SELECT count(*) FROM account) AS accounts, (SELECT count(*) FROM api_key) AS keys, (SELECT count(*) FROM agent) AS agents, (SELECT count(*) FROM phone_number) AS numbers, (SELECT count(*) FROM sip_trunk) AS trunks');
  t.same(await counts(), [{ accounts: 1, keys: 2, agents: 2, numbers: 2, trunks: 2 }]);
  const second = await firstStart(context);
  t.match(second, { accountId: first?.accountId, apiKeys: undefined });
  t.not(second.signInUrl, first?.signInUrl, 'a fresh address at every start');
  t.same(await counts(), [{ accounts: 1, keys: 2, agents: 2, numbers: 2, trunks: 2 }]);
});

t.test('signing in', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const { signInUrl } = await firstStart(api.context);
  const path = new URL(signInUrl).pathname + new URL(signInUrl).search;
  const cookiesOf = (headers: Record<string, unknown>): string[] => [headers['set-cookie'] ?? []].flat() as string[];

  const answer = await api.call('GET', path, { key: null });
  t.match(answer, { status: 303, headers: { location: '/talk' } });
  const [session = '', csrf = ''] = cookiesOf(answer.headers);
  t.match(session, /^wirevoice_session=.*HttpOnly.*SameSite=Strict/);
  t.match(csrf, /^wirevoice_csrf=.*SameSite=Strict/);
  t.notMatch(csrf, /HttpOnly/, 'our page reads it');
  const again = await api.call('GET', path, { key: null });
  t.equal(again.status, 403, 'the address works once');
  t.same(cookiesOf(again.headers), []);
  t.equal((await api.call('GET', '/talk/sign-in?token=nonsense', { key: null })).status, 403);
  t.equal((await api.call('GET', '/talk/sign-in', { key: null })).status, 400);

  const cookie = `${session.split(';')[0]}; ${csrf.split(';')[0]}`;
  const token = csrf.split(';')[0]?.split('=')[1] ?? '';
  const agents = await api.call('GET', '/v1/agents', { key: null, headers: { cookie } });
  t.equal(agents.status, 200);
  const body = { agent_id: 'f'.repeat(24) };
  t.match(await api.call('POST', '/v1/realtime/sessions', { key: null, headers: { cookie }, body }), { status: 403, body: { error: { code: 'invalid_csrf_token' } } });
  t.match(await api.call('POST', '/v1/realtime/sessions', { key: null, headers: { cookie, 'x-csrf-token': 'x'.repeat(token.length) }, body }), { status: 403 });
  t.match(await api.call('POST', '/v1/realtime/sessions', { key: null, headers: { cookie, 'x-csrf-token': token }, body }), { status: 404, body: { error: { code: 'agent_not_found' } } }, 'let in');
  t.equal((await api.call('GET', '/v1/agents', { key: null, headers: { cookie: 'wirevoice_session=forged' } })).status, 401);
  api.clock.advance(12 * 3_600_000);
  t.equal((await api.call('GET', '/v1/agents', { key: null, headers: { cookie } })).status, 401, 'a session ends');

  const late = await firstStart(api.context);
  api.clock.advance(15 * 60_000);
  t.equal((await api.call('GET', new URL(late.signInUrl).pathname + new URL(late.signInUrl).search, { key: null })).status, 403, 'after 15 minutes the address is worth nothing');
});

t.test('no secret and no content reaches the log', async (t) => {
  const api = await startApiHarness({ allowPrivateAddresses: ['127.0.0.1:9'] });
  t.teardown(() => api.close());
  const canary = 'canary-4711';
  const { signInUrl } = await firstStart(api.context);
  await api.call('GET', new URL(signInUrl).pathname + new URL(signInUrl).search, { key: null });
  const key = (await api.call('POST', '/v1/api-keys', { body: { name: canary, scopes: ['agents:read'] } })).body;
  await api.call('GET', '/v1/agents', { key: key.secret });
  await api.call('GET', '/v1/agents', { key: 'wv_live_canary4711canary4711canary4711canary4711canary471' });
  const agent = (await api.call('POST', '/v1/agents', { body: { name: canary, system_prompt: canary, opening_message: canary, variables: { x: canary } } })).body;
  await api.call('POST', '/v1/agents', { body: { name: canary, system_prompt: canary, [canary]: canary } });
  await api.call('POST', '/v1/agents', { raw: `{"name":"${canary}` });
  const session = (await api.call('POST', '/v1/realtime/sessions', { body: { agent_id: agent.id, metadata: { x: canary } } })).body;
  const hook = (await api.call('PATCH', '/v1/webhook', { body: { url: `http://127.0.0.1:9/${canary}` } })).body;
  await api.call('POST', '/v1/webhook/test', { body: { event: 'inboundCall' } });
  await api.call('GET', `/v1/${canary}?${canary}=${canary}`);
  api.context.log.error({ authorization: canary, nested: { password: canary, deeper: { token: canary } } }, `used ${key.secret} and ${hook.secret}`);
  const lines = api.logged.join('');
  t.ok(api.logged.length > 8, 'there is a log');
  t.match(hook.secret, /^whsec_/);
  for (const secret of [canary, api.account.live, key.secret, session.client_secret.value, hook.secret, 'canary4711', new URL(signInUrl).searchParams.get('token') ?? '']) t.equal(lines.includes(secret), false, secret.slice(0, 12));
});
