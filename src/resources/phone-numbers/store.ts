import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable } from '../../db/database.ts';
import { LOCK_SQL, type RowLock } from '../../db/row-lock.ts';

/** The only SQL on phone numbers. */

export interface PhoneNumberRow {
  id: string;
  account_id: string;
  livemode: boolean;
  phone_number: string;
  label: string | null;
  sip_trunk_id: string | null;
  agent_id: string | null;
  outbound_enabled: boolean;
  fallback_number: string | null;
  created_at: Date;
  updated_at: Date;
}

const COLUMNS = 'id, account_id, livemode, phone_number, label, sip_trunk_id, agent_id, outbound_enabled, fallback_number, created_at, updated_at';

/** Breaks the index `phone_number_once` when the number is taken. */
export async function insertPhoneNumber(db: Queryable, row: PhoneNumberRow): Promise<PhoneNumberRow> {
  const [inserted] = await db.query<PhoneNumberRow>(
    `INSERT INTO phone_number (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING ${COLUMNS}`,
    [row.id, row.account_id, row.livemode, row.phone_number, row.label, row.sip_trunk_id, row.agent_id, row.outbound_enabled, row.fallback_number, row.created_at, row.updated_at],
  );
  return inserted as PhoneNumberRow;
}

export async function findPhoneNumber(db: Queryable, accountId: string, id: string, lock: RowLock): Promise<PhoneNumberRow | undefined> {
  const [row] = await db.query<PhoneNumberRow>(
    `SELECT ${COLUMNS} FROM phone_number WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL${LOCK_SQL[lock]}`, [accountId, id]);
  return row;
}

export function listPhoneNumberRows(db: Queryable, accountId: string, livemode: boolean, page: PageRequest): Promise<PhoneNumberRow[]> {
  const { sql, values } = pageSql(page, ['account_id = $1', 'livemode = $2', 'deleted_at IS NULL'], [accountId, livemode]);
  return db.query<PhoneNumberRow>(`SELECT ${COLUMNS} FROM phone_number ${sql}`, values);
}

export async function updatePhoneNumber(db: Queryable, row: PhoneNumberRow, now: Date): Promise<PhoneNumberRow> {
  const [updated] = await db.query<PhoneNumberRow>(
    `UPDATE phone_number SET label = $2, sip_trunk_id = $3, agent_id = $4, outbound_enabled = $5, fallback_number = $6, updated_at = $7 WHERE id = $1 RETURNING ${COLUMNS}`,
    [row.id, row.label, row.sip_trunk_id, row.agent_id, row.outbound_enabled, row.fallback_number, now],
  );
  return updated as PhoneNumberRow;
}

export async function markPhoneNumberDeleted(db: Queryable, id: string, now: Date): Promise<void> {
  await db.query('UPDATE phone_number SET deleted_at = $2 WHERE id = $1', [id, now]);
}

export async function clearAgent(db: Queryable, agentId: string, now: Date): Promise<void> {
  await db.query('UPDATE phone_number SET agent_id = NULL, updated_at = $2 WHERE agent_id = $1 AND deleted_at IS NULL', [agentId, now]);
}

export async function clearTrunk(db: Queryable, trunkId: string, now: Date): Promise<void> {
  await db.query('UPDATE phone_number SET sip_trunk_id = NULL, updated_at = $2 WHERE sip_trunk_id = $1 AND deleted_at IS NULL', [trunkId, now]);
}

/** The number dialled, on one of these trunks. A live one comes before a test one that happens to be the same. */
export async function findDialled(db: Queryable, numbers: readonly string[], trunkIds: readonly string[]): Promise<PhoneNumberRow | undefined> {
  const [row] = await db.query<PhoneNumberRow>(
    `SELECT ${COLUMNS} FROM phone_number WHERE phone_number = ANY($1) AND sip_trunk_id = ANY($2) AND deleted_at IS NULL ORDER BY livemode DESC LIMIT 1`, [numbers, trunkIds]);
  return row;
}
