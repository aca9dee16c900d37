import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable } from '../../db/database.ts';
import { LOCK_SQL, type RowLock } from '../../db/row-lock.ts';
import type { TrunkDraft } from './draft.ts';
import type { Registration, TrunkSettings } from './schema.ts';

/** The only SQL on SIP trunks. */

export interface SipTrunkRow extends Omit<TrunkDraft, 'settings'> {
  id: string;
  account_id: string;
  livemode: boolean;
  /** What was said; the rest is default. */
  settings: Partial<TrunkSettings>;
  password_set: boolean;
  registration: Registration | null;
  /** What the last question to the peer showed; null: not asked yet. */
  health: 'ok' | 'unreachable' | 'auth_failed' | null;
  last_ok_at: Date | null;
  rtt_ms: number | null;
  created_at: Date;
  updated_at: Date;
}

const COLUMNS = `id, account_id, livemode, name, direction, allowed_addresses::text[], codecs, dtmf_mode, max_concurrent_calls, enabled, settings,
  password IS NOT NULL AS password_set, registration, health, last_ok_at, rtt_ms, created_at, updated_at`;
const TAKES_CALLS = "enabled AND deleted_at IS NULL AND direction IN ('inbound', 'both')";

export async function insertTrunk(db: Queryable, row: TrunkDraft & { id: string; account_id: string; livemode: boolean; password: Buffer | null; created_at: Date; updated_at: Date }): Promise<SipTrunkRow> {
  const [inserted] = await db.query<SipTrunkRow>(
    `INSERT INTO sip_trunk (id, account_id, livemode, name, direction, allowed_addresses, codecs, dtmf_mode, max_concurrent_calls, enabled, settings, password, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6::text[]::cidr[], $7, $8, $9, $10, $11, $12, $13, $14) RETURNING ${COLUMNS}`,
    [
      row.id, row.account_id, row.livemode, row.name, row.direction, row.allowed_addresses, row.codecs, row.dtmf_mode, row.max_concurrent_calls, row.enabled,
      JSON.stringify(row.settings), row.password, row.created_at, row.updated_at,
    ],
  );
  return inserted as SipTrunkRow;
}

export async function findTrunk(db: Queryable, accountId: string, id: string, lock: RowLock): Promise<SipTrunkRow | undefined> {
  const [row] = await db.query<SipTrunkRow>(
    `SELECT ${COLUMNS} FROM sip_trunk WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL${LOCK_SQL[lock]}`, [accountId, id]);
  return row;
}

/** As it was sealed. */
export async function selectPassword(db: Queryable, id: string): Promise<Buffer | null> {
  const [row] = await db.query<{ password: Buffer | null }>('SELECT password FROM sip_trunk WHERE id = $1', [id]);
  return row?.password ?? null;
}

export function listTrunkRows(db: Queryable, accountId: string, livemode: boolean, page: PageRequest): Promise<SipTrunkRow[]> {
  const { sql, values } = pageSql(page, ['account_id = $1', 'livemode = $2', 'deleted_at IS NULL'], [accountId, livemode]);
  return db.query<SipTrunkRow>(`SELECT ${COLUMNS} FROM sip_trunk ${sql}`, values);
}

/** `password` undefined: as it was. */
export async function updateTrunk(db: Queryable, id: string, draft: TrunkDraft, password: Buffer | null | undefined, now: Date): Promise<SipTrunkRow> {
  const [updated] = await db.query<SipTrunkRow>(
    `UPDATE sip_trunk SET name = $2, direction = $3, allowed_addresses = $4::text[]::cidr[], codecs = $5, dtmf_mode = $6, max_concurrent_calls = $7, enabled = $8,
       settings = $9, password = CASE WHEN $10 THEN $11 ELSE password END, updated_at = $12
     WHERE id = $1 RETURNING ${COLUMNS}`,
    [
      id, draft.name, draft.direction, draft.allowed_addresses, draft.codecs, draft.dtmf_mode, draft.max_concurrent_calls, draft.enabled,
      JSON.stringify(draft.settings), password !== undefined, password ?? null, now,
    ],
  );
  return updated as SipTrunkRow;
}

export async function markTrunkDeleted(db: Queryable, id: string, now: Date): Promise<void> {
  await db.query('UPDATE sip_trunk SET deleted_at = $2 WHERE id = $1', [id, now]);
}

/** Trunks of any account that let the address in. */
export function findTrunksByAddress(db: Queryable, address: string): Promise<SipTrunkRow[]> {
  return db.query<SipTrunkRow>(
    `SELECT ${COLUMNS} FROM sip_trunk WHERE ${TAKES_CALLS} AND EXISTS (SELECT 1 FROM unnest(allowed_addresses) AS range WHERE $1::inet <<= range) ORDER BY id`, [address]);
}

export async function selectAllowedAddresses(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ range: string }>(`SELECT DISTINCT range::text AS range FROM sip_trunk, unnest(allowed_addresses) AS range WHERE ${TAKES_CALLS}`);
  return rows.map(({ range }) => range);
}
