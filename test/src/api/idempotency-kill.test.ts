import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import t from 'tap';
import { startApiHarness } from '../../support/api-harness.ts';
import { createTestDatabase } from '../../support/test-database.ts';

const KILLS = 6;
const KEYS = 80;
const TRIES_AT_ONCE = 3;
const GIVE_UP_MS = 45_000;

interface ApiProcess { child: ChildProcess; url: string }

/** Whatever a killed process had begun, each key ends with one call, one event's worth of it, and the same answer for everybody who asks. */
t.test('a service that is killed again and again makes each thing once', { timeout: 120_000 }, async (t) => {
  const database = await createTestDatabase();
  const masterKey = randomBytes(32);
  const api = await startApiHarness({ store: { db: database.db, masterKey } });
  const services: ApiProcess[] = [];
  t.teardown(async () => {
    for (const { child } of services) child.kill('SIGKILL');
    await api.close();
    await database.close();
  });
  const start = async (): Promise<ApiProcess> => {
    const child = fork(new URL('../../support/api-process.ts', import.meta.url), [database.socketDir, database.name, masterKey.toString('hex')], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    const [port] = (await once(child, 'message')) as [number];
    return { child, url: `http://127.0.0.1:${port}` };
  };
  services.push(await start(), await start());
  const agent = await api.call('POST', '/v1/agents', { key: api.account.test, body: { name: 'A', system_prompt: 'P', opening_message: 'O' } });

  let done = false;
  const deadline = Date.now() + GIVE_UP_MS;
  const killing = (async () => {
    for (let n = 0; n < KILLS && !done; n++) {
      await new Promise((wake) => setTimeout(wake, 100 + Math.random() * 300));
      const index = n % services.length;
      services[index]?.child.kill('SIGKILL');
      services[index] = await start();
    }
  })();

  const ids = new Map<string, Set<string>>();
  const bad: unknown[] = [];
  const place = async (n: number): Promise<void> => {
    const key = `key ${n}`;
    const body = JSON.stringify({ to: '+15005550001', agent_id: agent.body.id, metadata: { n: String(n) } });
    while (Date.now() < deadline) {
      const service = services[Math.floor(Math.random() * services.length)];
      const answer = await fetch(`${service?.url}/v1/calls`, {
        method: 'POST', body, headers: { authorization: `Bearer ${api.account.test}`, 'content-type': 'application/json', 'idempotency-key': key }, signal: AbortSignal.timeout(5000),
      }).then(async (response) => ({ status: response.status, body: await response.json() as { id?: string; error?: { code: string } } }), () => undefined);
      if (answer?.status === 201) {
        ids.set(key, (ids.get(key) ?? new Set()).add(answer.body.id ?? ''));
        return;
      }
      if (answer && answer.body.error?.code !== 'idempotency_in_progress' && answer.status !== 503) bad.push(answer);
      await new Promise((wake) => setTimeout(wake, 20 + Math.random() * 60));
    }
    bad.push(`${key}: no answer`);
  };
  const waiting = Array.from({ length: KEYS * TRIES_AT_ONCE }, (_, n) => n % KEYS);
  await Promise.all(Array.from({ length: 12 }, async () => {
    for (let n = waiting.pop(); n !== undefined; n = waiting.pop()) await place(n);
  }));
  await killing;
  done = true;

  t.same(bad, []);
  t.equal(ids.size, KEYS);
  t.ok([...ids.values()].every((set) => set.size === 1), 'one id for each key');
  const calls = await database.db.query<{ n: string; calls: number }>("SELECT metadata->>'n' AS n, count(*)::integer AS calls FROM call GROUP BY 1");
  t.equal(calls.length, KEYS);
  t.ok(calls.every((row) => row.calls === 1), 'no call was placed twice');
});
