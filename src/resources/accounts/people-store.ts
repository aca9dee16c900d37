import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable } from '../../db/database.ts';
import type { AccountRow } from './store.ts';

/** The only SQL on people, and on accounts as the console lists them. */

export interface PersonRow {
  id: string;
  account_id: string;
  email: string;
  name: string | null;
  operator: boolean;
  created_at: Date;
}

const COLUMNS = 'id, account_id, email, name, operator, created_at';

export async function insertPerson(db: Queryable, row: PersonRow & { password: string }): Promise<PersonRow> {
  const [inserted] = await db.query<PersonRow>(
    `INSERT INTO person (id, account_id, email, name, password, operator, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $7) RETURNING ${COLUMNS}`,
    [row.id, row.account_id, row.email, row.name, row.password, row.operator, row.created_at],
  );
  return inserted as PersonRow;
}

export async function findPersonByEmail(db: Queryable, email: string): Promise<(PersonRow & { password: string }) | undefined> {
  const [row] = await db.query<PersonRow & { password: string }>(`SELECT ${COLUMNS}, password FROM person WHERE lower(email) = lower($1)`, [email]);
  return row;
}

export async function findPerson(db: Queryable, id: string): Promise<(PersonRow & { password: string }) | undefined> {
  const [row] = await db.query<PersonRow & { password: string }>(`SELECT ${COLUMNS}, password FROM person WHERE id = $1`, [id]);
  return row;
}

export async function existsPerson(db: Queryable): Promise<boolean> {
  const rows = await db.query('SELECT 1 FROM person LIMIT 1');
  return rows.length > 0;
}

/** Every other session of theirs ends. */
export async function updatePassword(db: Queryable, personId: string, password: string, keptSession: Buffer, now: Date): Promise<void> {
  await db.query('UPDATE person SET password = $2, updated_at = $3 WHERE id = $1', [personId, password, now]);
  await db.query('DELETE FROM console_session WHERE person_id = $1 AND digest <> $2', [personId, keptSession]);
}

export async function deleteSession(db: Queryable, digest: Buffer): Promise<void> {
  await db.query('DELETE FROM console_session WHERE digest = $1', [digest]);
}

export async function findAccount(db: Queryable, id: string): Promise<AccountRow | undefined> {
  const [row] = await db.query<AccountRow>('SELECT * FROM account WHERE id = $1', [id]);
  return row;
}

export function listAccountRows(db: Queryable, page: PageRequest): Promise<AccountRow[]> {
  const { sql, values } = pageSql(page, ['true'], []);
  return db.query<AccountRow>(`SELECT * FROM account ${sql}`, values);
}

export async function updateAccount(db: Queryable, id: string, change: { name?: string | undefined; allowed_origins?: readonly string[] | undefined }): Promise<AccountRow | undefined> {
  const [row] = await db.query<AccountRow>(
    'UPDATE account SET name = COALESCE($2, name), allowed_origins = COALESCE($3::text[], allowed_origins) WHERE id = $1 RETURNING *',
    [id, change.name ?? null, change.allowed_origins ?? null],
  );
  return row;
}
