import t from 'tap';
import { openDatabase } from '../../../src/db/database.ts';
import { newId } from '../../../src/db/id.ts';
import { migrate, readMigrations } from '../../../src/db/migrate.ts';
import { createTestDatabase, quietLog } from '../../support/test-database.ts';

t.test('database', async (t) => {
  const { db, socketDir, name, close } = await createTestDatabase();
  t.teardown(close);
  await db.query('CREATE TABLE thing (n bigint, at timestamptz(3))');

  t.test('times, as every session writes them', async (t) => {
    const read = async (text: string, zone = 'UTC'): Promise<unknown> => db.transaction(async (transaction) => {
      await transaction.query(`SET LOCAL timezone = '${zone}'`);
      return (await transaction.query<{ at: unknown }>('SELECT $1::timestamptz AS at', [text]))[0]?.at;
    });
    for (const text of ['2026-11-21T04:05:06Z', '2026-11-21T04:05:06.7Z', '2026-11-21T04:05:06.789Z', '1970-01-01T00:00:00.001Z', '0044-03-15T12:00:00Z', '9999-12-31T23:59:59.999Z']) {
      for (const zone of ['UTC', 'Asia/Kathmandu', 'America/New_York', 'Europe/London']) t.same(await read(text, zone), new Date(text), `${text} in ${zone}`);
    }
    t.equal(await read('infinity'), Infinity);
    t.equal((await read('0044-03-15 12:00:00+00 BC') as Date).getUTCFullYear(), -43);
  });

  t.test('bigint is a number or an error, timestamptz a Date', async (t) => {
    const at = new Date('2026-11-21T04:05:06.789Z');
    await db.query('INSERT INTO thing VALUES ($1, $2)', [Number.MAX_SAFE_INTEGER, at]);
    t.same(await db.query('SELECT n, at FROM thing'), [{ n: Number.MAX_SAFE_INTEGER, at }]);
    await t.rejects(db.query('SELECT 9007199254740993::bigint AS n'), /more than a number can/);
    await db.query('DELETE FROM thing');
  });

  t.test('a transaction is all or nothing, and its effects come after the commit', async (t) => {
    const effects: string[] = [];
    await t.rejects(db.transaction(async (transaction) => {
      await transaction.query('INSERT INTO thing VALUES (1, now())');
      transaction.afterCommit(() => effects.push('never'));
      throw new Error('no');
    }), /no/);
    t.same(await db.query('SELECT 1 FROM thing'), []);
    await db.transaction(async (transaction) => {
      await transaction.query('INSERT INTO thing VALUES (2, now())');
      transaction.afterCommit(() => effects.push('once'));
      t.same(effects, []);
    });
    t.same(effects, ['once']);
  });

  t.test('connections that the server ends are replaced without the caller noticing', async (t) => {
    await Promise.all(Array.from({ length: 8 }, () => db.query('SELECT pg_sleep(0.02)')));
    const other = openDatabase({ connection: { socketDir, database: name }, log: quietLog });
    await other.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()', [name]);
    t.same(await db.query('SELECT 1 AS n'), [{ n: 1 }]);
    let runs = 0;
    await db.transaction(async (transaction) => {
      await transaction.query('INSERT INTO thing VALUES (3, now())');
      const [own] = await transaction.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      if (++runs === 1) await other.query('SELECT pg_terminate_backend($1)', [own?.pid ?? 0]);
      await transaction.query('SELECT 1');
    });
    t.equal(runs, 2, 'the transaction ran again');
    t.same(await db.query('SELECT count(*) AS n FROM thing WHERE n = 3'), [{ n: 1 }]);
    await other.close();
  });

  t.test('a database that is away fails within its patience', async (t) => {
    const away = openDatabase({ connection: { socketDir: '/nonexistent' }, log: quietLog, retryForMs: 100 });
    await t.rejects(away.query('SELECT 1'), { code: 'ENOENT' });
    await away.close();
  });

  t.test('migrations', async (t) => {
    await migrate(db);
    const shipped = readMigrations();
    const [first] = shipped;
    await t.rejects(migrate(db, [{ ...first!, sql: `${first!.sql} ` }, ...shipped.slice(1)]), /changed after/);
    const next = { number: shipped.length + 1, name: 'next', sql: 'CREATE TABLE next_one (n integer)' };
    await Promise.all([migrate(db, [...shipped, next]), migrate(db, [...shipped, next])]);
    await t.rejects(migrate(db), /newer one/);
    const broken = { number: shipped.length + 2, name: 'broken', sql: 'CREATE TABLE half (n integer); SELECT nonsense' };
    await t.rejects(migrate(db, [...shipped, next, broken]), /nonsense/);
    t.same(await db.query('SELECT to_regclass($1)::text AS name', ['half']), [{ name: null }], 'nothing of a failed one stays');
  });
});

t.test('ids sort by creation', (t) => {
  const ids = Array.from({ length: 5000 }, () => newId());
  t.same(ids, [...ids].sort());
  t.equal(new Set(ids).size, ids.length);
  t.ok(ids.every((id) => /^[0-9a-f]{24}$/.test(id)));
  t.end();
});
