import t from 'tap';
import { Jobs, type JobHandler } from '../../../src/jobs/jobs.ts';
import { TestClock } from '../../support/test-clock.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import { until } from '../../support/until.ts';

const log = { warn: () => undefined, error: () => undefined };
const database = await createTestDatabase();
const { db } = database;
t.teardown(() => database.close());
t.afterEach(() => db.query('DELETE FROM job'));

const waiting = (): Promise<{ kind: string; attempts: number; run_at: Date; failed_at: Date | null; last_error: string | null }[]> => db.query('SELECT kind, attempts, run_at, failed_at, last_error FROM job ORDER BY id');

function rig(handler: JobHandler): { jobs: Jobs; clock: TestClock } {
  const clock = new TestClock();
  const jobs = new Jobs({ db, clock, log });
  jobs.handle('work', handler);
  return { jobs, clock };
}

t.test('done once, and gone', async (t) => {
  const done: unknown[] = [];
  const { jobs } = rig(async (payload) => { done.push(payload); });
  await jobs.enqueue(db, { kind: 'work', payload: { n: 1 } });
  await jobs.enqueue(db, { kind: 'another', payload: {} });
  await jobs.runDue();
  t.same(done, [{ n: 1 }]);
  t.match(await waiting(), [{ kind: 'another', attempts: 0 }], 'what nobody here can do stays');
});

t.test('with the change that asked for it, or not at all', async (t) => {
  const done: unknown[] = [];
  const { jobs } = rig(async (payload) => { done.push(payload); });
  await t.rejects(db.transaction(async (transaction) => {
    await jobs.enqueue(transaction, { kind: 'work', payload: {} });
    throw new Error('rolled back');
  }));
  await jobs.runDue();
  t.same(done, []);
});

t.test('not before its time', async (t) => {
  let runs = 0;
  const { jobs, clock } = rig(async () => { runs++; });
  await jobs.enqueue(db, { kind: 'work', payload: {}, runAt: new Date(clock.now() + 1000) });
  clock.advance(999);
  await jobs.runDue();
  t.equal(runs, 0);
  clock.advance(1);
  await jobs.runDue();
  t.equal(runs, 1);
});

t.test('a name waits once, can be cancelled, and is free again when done', async (t) => {
  let runs = 0;
  const { jobs } = rig(async () => { runs++; });
  for (let n = 0; n < 3; n++) await jobs.enqueue(db, { kind: 'work', name: 'one', payload: {} });
  await jobs.runDue();
  t.equal(runs, 1);
  await jobs.enqueue(db, { kind: 'work', name: 'one', payload: {} });
  await jobs.cancel(db, 'work', 'one');
  await jobs.runDue();
  t.equal(runs, 1);
  await jobs.enqueue(db, { kind: 'work', name: 'one', payload: {} });
  await jobs.runDue();
  t.equal(runs, 2);
});

t.test('failures are tried again, later each time, then kept', async (t) => {
  let runs = 0;
  const { jobs, clock } = rig(async () => {
    runs++;
    throw new Error(`fault ${runs}`);
  });
  await jobs.enqueue(db, { kind: 'work', payload: {} });
  for (const waitMs of [5000, 30_000, 120_000, 600_000, 3_600_000]) {
    const before = runs;
    await jobs.runDue();
    t.equal(runs, before + 1);
    clock.advance(waitMs - 1);
    await jobs.runDue();
    t.equal(runs, before + 1, `nothing within ${waitMs} ms`);
    clock.advance(1);
  }
  await jobs.runDue();
  t.match(await waiting(), [{ attempts: 6, last_error: 'Error: fault 6', failed_at: Date }]);
  clock.advance(24 * 3_600_000);
  await jobs.runDue();
  t.equal(runs, 6);
});

t.test('a job can ask for another turn', async (t) => {
  const clock = new TestClock();
  let runs = 0;
  const jobs = new Jobs({ db, clock, log });
  jobs.handle('work', async () => {
    runs++;
    return new Date(clock.now() + 3_600_000);
  });
  await jobs.enqueue(db, { kind: 'work', name: 'hourly', payload: {} });
  await jobs.runDue();
  await jobs.enqueue(db, { kind: 'work', name: 'hourly', payload: {} });
  await jobs.runDue();
  t.equal(runs, 1);
  clock.advance(3_600_000);
  await jobs.runDue();
  t.equal(runs, 2);
});

t.test('several processes share, none does what another has', async (t) => {
  const done: number[] = [];
  const rigs = Array.from({ length: 4 }, () => rig(async ({ n }) => { done.push(Number(n)); }));
  for (let n = 0; n < 100; n++) await rigs[0]?.jobs.enqueue(db, { kind: 'work', payload: { n } });
  await Promise.all(rigs.map(({ jobs }) => jobs.runDue()));
  t.same(done.sort((a, b) => a - b), Array.from({ length: 100 }, (_, n) => n));
});

t.test('a process that died holds a job no longer than its lease, and cannot settle it afterwards', async (t) => {
  const gate = Promise.withResolvers<void>();
  let runs = 0;
  const { jobs, clock } = rig(async () => {
    runs++;
    if (runs === 1) await gate.promise;
  });
  await jobs.enqueue(db, { kind: 'work', payload: {} });
  const first = jobs.runDue();
  await until('the first run', 5000, () => (runs === 1 ? true : undefined));
  const other = new Jobs({ db, clock, log });
  other.handle('work', async () => {
    runs++;
    throw new Error('later');
  });
  await other.runDue();
  t.equal(runs, 1);
  clock.advance(60_001);
  await other.runDue();
  t.equal(runs, 2);
  gate.resolve();
  await first;
  t.match(await waiting(), [{ attempts: 2 }], 'the overtaken run did not delete what another is responsible for');
});

t.test('a started one wakes when work comes, and at its time', async (t) => {
  const done: unknown[] = [];
  const { jobs, clock } = rig(async (payload) => { done.push(payload['n']); });
  jobs.start();
  t.teardown(() => jobs.close());
  await jobs.enqueue(db, { kind: 'work', payload: { n: 1 } });
  await until('the first', 5000, () => (done.length === 1 ? true : undefined));
  await jobs.enqueue(db, { kind: 'work', payload: { n: 2 }, runAt: new Date(clock.now() + 500) });
  await until('the second', 5000, () => {
    clock.advance(100);
    return done.length === 2 ? true : undefined;
  });
  t.same(done, [1, 2]);
});
