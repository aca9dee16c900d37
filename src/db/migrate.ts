import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import type { Database, Transaction } from './database.ts';

/** One step of the schema: `NNNN_name.sql`, run once, in one transaction, and never changed afterwards. */
export interface Migration {
  number: number;
  name: string;
  sql: string;
}

/** Any number: it only has to be the same in every process. */
const LOCK = 7_281_001;

/** The migrations that ship with this version, in order. */
export function readMigrations(directory: URL = new URL('./migrations/', import.meta.url)): Migration[] {
  const files = readdirSync(directory).filter((name) => name.endsWith('.sql')).sort();
  return files.map((file, index) => {
    const [, digits = '', name = ''] = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(file) ?? [];
    if (Number(digits) !== index + 1) throw new Error(`The migration ${file} must be named ${String(index + 1).padStart(4, '0')}_name.sql.`);
    return { number: index + 1, name, sql: readFileSync(new URL(file, directory), 'utf8') };
  });
}

/**
 * Brings the database to the newest migration. Processes that start at once wait for each other.
 * Throws an Error when the database is newer than this version, or a migration was changed after it ran.
 */
export async function migrate(db: Database, migrations: Migration[] = readMigrations()): Promise<void> {
  await db.transaction(async (transaction) => {
    await transaction.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    await transaction.query('CREATE TABLE IF NOT EXISTS migration (number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz(3) NOT NULL DEFAULT now())');
    const applied = await transaction.query<{ number: number; name: string; checksum: string }>('SELECT number, name, checksum FROM migration ORDER BY number');
    checkApplied(applied, migrations);
  });
  for (const migration of migrations) await db.transaction((transaction) => apply(transaction, migration));
}

function checkApplied(applied: { number: number; name: string; checksum: string }[], migrations: Migration[]): void {
  for (const { number, name, checksum } of applied) {
    const ours = migrations[number - 1];
    if (!ours) throw new Error(`The database has migration ${number} (${name}), which this version of Wirevoice does not know: it was opened by a newer one. Start that version, or restore a backup.`);
    if (checksumOf(ours) !== checksum) throw new Error(`Migration ${number} (${name}) was changed after it had been applied to this database. Restore the file, and put the change into a new migration.`);
  }
}

async function apply(transaction: Transaction, migration: Migration): Promise<void> {
  await transaction.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
  const [done] = await transaction.query('SELECT 1 FROM migration WHERE number = $1', [migration.number]);
  if (done) return;
  await transaction.query(migration.sql);
  await transaction.query('INSERT INTO migration (number, name, checksum) VALUES ($1, $2, $3)', [migration.number, migration.name, checksumOf(migration)]);
}

function checksumOf({ sql }: Migration): string {
  return createHash('sha256').update(sql).digest('hex');
}
