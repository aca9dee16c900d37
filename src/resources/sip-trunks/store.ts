import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable } from '../../db/database.ts';
import type { SipTrunk } from './schema.ts';

/** The only SQL on SIP trunks. */

export interface SipTrunkRow {
  id: string;
  account_id: string;
  livemode: boolean;
  name: string;
  direction: SipTrunk['direction'];
  allowed_addresses: string[];
  codecs: SipTrunk['codecs'];
  dtmf_mode: SipTrunk['dtmf_mode'];
  max_concurrent_calls: number | null;
  enabled: boolean;
  created_at: Date;
  updated_at: Date;
}

const COLUMNS = 'id, account_id, livemode, name, direction, allowed_addresses::text[], codecs, dtmf_mode, max_concurrent_calls, enabled, created_at, updated_at';
const TAKES_CALLS = "enabled AND deleted_at IS NULL AND direction IN ('inbound', 'both')";

export async function insertTrunk(db: Queryable, row: SipTrunkRow): Promise<SipTrunkRow> {
  const [inserted] = await db.query<SipTrunkRow>(
    `INSERT INTO sip_trunk (id, account_id, livemode, name, direction, allowed_addresses, codecs, dtmf_mode, max_concurrent_calls, enabled, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6::text[]::cidr[], $7, $8, $9, $10, $11, $12) RETURNING ${COLUMNS}`,
    [row.id, row.account_id, row.livemode, row.name, row.direction, row.allowed_addresses, row.codecs, row.dtmf_mode, row.max_concurrent_calls, row.enabled, row.created_at, row.updated_at],
  );
  return inserted as SipTrunkRow;
}

export async function findTrunk(db: Queryable, accountId: string, id: string, lock: 'lock' | 'read'): Promise<SipTrunkRow | undefined> {
  const [row] = await db.query<SipTrunkRow>(
    `SELECT ${COLUMNS} FROM sip_trunk WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL${lock === 'lock' ? ' FOR UPDATE' : ''}`, [accountId, id]);
  return row;
}

export function listTrunkRows(db: Queryable, accountId: string, livemode: boolean, page: PageRequest): Promise<SipTrunkRow[]> {
  const { sql, values } = pageSql(page, ['account_id = $1', 'livemode = $2', 'deleted_at IS NULL'], [accountId, livemode]);
  return db.query<SipTrunkRow>(`SELECT ${COLUMNS} FROM sip_trunk ${sql}`, values);
}

export async function updateTrunk(db: Queryable, row: SipTrunkRow, now: Date): Promise<SipTrunkRow> {
  const [updated] = await db.query<SipTrunkRow>(
    `UPDATE sip_trunk SET name = $2, allowed_addresses = $3::text[]::cidr[], codecs = $4, dtmf_mode = $5, max_concurrent_calls = $6, enabled = $7, updated_at = $8
     WHERE id = $1 RETURNING ${COLUMNS}`,
    [row.id, row.name, row.allowed_addresses, row.codecs, row.dtmf_mode, row.max_concurrent_calls, row.enabled, now],
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
