import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase, type Database } from '../../src/db/database.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/db/embedded-postgres.ts';
import { newId } from '../../src/db/id.ts';
import { migrate } from '../../src/db/migrate.ts';

/** Socket directory of a PostgreSQL that the test runner started for all its processes. */
const SHARED_SOCKET_DIR = 'WIREVOICE_TEST_POSTGRES';
const BASE = 'wirevoice_base';
/** Nothing here outlives a test run, so nothing waits for the disk; what must survive a power cut is tested on a store of its own. */
const SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '200' };
const LOCK = 7_281_002;

export const quietLog = { info: () => undefined, warn: () => undefined };

/** A PostgreSQL for one test run, in a temporary directory; `stop` removes it. */
export async function startTestPostgres(): Promise<EmbeddedPostgres> {
  const dataDir = mkdtempSync(join(tmpdir(), 'wv-test-'));
  const server = await startEmbeddedPostgres({ dataDir, log: quietLog, settings: SETTINGS });
  return {
    host: server.host,
    pid: () => server.pid(),
    stop: async () => {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** For a test runner: starts one PostgreSQL that every test process it spawns with this environment shares. */
export async function shareTestPostgres(env: NodeJS.ProcessEnv): Promise<EmbeddedPostgres> {
  const server = await startTestPostgres();
  env[SHARED_SOCKET_DIR] = server.host;
  return server;
}

/** A database of its own, migrated, copied from a template; `close` drops it (and stops a server started for it). */
export async function createTestDatabase(): Promise<{ db: Database; socketDir: string; name: string; close: () => Promise<void> }> {
  const shared = process.env[SHARED_SOCKET_DIR];
  const own = shared === undefined ? await startTestPostgres() : undefined;
  const socketDir = own?.host ?? shared ?? '';
  const admin = openDatabase({ connection: { socketDir }, log: quietLog, maxConnections: 1 });
  const name = `test_${newId()}`;
  await makeBase(admin, socketDir);
  await admin.query(`CREATE DATABASE ${name} TEMPLATE ${BASE}`);
  const db = openDatabase({ connection: { socketDir, database: name }, log: quietLog, maxConnections: 8 });
  const close = async (): Promise<void> => {
    await db.close();
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`).catch(() => undefined);
    await admin.close();
    await own?.stop();
  };
  return { db, socketDir, name, close };
}

/** The migrated template; whoever comes first makes it. CREATE DATABASE needs to be outside a transaction, hence the session lock on the one connection. */
async function makeBase(admin: Database, socketDir: string): Promise<void> {
  await admin.query('SELECT pg_advisory_lock($1)', [LOCK]);
  try {
    const [exists] = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [BASE]);
    if (exists) return;
    await admin.query(`CREATE DATABASE ${BASE}`);
    const base = openDatabase({ connection: { socketDir, database: BASE }, log: quietLog, maxConnections: 1 });
    await migrate(base);
    await base.close();
  } finally {
    await admin.query('SELECT pg_advisory_unlock($1)', [LOCK]);
  }
}
