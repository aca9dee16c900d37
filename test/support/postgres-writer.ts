/** A process to kill: starts PostgreSQL on the directory it is given, writes rows for ever and prints each acknowledged number. */
import { openDatabase } from '../../src/db/database.ts';
import { startEmbeddedPostgres } from '../../src/db/embedded-postgres.ts';

const log = { info: () => undefined, warn: () => undefined };
const server = await startEmbeddedPostgres({ dataDir: process.argv[2] ?? '', log });
const db = openDatabase({ connection: { socketDir: server.host }, log });
await db.query('CREATE TABLE IF NOT EXISTS written (n integer)');
for (let n = 1; ; n++) {
  await db.query('INSERT INTO written VALUES ($1)', [n]);
  process.stdout.write(`${n}\n`);
}
