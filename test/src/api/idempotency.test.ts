import t from 'tap';
import { ApiError } from '../../../src/api/errors.ts';
import { noteEffect, withEffects } from '../../../src/api/idempotency.ts';
import { buildApp } from '../../../src/app.ts';
import { startApiHarness, type Answer, type ApiHarness } from '../../support/api-harness.ts';
import { AGENT } from '../../support/examples/agents.ts';

const HOUR_MS = 3_600_000;
const withKey = (key: string) => ({ 'Idempotency-Key': key });

async function agentCount(api: ApiHarness): Promise<number> {
  const [row] = await api.context.db.query<{ n: number }>('SELECT count(*)::integer AS n FROM agent');
  return row?.n ?? 0;
}

t.test('idempotency keys', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const create = (key: string, body: object = AGENT, account = api.account.live): Promise<Answer> => api.call('POST', '/v1/agents', { key: account, body, headers: withKey(key) });

  t.test('the first answer is replayed', async (t) => {
    const first = await create('a key, with spaces ~');
    t.match(first, { status: 201, headers: { 'idempotent-replayed': undefined } });
    await api.call('PATCH', `/v1/agents/${first.body.id}`, { body: { name: 'Renamed' } });
    const again = await create('a key, with spaces ~');
    t.match(again, { status: 201, headers: { 'idempotent-replayed': 'true', 'content-type': /json/ } });
    t.same(again.body, first.body, 'as it was then');
    t.equal(await agentCount(api), 1);
  });

  t.test('another body, another account, another mode, another route', async (t) => {
    const first = await create('shared');
    t.match(await create('shared', { ...AGENT, name: 'B' }), { status: 409, body: { error: { type: 'conflict_error', code: 'idempotency_key_reused' } } });
    for (const key of [(await api.newAccount()).live, api.account.test]) {
      const other = await create('shared', AGENT, key);
      t.match(other, { status: 201, headers: { 'idempotent-replayed': undefined } });
      t.not(other.body.id, first.body.id);
    }
    t.match(await api.call('POST', '/v1/phone-numbers', { body: { phone_number: '+14155550123' }, headers: withKey('shared') }), { status: 201 });
  });

  t.test('what had no effect leaves the key free', async (t) => {
    t.match(await create('free', { name: 'A' }), { status: 400 });
    t.match(await create('free', { ...AGENT, voice: { stt: { model: 'no/such' } } }), { status: 400 });
    t.match(await create('free', { ...AGENT, outbound_phone_number_id: 'f'.repeat(24) }), { status: 404 });
    t.match(await create('free', AGENT, await api.newKey(api.account, ['agents:read'])), { status: 403 });
    t.match(await create('free'), { status: 201, headers: { 'idempotent-replayed': undefined } });
  });

  t.test('keys have limits', async (t) => {
    t.match(await create('x'.repeat(255)), { status: 201 });
    for (const key of ['x'.repeat(256), '', 'ümlaut', 'tab\there']) {
      t.match(await create(key), { status: 400, body: { error: { code: 'invalid_parameter', param: 'Idempotency-Key' } } }, JSON.stringify(key.slice(0, 10)));
    }
    t.match(await api.call('GET', '/v1/agents', { headers: withKey('x'.repeat(300)) }), { status: 200 }, 'ignored where nothing is made');
  });

  t.test('kept 24 hours', async (t) => {
    const first = await create('a day');
    api.clock.advance(24 * HOUR_MS - 1);
    t.same((await create('a day')).body, first.body);
    api.clock.advance(2);
    const later = await create('a day');
    t.match(later, { status: 201, headers: { 'idempotent-replayed': undefined } });
    t.not(later.body.id, first.body.id);
  });

  t.test('of many at once, one runs', async (t) => {
    const before = await agentCount(api);
    const answers = await Promise.all(Array.from({ length: 20 }, () => create('at once')));
    t.equal(await agentCount(api), before + 1);
    const ids = new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id));
    t.equal(ids.size, 1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      t.match(answer, { status: 409, headers: { 'retry-after': '1' }, body: { error: { code: 'idempotency_in_progress' } } });
    }
    t.same((await create('at once')).body.id, [...ids][0]);
  });

  t.test('secrets are shown once', async (t) => {
    const make = (): Promise<Answer> => api.call('POST', '/v1/api-keys', { body: { name: 'K', scopes: ['agents:read'] }, headers: withKey('secret') });
    const first = await make();
    t.match(first.body.secret, /^wv_live_/);
    const again = await make();
    t.match(again, { status: 201, body: { id: first.body.id, secret: null, secret_already_shown: true } });
    const [row] = await api.context.db.query<{ answer: string }>("SELECT answer FROM idempotency WHERE key = 'secret'");
    t.notMatch(row?.answer, first.body.secret);
    const rotated = await api.call('POST', `/v1/api-keys/${first.body.id}/rotate`, { headers: withKey('rotate') });
    t.match(await api.call('POST', `/v1/api-keys/${first.body.id}/rotate`, { headers: withKey('rotate') }), { status: 201, body: { id: rotated.body.id, secret: null } }, 'not refused as rotated before');

    const body = { name: 'L', phone_number: '+14155550188', fields: { secret: 'a birthday party', resume_token: { client_secret: 'theirs' } } };
    const lead = await api.call('POST', '/v1/leads', { body, headers: withKey('a lead') });
    t.match(lead, { status: 201, body: { fields: body.fields } });
    t.same((await api.call('POST', '/v1/leads', { body, headers: withKey('a lead') })).body, lead.body, 'what an account itself calls a secret is its own');
  });
});

