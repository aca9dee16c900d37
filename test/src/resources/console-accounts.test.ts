import t from 'tap';
import { isPassword, hashPassword } from '../../../src/resources/accounts/passwords.ts';
import { createSignInToken } from '../../../src/resources/accounts/actions.ts';
import { startApiHarness, type Answer, type ApiHarness } from '../../support/api-harness.ts';

const PASSWORD = 'correct horse battery';
const PERSON = { email: 'Ada@example.com', password: PASSWORD };

interface Browser { call(method: 'GET' | 'POST' | 'PATCH', url: string, body?: unknown, csrf?: boolean): Promise<Answer>; cookies: Map<string, string> }

/** Keeps cookies and sends the CSRF token, as our page does. */
function browser(api: ApiHarness): Browser {
  const cookies = new Map<string, string>();
  return {
    cookies,
    async call(method, url, body, csrf = true) {
      const answer = await api.call(method, url, {
        key: null, ...(body === undefined ? {} : { body }),
        headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '), ...(csrf ? { 'x-csrf-token': cookies.get('wirevoice_csrf') ?? '' } : {}) },
      });
      for (const set of [answer.headers['set-cookie'] ?? []].flat()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(String(set)) ?? [];
        cookies.set(name, value);
      }
      return answer;
    },
  };
}

async function atTheMachine(api: ApiHarness): Promise<Browser> {
  const person = browser(api);
  const token = await createSignInToken(api.context.db, api.context.keyring, api.account.id, api.clock.now());
  t.equal((await person.call('GET', `/talk/sign-in?token=${token}`)).status, 303);
  return person;
}

t.test('passwords', async (t) => {
  const stored = await hashPassword('pässword of twelve');
  t.match(stored, /^scrypt\$32768\$8\$1\$/);
  t.not(stored, await hashPassword('pässword of twelve'), 'salted');
  t.equal(await isPassword('pässword of twelve', stored), true);
  t.equal(await isPassword('pässword of twelve'.normalize('NFD'), stored), true, 'however it is composed');
  t.equal(await isPassword('password of twelve', stored), false);
  t.equal(await isPassword('anything', undefined), false);
});

t.test('set-up, signing in and out', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const operator = await atTheMachine(api);
  t.match((await operator.call('GET', '/console/api/session')).body, { object: 'console_session', account: { id: api.account.id }, person: null, operator: true, setup_done: false });
  t.match(await operator.call('POST', '/console/api/setup', PERSON, false), { status: 403, body: { error: { code: 'invalid_csrf_token' } } });
  for (const [body, param] of [[{ ...PERSON, password: 'x'.repeat(11) }, 'password'], [{ ...PERSON, password: 'x'.repeat(257) }, 'password'], [{ ...PERSON, email: 'nobody' }, 'email'], [{ ...PERSON, role: 1 }, 'role']] as const) {
    t.match(await operator.call('POST', '/console/api/setup', body), { status: 400, body: { error: { param } } }, param);
  }
  t.match(await operator.call('POST', '/console/api/setup', { ...PERSON, name: 'Ada', account_name: 'Lovelace Ltd' }), { status: 201, body: { person: { email: PERSON.email, name: 'Ada', operator: true }, account: { name: 'Lovelace Ltd' }, setup_done: true } });
  t.match(await operator.call('POST', '/console/api/setup', { ...PERSON, email: 'eve@example.com' }), { status: 409, body: { error: { code: 'setup_done' } } });

  const ada = browser(api);
  const wrong = { status: 401, body: { error: { type: 'authentication_error', code: 'invalid_credentials' } } };
  t.match(await ada.call('POST', '/console/api/sign-in', { ...PERSON, password: 'wrong' }), wrong);
  t.match(await ada.call('POST', '/console/api/sign-in', { email: 'eve@example.com', password: PASSWORD }), wrong, 'nobody learns which was wrong');
  const signedIn = await ada.call('POST', '/console/api/sign-in', { email: 'ada@EXAMPLE.com', password: PASSWORD });
  t.match(signedIn, { status: 200, body: { person: { email: PERSON.email } } });
  t.match(String(signedIn.headers['set-cookie']), /wirevoice_session=[^;]+;[^,]*HttpOnly[^,]*SameSite=Strict/i);
  t.match(await ada.call('GET', '/v1/agents'), { status: 200 }, 'the same routes as any key');
  t.match(await ada.call('POST', '/v1/agents', { name: 'A', system_prompt: 'P', opening_message: 'O' }), { status: 201, body: { livemode: true } });

  const elsewhere = browser(api);
  await elsewhere.call('POST', '/console/api/sign-in', PERSON);
  t.match(await ada.call('POST', '/console/api/password', { current_password: 'wrong', new_password: 'another fine one' }), { status: 401, body: { error: { param: 'current_password' } } });
  t.match(await ada.call('POST', '/console/api/password', { current_password: PASSWORD, new_password: 'another fine one' }), { status: 200 });
  t.equal((await ada.call('GET', '/console/api/session')).status, 200);
  t.equal((await elsewhere.call('GET', '/console/api/session')).status, 401, 'every other session has ended');
  t.match(await elsewhere.call('POST', '/console/api/sign-in', PERSON), wrong);
  t.match(await operator.call('POST', '/console/api/password', { current_password: 'x', new_password: 'another fine one' }), { status: 400 });

  t.equal((await ada.call('POST', '/console/api/sign-out')).status, 200);
  t.equal((await ada.call('GET', '/v1/agents')).status, 401);
  const text = api.logged.join('') + JSON.stringify(await api.context.db.query('SELECT person::text AS text FROM person'));
  t.notMatch(text, PASSWORD);
});

