import t from 'tap';
import { keepOnlySoLong, monthsAgo } from '../../../src/jobs/retention.ts';
import { RETENTIONS } from '../../../src/retention.ts';
import { newId } from '../../../src/db/id.ts';
import { startApiHarness } from '../../support/api-harness.ts';

t.test('three months ago', (t) => {
  t.equal(monthsAgo(3)(new Date('2026-11-21T12:00:00.000Z')).toISOString(), '2026-08-21T12:00:00.000Z');
  t.equal(monthsAgo(3)(new Date('2027-02-01T00:00:00.000Z')).toISOString(), '2026-11-01T00:00:00.000Z');
  t.end();
});

t.test('what is past its time goes, hour by hour', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const { db, jobs, clock } = api.context;
  const agent = { name: 'A', system_prompt: 'P', opening_message: 'O' };
  await keepOnlySoLong(api.context, RETENTIONS);
  await keepOnlySoLong(api.context, RETENTIONS);
  const count = async (table: string): Promise<number> => (await db.query<{ n: number }>(`SELECT count(*)::integer AS n FROM ${table}`))[0]?.n ?? 0;
  t.equal(await count('job'), 1, 'one job, however many processes start');

  // More than one batch of records, half a day past three months, and one that is younger.
  const old = new Date(Date.parse('2026-08-21T00:00:00.000Z'));
  await db.query(
    `INSERT INTO webhook_delivery (id, account_id, livemode, event, url, attempt, status, duration_ms, will_retry, occurred_at)
     SELECT lpad(to_hex(n), 24, '0'), $1, true, 'leadCreated', 'https://example.com/', 1, 'failed', 1, false, $2 FROM generate_series(1, 2500) AS n`, [api.account.id, old]);
  await db.query(
    `INSERT INTO webhook_delivery (id, account_id, livemode, event, url, attempt, status, duration_ms, will_retry, occurred_at)
     VALUES ($1, $2, true, 'leadCreated', 'https://example.com/', 1, 'failed', 1, false, $3)`, [newId(), api.account.id, new Date(clock.now() - 1000)]);
  t.equal((await api.call('GET', '/v1/webhook/deliveries')).body.data.length, 1, 'not shown, though not yet deleted');
  await api.call('POST', '/v1/agents', { body: agent, headers: { 'Idempotency-Key': 'k' } });
  await db.query("INSERT INTO console_session (digest, account_id, created_at, expires_at) VALUES ('x', $1, $2, $2)", [api.account.id, new Date(clock.now() - 1)]);

  await jobs.runDue();
  t.equal(await count('webhook_delivery'), 1);
  t.equal(await count('idempotency'), 1);
  t.equal(await count('console_session'), 0);
  t.match(api.logged.join(''), /"what":"webhook deliveries","rows":2500/);

  api.clock.advance(24 * 3_600_000 + 1);
  await jobs.runDue();
  t.equal(await count('idempotency'), 0);
  t.equal(await count('job'), 1, 'and it waits for its next hour');
});
