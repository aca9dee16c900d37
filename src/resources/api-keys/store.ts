import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Scope } from '../../api/scopes.ts';
import type { Queryable } from '../../db/database.ts';
import { LOCK_SQL, type RowLock } from '../../db/row-lock.ts';

/** The only SQL on API keys. */

export interface ApiKeyRow {
  id: string;
  account_id: string;
  livemode: boolean;
  name: string;
  prefix: string;
  scopes: Scope[];
  service_version: string;
  rotated_from: string | null;
  created_at: Date;
  last_used_at: Date | null;
  expires_at: Date | null;
  revoked_at: Date | null;
}

/** Where a change to any key is announced. */
export const KEY_CHANNEL = 'wirevoice_api_key';

/** Everything but the digest, which nothing but the lookup needs. */
const COLUMNS = 'id, account_id, livemode, name, prefix, scopes, service_version, rotated_from, created_at, last_used_at, expires_at, revoked_at';

export async function insertApiKey(db: Queryable, key: ApiKeyRow & { digest: Buffer }): Promise<ApiKeyRow> {
  const [row] = await db.query<ApiKeyRow>(
    `INSERT INTO api_key (id, account_id, livemode, name, prefix, digest, scopes, service_version, rotated_from, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING ${COLUMNS}`,
    [key.id, key.account_id, key.livemode, key.name, key.prefix, key.digest, key.scopes, key.service_version, key.rotated_from, key.created_at, key.expires_at],
  );
  return row as ApiKeyRow;
}

export async function findApiKey(db: Queryable, accountId: string, id: string, lock: RowLock): Promise<ApiKeyRow | undefined> {
  const [row] = await db.query<ApiKeyRow>(`SELECT ${COLUMNS} FROM api_key WHERE account_id = $1 AND id = $2${LOCK_SQL[lock]}`, [accountId, id]);
  return row;
}

export function listApiKeyRows(db: Queryable, accountId: string, livemode: boolean, page: PageRequest): Promise<ApiKeyRow[]> {
  const { sql, values } = pageSql(page, ['account_id = $1', 'livemode = $2'], [accountId, livemode]);
  return db.query<ApiKeyRow>(`SELECT ${COLUMNS} FROM api_key ${sql}`, values);
}

export async function findByDigest(db: Queryable, digest: Buffer): Promise<ApiKeyRow | undefined> {
  const [row] = await db.query<ApiKeyRow>(`SELECT ${COLUMNS} FROM api_key WHERE digest = $1`, [digest]);
  return row;
}

export async function touchApiKey(db: Queryable, id: string, now: Date): Promise<void> {
  await db.query('UPDATE api_key SET last_used_at = $2 WHERE id = $1', [id, now]);
}

/** Undefined: it was revoked before. */
export async function setRevoked(db: Queryable, id: string, now: Date): Promise<void> {
  await db.query('UPDATE api_key SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL', [id, now]);
}

/** Never later than it already expires. */
export async function setExpiry(db: Queryable, id: string, expiresAt: Date): Promise<void> {
  await db.query('UPDATE api_key SET expires_at = LEAST($2, expires_at) WHERE id = $1', [id, expiresAt]);
}

export async function notifyKeysChanged(db: Queryable): Promise<void> {
  await db.query(`SELECT pg_notify('${KEY_CHANNEL}', '')`);
}