t.test('guesses are few', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const operator = await atTheMachine(api);
  await operator.call('POST', '/console/api/setup', PERSON);
  const eve = browser(api);
  for (let n = 0; n < 10; n++) t.equal((await eve.call('POST', '/console/api/sign-in', { ...PERSON, password: `guess ${n}` })).status, 401);
  const refused = await eve.call('POST', '/console/api/sign-in', PERSON);
  t.match(refused, { status: 429, body: { error: { code: 'rate_limited' } }, headers: { 'retry-after': '90' } });
  api.clock.advance(90_000);
  t.equal((await eve.call('POST', '/console/api/sign-in', PERSON)).status, 200);

  const change = (n: number): Promise<Answer> => eve.call('POST', '/console/api/password', { current_password: `guess ${n}`, new_password: 'a new one of eves' });
  for (let n = 0; n < 10; n++) t.match(await change(n), { status: 401, body: { error: { code: 'invalid_credentials' } } });
  t.match(await change(10), { status: 429, body: { error: { code: 'rate_limited' } } }, 'nor can who found a session try passwords');
});

t.test('an address that is refused locks nobody else out', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  await (await atTheMachine(api)).call('POST', '/console/api/setup', PERSON);
  const signIn = async (remoteAddress: string, email: string, password: string): Promise<number> =>
    (await api.app.inject({ method: 'POST', url: '/console/api/sign-in', remoteAddress, payload: { email, password } })).statusCode;
  for (let n = 0; n < 10; n++) t.equal(await signIn(`2001:db8::${n}`, `nobody${n}@example.com`, 'x'), 401);
  for (let n = 0; n < 10; n++) t.equal(await signIn(`2001:db8::1:${n}`, PERSON.email, 'x'), 429, 'the same network');
  t.equal(await signIn('2001:db8:1::1', PERSON.email, PASSWORD), 200);
});

t.test('accounts', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const operator = await atTheMachine(api);
  const body = { name: 'Customer', email: 'bob@example.com', password: PASSWORD, person_name: 'Bob' };
  const made = await operator.call('POST', '/console/api/accounts', body);
  t.match(made, { status: 201, body: { object: 'account', name: 'Customer', keys: { live: /^wv_live_/, test: /^wv_test_/ } } });
  t.match(await operator.call('POST', '/console/api/accounts', { ...body, email: 'BOB@example.com' }), { status: 409, body: { error: { code: 'account_exists', param: 'email' } } });
  const { id, keys } = made.body;
  t.match(await api.call('POST', '/v1/agents', { key: keys.live, body: { name: 'A', system_prompt: 'P', opening_message: 'O' } }), { status: 201 }, 'its first key has every scope');
  t.equal((await api.call('GET', '/v1/agents')).body.data.length, 0, 'and reaches nobody else\'s');

  t.match((await operator.call('GET', '/console/api/accounts?limit=1')).body, { object: 'list', data: [{ id, name: 'Customer' }], has_more: true });
  t.match(await operator.call('GET', `/console/api/accounts/${id}`), { status: 200, body: { id } });
  t.match(await operator.call('GET', `/console/api/accounts/${'f'.repeat(24)}`), { status: 404, body: { error: { code: 'account_not_found' } } });
  t.match(await operator.call('PATCH', `/console/api/accounts/${id}`, { name: 'Renamed', allowed_origins: ['https://app.example.com'] }), { status: 200, body: { name: 'Renamed', allowed_origins: ['https://app.example.com'] } });
  t.match(await operator.call('PATCH', `/console/api/accounts/${id}`, { allowed_origins: ['https://app.example.com/path'] }), { status: 400, body: { error: { param: 'allowed_origins[0]' } } });
  t.match(await operator.call('POST', `/console/api/accounts/${id}/keys`, { mode: 'test' }), { status: 201, body: { secret: /^wv_test_/ } });

  const bob = browser(api);
  t.match((await bob.call('POST', '/console/api/sign-in', { email: body.email, password: PASSWORD })).body, { account: { id }, operator: false });
  t.match(await bob.call('PATCH', '/console/api/account', { name: 'Bob & Sons' }), { status: 200, body: { id, name: 'Bob & Sons', allowed_origins: ['https://app.example.com'] } });
  for (const [method, url] of [['GET', '/console/api/accounts'], ['POST', '/console/api/accounts'], ['GET', `/console/api/accounts/${api.account.id}`], ['PATCH', `/console/api/accounts/${api.account.id}`], ['POST', `/console/api/accounts/${id}/keys`], ['POST', '/console/api/setup'], ['POST', '/console/api/credits'], ['GET', '/console/api/prices']] as const) {
    t.match(await bob.call(method, url), { status: 403, body: { error: { code: 'operator_only' } } }, `${method} ${url}`);
  }
});

t.test('no API key reaches any of it', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const routes = api.app.knownRoutes.all().filter(({ url, method }) => url.startsWith('/console/api/') && method !== 'HEAD' && url !== '/console/api/sign-in');
  t.ok(routes.length >= 10);
  for (const { method, url } of routes) {
    const path = url.replace(':id', 'f'.repeat(24));
    t.match(await api.call(method as 'GET', path), { status: 404, body: { error: { code: 'route_not_found' } } }, `${method} ${url}`);
    t.match(await api.call(method as 'GET', path, { key: null }), { status: 401 }, `${method} ${url} without a session`);
  }
});
