import t from 'tap';
import { modeOfApiKey, newApiKeySecret } from '../../../src/api/secrets.ts';
import { startApiHarness } from '../../support/api-harness.ts';
import { until } from '../../support/until.ts';

t.test('secrets', (t) => {
  for (const livemode of [true, false]) {
    const secret = newApiKeySecret(livemode);
    t.match(secret, livemode ? /^wv_live_[0-9A-Za-z]{49}$/ : /^wv_test_[0-9A-Za-z]{49}$/);
    t.equal(modeOfApiKey(secret), livemode ? 'live' : 'test');
    const typo = secret.slice(0, 20) + (secret[20] === 'a' ? 'b' : 'a') + secret.slice(21);
    t.equal(modeOfApiKey(typo), undefined, 'a typing error is seen without the database');
  }
  t.end();
});

t.test('API keys', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const { account } = api;

  t.test('the secret is shown once and stored as a keyed hash', async (t) => {
    const made = await api.call('POST', '/v1/api-keys', { body: { name: 'CI', scopes: ['agents:read'] } });
    t.match(made, { status: 201, body: { object: 'api_key', mode: 'live', name: 'CI', scopes: ['agents:read'], service_version: '2026-09-01', last_used_at: null, revoked_at: null, rotated_from: null } });
    const { secret, id, prefix } = made.body;
    t.equal(prefix, secret.slice(0, 12));
    t.equal((await api.call('GET', '/v1/agents', { key: secret })).status, 200);
    t.equal((await api.call('POST', '/v1/agents', { key: secret, body: {} })).status, 403);
    const read = await api.call('GET', `/v1/api-keys/${id}`);
    t.equal(read.body.secret, undefined);
    t.match(read.body.last_used_at, /^2026-11-21T/);
    const stored = JSON.stringify(await api.context.db.query('SELECT encode(digest, $1) AS digest, api_key::text AS everything FROM api_key WHERE id = $2', ['hex', id]));
    t.notMatch(stored, secret);
    t.match((await api.call('GET', '/v1/api-keys')).body.data.map((key: { id: string }) => key.id).includes(id), true);
  });

  t.test('no key gives what it does not hold', async (t) => {
    const key = await api.newKey(account, ['api_keys:write', 'agents:read']);
    t.match(await api.call('POST', '/v1/api-keys', { key, body: { name: 'x', scopes: ['agents:read', 'agents:write'] } }), { status: 403, body: { error: { code: 'scope_escalation', type: 'permission_error' } } });
    t.equal((await api.call('POST', '/v1/api-keys', { key, body: { name: 'x', scopes: ['agents:read'] } })).status, 201);
    const strong = (await api.call('POST', '/v1/api-keys', { body: { name: 'strong', scopes: ['agents:write'] } })).body;
    t.match(await api.call('POST', `/v1/api-keys/${strong.id}/rotate`, { key }), { status: 403, body: { error: { code: 'scope_escalation' } } }, 'nor by rotation');
    t.match(await api.call('POST', '/v1/api-keys', { body: { name: 'x', scopes: ['admin'] } }), { status: 400, body: { error: { code: 'unknown_scope', param: 'scopes[0]' } } });
    t.match(await api.call('POST', '/v1/api-keys', { body: { name: 'x', scopes: ['agents:read'], mode: 'test' } }), { status: 403, body: { error: { code: 'key_mode_mismatch' } } });
    t.match(await api.call('POST', '/v1/api-keys', { body: { name: 'x', scopes: [] } }), { status: 400 });
  });

  t.test('rotation keeps the old key for 24 hours', async (t) => {
    const old = (await api.call('POST', '/v1/api-keys', { body: { name: 'old', scopes: ['agents:read'] } })).body;
    const fresh = await api.call('POST', `/v1/api-keys/${old.id}/rotate`);
    t.match(fresh, { status: 201, body: { name: 'old', scopes: ['agents:read'], rotated_from: old.id, secret: /^wv_live_/ } });
    t.match(await api.call('POST', `/v1/api-keys/${old.id}/rotate`), { status: 409, body: { error: { code: 'api_key_already_rotated' } } });
    api.clock.advance(24 * 3_600_000 - 1);
    t.equal((await api.call('GET', '/v1/agents', { key: old.secret })).status, 200);
    api.clock.advance(1);
    t.match(await api.call('GET', '/v1/agents', { key: old.secret }), { status: 401, body: { error: { code: 'expired_api_key' } } });
    t.equal((await api.call('GET', '/v1/agents', { key: fresh.body.secret })).status, 200);
  });

  t.test('a key that is revoked while it is being rotated leaves no other behind', async (t) => {
    const { id } = (await api.call('POST', '/v1/api-keys', { body: { name: 'x', scopes: ['agents:read'] } })).body;
    let rotation: ReturnType<typeof api.call> | undefined;
    await api.context.db.transaction(async (transaction) => {
      await transaction.query('UPDATE api_key SET revoked_at = now() WHERE id = $1', [id]);
      rotation = api.call('POST', `/v1/api-keys/${id}/rotate`);
      await until('the rotation waits', 5000, async () => (await api.context.db.query('SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1')).length > 0);
    });
    t.match(await rotation, { status: 409, body: { error: { code: 'api_key_revoked' } } });
  });

  t.test('revocation is immediate; other accounts and modes see nothing', async (t) => {
    const made = (await api.call('POST', '/v1/api-keys', { body: { name: 'x', scopes: ['agents:read'] } })).body;
    const stranger = await api.newAccount();
    for (const [method, path] of [['GET', ''], ['DELETE', ''], ['POST', '/rotate']] as const) {
      t.match(await api.call(method, `/v1/api-keys/${made.id}${path}`, { key: stranger.live }), { status: 404, body: { error: { code: 'api_key_not_found' } } });
      t.match(await api.call(method, `/v1/api-keys/${made.id}${path}`, { key: account.test }), { status: 403, body: { error: { code: 'key_mode_mismatch' } } });
    }
    t.match(await api.call('DELETE', `/v1/api-keys/${made.id}`), { status: 200, body: { id: made.id, object: 'api_key', deleted: true } });
    t.match(await api.call('GET', '/v1/agents', { key: made.secret }), { status: 401, body: { error: { code: 'revoked_api_key' } } });
    t.match(await api.call('POST', `/v1/api-keys/${made.id}/rotate`), { status: 409 });
  });
});
