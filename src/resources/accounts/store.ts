import type { Queryable } from '../../db/database.ts';
import { LOCK_SQL } from '../../db/row-lock.ts';

/** The only SQL on accounts, sign-in tokens and console sessions. */

export interface AccountRow { id: string; name: string; allowed_origins: string[]; created_at: Date }

export async function insertAccount(db: Queryable, account: { id: string; name: string; createdAt: Date }): Promise<void> {
  await db.query('INSERT INTO account (id, name, created_at) VALUES ($1, $2, $3)', [account.id, account.name, account.createdAt]);
}

/** The oldest account: the one the first start made. */
export async function findFirstAccount(db: Queryable): Promise<AccountRow | undefined> {
  const [row] = await db.query<AccountRow>('SELECT * FROM account ORDER BY created_at, id LIMIT 1');
  return row;
}

export async function existsAccount(db: Queryable, id: string): Promise<boolean> {
  const rows = await db.query('SELECT 1 FROM account WHERE id = $1', [id]);
  return rows.length > 0;
}

export async function findAllowedOrigins(db: Queryable, accountId: string): Promise<string[]> {
  const [row] = await db.query<{ allowed_origins: string[] }>('SELECT allowed_origins FROM account WHERE id = $1', [accountId]);
  return row?.allowed_origins ?? [];
}

export async function selectAccountForUpdate(db: Queryable, accountId: string): Promise<void> {
  await db.query(`SELECT 1 FROM account WHERE id = $1${LOCK_SQL.change}`, [accountId]);
}

/** Makes processes that start at once on a new database wait for each other, until the transaction ends. */
export async function lockFirstStart(db: Queryable): Promise<void> {
  await db.query('SELECT pg_advisory_xact_lock(7281003)');
}

export async function insertSignInToken(db: Queryable, token: { digest: Buffer; accountId: string; expiresAt: Date }): Promise<void> {
  await db.query('DELETE FROM sign_in_token WHERE expires_at < $1::timestamptz - interval \'1 day\'', [token.expiresAt]);
  await db.query('INSERT INTO sign_in_token (digest, account_id, expires_at) VALUES ($1, $2, $3)', [token.digest, token.accountId, token.expiresAt]);
}

/** Uses a token up: of two that try, one gets it. */
export async function takeSignInToken(db: Queryable, digest: Buffer, now: Date): Promise<{ account_id: string } | undefined> {
  const [row] = await db.query<{ account_id: string }>('DELETE FROM sign_in_token WHERE digest = $1 AND expires_at > $2 RETURNING account_id', [digest, now]);
  return row;
}

export async function insertSession(db: Queryable, session: { digest: Buffer; accountId: string; personId?: string; createdAt: Date; expiresAt: Date }): Promise<void> {
  await db.query('DELETE FROM console_session WHERE expires_at <= $1', [session.createdAt]);
  await db.query('INSERT INTO console_session (digest, account_id, person_id, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)', [session.digest, session.accountId, session.personId ?? null, session.createdAt, session.expiresAt]);
}

export async function findSession(db: Queryable, digest: Buffer, now: Date): Promise<{ account_id: string; person_id: string | null; operator: boolean | null } | undefined> {
  const [row] = await db.query<{ account_id: string; person_id: string | null; operator: boolean | null }>(
    'SELECT session.account_id, person_id, person.operator FROM console_session AS session LEFT JOIN person ON person.id = person_id WHERE digest = $1 AND expires_at > $2', [digest, now]);
  return row;
}

/** Sessions and tokens that expired before `before`, at most `most` of each; how many went. */
export async function deleteExpired(db: Queryable, before: Date, most: number): Promise<number> {
  const sessions = await db.query('DELETE FROM console_session WHERE digest IN (SELECT digest FROM console_session WHERE expires_at < $1 LIMIT $2) RETURNING 1 AS gone', [before, most]);
  const tokens = await db.query('DELETE FROM sign_in_token WHERE digest IN (SELECT digest FROM sign_in_token WHERE expires_at < $1 LIMIT $2) RETURNING 1 AS gone', [before, most]);
  return Math.max(sessions.length, tokens.length);
}