t.test('a crash between effect and answer', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const create = (key: string): Promise<Answer> => api.call('POST', '/v1/agents', { body: AGENT, headers: withKey(key) });
  const forgetAnswer = (key: string): Promise<unknown> => api.context.db.query('UPDATE idempotency SET status = NULL, answer = NULL WHERE key = $1', [key]);

  const first = await create('crash');
  await forgetAnswer('crash');
  t.match(await create('crash'), { status: 409, body: { error: { code: 'idempotency_in_progress' } } }, 'the process that ran it may still live');
  api.clock.advance(121_000);
  const found = await create('crash');
  t.match(found, { status: 201, headers: { 'idempotent-replayed': 'true' }, body: { id: first.body.id, object: 'agent' } }, 'the effect is found');
  t.equal(await agentCount(api), 1);

  const deleted = await create('deleted');
  await forgetAnswer('deleted');
  await api.call('DELETE', `/v1/agents/${deleted.body.id}`);
  api.clock.advance(121_000);
  t.match(await create('deleted'), { status: 404, body: { error: { code: 'agent_not_found' } } });

  // A run that died before its effect goes on with the id it had.
  await create('before');
  const [row] = await api.context.db.query<{ resource_id: string }>("UPDATE idempotency SET status = NULL, answer = NULL, effect_at = NULL, resource_id = repeat('a', 24) WHERE key = 'before' RETURNING resource_id");
  api.clock.advance(121_000);
  t.match(await create('before'), { status: 201, headers: { 'idempotent-replayed': undefined }, body: { id: row?.resource_id } });
});

t.test('a run that was taken over changes nothing more', async (t) => {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  let runs = 0;
  const api = await startApiHarness({
    extensions: [(app) => {
      app.post('/v1/slow', { config: { scope: 'any_key', recall: async () => ({ recalled: true }) } }, async (_request, reply) => {
        const run = ++runs;
        if (run === 1) {
          reached.resolve();
          await gate.promise;
        }
        await withEffects(api.context.db).transaction((transaction) => transaction.query("INSERT INTO job (id, kind, payload, run_at, created_at) VALUES ($1, 'slow', '{}', now(), now())", [String(run).repeat(24)]));
        return reply.code(201).send({ run });
      });
      app.post('/v1/outside', { config: { scope: 'any_key', recall: async () => ({ recalled: true }) } }, async () => {
        await noteEffect(api.context.db);
        throw new ApiError('provider_error');
      });
    }],
  });
  t.teardown(() => api.close());
  const slow = (): Promise<Answer> => api.call('POST', '/v1/slow', { body: {}, headers: withKey('slow') });
  const first = slow();
  await reached.promise;
  api.clock.advance(121_000);
  const second = await slow();
  t.match(second, { status: 201, body: { run: 2 } });
  gate.resolve();
  t.match(await first, { status: 409, body: { error: { code: 'idempotency_in_progress' } } }, 'its transaction is rolled back');
  const [row] = await api.context.db.query<{ n: number }>("SELECT count(*)::integer AS n FROM job WHERE kind = 'slow'");
  t.equal(row?.n, 1);
  t.match(await slow(), { status: 201, body: { run: 2 }, headers: { 'idempotent-replayed': 'true' } });

  const outside = (): Promise<Answer> => api.call('POST', '/v1/outside', { body: {}, headers: withKey('outside') });
  t.match(await outside(), { status: 502 });
  t.match(await outside(), { status: 200, body: { recalled: true } }, 'an effect outside the database is not had twice, whatever the first answer was');
});

t.test('a POST that does not say how its effect is found stops the start', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  await t.rejects(buildApp(api.context, [(app) => { app.post('/v1/forgotten', { config: { scope: 'any_key' } }, async () => ({})); }]), /POST \/v1\/forgotten does not say how a retry finds its effect/);
});
