import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { openDatabase } from '../../../src/db/database.ts';
import { startEmbeddedPostgres } from '../../../src/db/embedded-postgres.ts';
import { quietLog } from '../../support/test-database.ts';

const isRoot = process.getuid?.() === 0;

function temporary(t: { teardown(fn: () => void): unknown }): string {
  const directory = mkdtempSync(join(tmpdir(), 'wv-pg-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

t.test('a killed postmaster comes back by itself, and what was committed is there', async (t) => {
  const dataDir = join(temporary(t), 'data');
  const server = await startEmbeddedPostgres({ dataDir, log: quietLog });
  t.equal(statSync(dataDir).mode & 0o777, 0o700, 'the data directory is closed to others');
  t.equal(statSync(server.host).mode & 0o777, 0o700, 'and so is the socket\'s');
  const db = openDatabase({ connection: { socketDir: server.host }, log: quietLog, retryForMs: 20_000 });
  await db.query('CREATE TABLE kept (n integer)');
  for (let round = 1; round <= 2; round++) {
    await db.query('INSERT INTO kept VALUES ($1)', [round]);
    const before = server.pid();
    process.kill(before ?? 0, 'SIGKILL');
    while (server.pid() === before || server.pid() === undefined) await sleep(10);
    t.same(await db.query('SELECT n FROM kept ORDER BY n'), Array.from({ length: round }, (_, index) => ({ n: index + 1 })));
  }
  await db.close();
  await server.stop();
  const again = await startEmbeddedPostgres({ dataDir, log: quietLog });
  const reopened = openDatabase({ connection: { socketDir: again.host }, log: quietLog });
  t.same(await reopened.query('SELECT count(*) AS n FROM kept'), [{ n: 2 }]);
  await reopened.close();
  await t.rejects(runStart(dataDir), /Another Wirevoice/, 'a second process is refused while the first lives');
  await again.stop();
});

t.test('the whole tree is killed during writes: the next start finds every acknowledged row', async (t) => {
  const dataDir = join(temporary(t), 'data');
  const writer = spawn(process.execPath, [join(import.meta.dirname, '../../support/postgres-writer.ts'), dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  let acknowledged = 0;
  for await (const chunk of writer.stdout) {
    printed += String(chunk);
    acknowledged = Number(/(\d+)\n$/.exec(printed)?.[1] ?? acknowledged);
    if (acknowledged >= 50) break;
  }
  const gone = once(writer, 'exit');
  writer.kill('SIGKILL');
  await gone;
  const server = await startEmbeddedPostgres({ dataDir, log: quietLog });
  const db = openDatabase({ connection: { socketDir: server.host }, log: quietLog });
  const [row] = await db.query<{ n: number }>('SELECT max(n) AS n FROM written');
  t.ok((row?.n ?? 0) >= acknowledged, `${row?.n} rows, ${acknowledged} acknowledged`);
  await db.close();
  await server.stop();
});

t.test('a long path moves the socket to a short one', async (t) => {
  const dataDir = join(temporary(t), 'd'.repeat(100));
  const server = await startEmbeddedPostgres({ dataDir, log: quietLog });
  t.ok(Buffer.byteLength(`${server.host}/.s.PGSQL.5432`) <= 107);
  t.equal(statSync(server.host).mode & 0o777, 0o700);
  await server.stop();
  rmSync(server.host, { recursive: true });
});

t.test('root without user namespaces runs it as nobody', { skip: !isRoot }, async (t) => {
  const dataDir = join(temporary(t), 'data');
  // mkdtemp's own directory is 0700 too, as a home might be.
  await t.rejects(startEmbeddedPostgres({ dataDir, log: quietLog, runAs: 'nobody' }), /nobody cannot reach|DATABASE_URL/);
  const open = join('/var/tmp', `wv-nobody-${process.pid}`);
  mkdirSync(open, { mode: 0o755 });
  t.teardown(() => rmSync(open, { recursive: true, force: true }));
  const server = await startEmbeddedPostgres({ dataDir: join(open, 'data'), log: quietLog, runAs: 'nobody' });
  t.equal(statSync(join(open, 'data', 'postgres')).uid, 65_534);
  await server.stop();
});

t.test('a cluster of a version that is not installed is refused with what to do', async (t) => {
  const dataDir = join(temporary(t), 'data');
  mkdirSync(join(dataDir, 'postgres'), { recursive: true });
  writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '9\n');
  await t.rejects(startEmbeddedPostgres({ dataDir, log: quietLog }), /major version 9.*DATABASE_URL/);
});

/** Starts on `dataDir` in another process; rejects with what it printed. */
async function runStart(dataDir: string): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../support/postgres-writer.ts'), dataDir], { stdio: ['ignore', 'ignore', 'pipe'] });
  let printed = '';
  child.stderr.on('data', (chunk) => { printed += String(chunk); });
  const [code] = await once(child, 'exit') as [number];
  if (code !== 0) throw new Error(printed);
}
