import { Conditions } from '../../api/conditions.ts';
import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable, Value } from '../../db/database.ts';
import type { FailureBreaker, Retry } from './attempt.ts';
import type { CallingHours } from './calling-hours.ts';
import type { CampaignStatus, PauseReason } from './state.ts';

/** The only SQL on campaigns; their leads are in queue-store.ts. */

/** Says which campaign changed. */
export const CAMPAIGN_CHANNEL = 'wirevoice_campaign';

export interface CampaignRow {
  id: string;
  account_id: string;
  livemode: boolean;
  name: string;
  agent_id: string;
  status: CampaignStatus;
  paused_reason: PauseReason | null;
  lead_filter: { tags: string[] } | null;
  scheduled_at: Date | null;
  from_phone_number_ids: string[] | null;
  max_concurrent_calls: number;
  calls_per_minute: number | null;
  calling_hours: CallingHours | null;
  retry: Retry;
  failure_breaker: FailureBreaker | null;
  max_cost_micros: number | null;
  cost_micros: number;
  recent_calls: string;
  lead_count: number;
  pending: number;
  in_flight: number;
  completed: number;
  failed: number;
  skipped: number;
  started_at: Date | null;
  completed_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

const FIXED = ['id', 'account_id', 'livemode', 'created_at'] as const satisfies (keyof CampaignRow)[];
const CHANGING = [
  'name', 'agent_id', 'status', 'paused_reason', 'lead_filter', 'scheduled_at', 'from_phone_number_ids', 'max_concurrent_calls', 'calls_per_minute', 'calling_hours',
  'retry', 'failure_breaker', 'max_cost_micros', 'cost_micros', 'recent_calls', 'lead_count', 'pending', 'in_flight', 'completed', 'failed', 'skipped',
  'started_at', 'completed_at', 'updated_at',
] as const satisfies (keyof CampaignRow)[];
const ALL = [...FIXED, ...CHANGING];
const COLUMNS = ALL.join(', ');

export async function insertCampaign(db: Queryable, row: CampaignRow): Promise<CampaignRow> {
  const places = ALL.map((_, index) => `$${index + 1}`).join(', ');
  const [inserted] = await db.query<CampaignRow>(`INSERT INTO campaign (${COLUMNS}) VALUES (${places}) RETURNING ${COLUMNS}`, valuesOf(row, ALL));
  return inserted as CampaignRow;
}

/** Of any mode; deleted ones are gone. */
export async function findCampaign(db: Queryable, accountId: string, id: string, lock: 'lock' | 'read'): Promise<CampaignRow | undefined> {
  const [row] = await db.query<CampaignRow>(`SELECT ${COLUMNS} FROM campaign WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL${lock === 'lock' ? ' FOR UPDATE' : ''}`, [accountId, id]);
  return row;
}

/** For work that no account asked for. */
export async function lockCampaign(db: Queryable, id: string): Promise<CampaignRow | undefined> {
  const [row] = await db.query<CampaignRow>(`SELECT ${COLUMNS} FROM campaign WHERE id = $1 AND deleted_at IS NULL FOR UPDATE`, [id]);
  return row;
}

export function listCampaignRows(db: Queryable, accountId: string, livemode: boolean, filters: { status?: string; agent_id?: string }, page: PageRequest): Promise<CampaignRow[]> {
  const conditions = new Conditions(accountId, livemode);
  conditions.add('status =', filters.status);
  conditions.add('agent_id =', filters.agent_id);
  const { sql, values } = pageSql(page, [...conditions.sql, 'deleted_at IS NULL'], conditions.values);
  return db.query<CampaignRow>(`SELECT ${COLUMNS} FROM campaign ${sql}`, values);
}

/** Writes a row that this transaction has locked, and tells who watches it. */
export async function saveCampaign(db: Queryable, row: CampaignRow, now: Date): Promise<CampaignRow> {
  const sets = CHANGING.map((column, index) => `${column} = $${index + 2}`).join(', ');
  const [saved] = await db.query<CampaignRow>(`UPDATE campaign SET ${sets} WHERE id = $1 RETURNING ${COLUMNS}`, [row.id, ...valuesOf({ ...row, updated_at: now }, CHANGING)]);
  await tellOfChange(db, row.id);
  return saved as CampaignRow;
}

/** Its leads' rows are deleted apart. */
export async function markCampaignDeleted(db: Queryable, id: string, now: Date): Promise<void> {
  await db.query('UPDATE campaign SET deleted_at = $2 WHERE id = $1', [id, now]);
  await tellOfChange(db, id);
}

export async function existsRunningCampaign(db: Queryable, agentId: string): Promise<boolean> {
  const rows = await db.query("SELECT 1 FROM campaign WHERE agent_id = $1 AND status = 'running' AND deleted_at IS NULL LIMIT 1", [agentId]);
  return rows.length > 0;
}

async function tellOfChange(db: Queryable, id: string): Promise<void> {
  await db.query(`SELECT pg_notify('${CAMPAIGN_CHANNEL}', $1)`, [id]);
}

function valuesOf(row: CampaignRow, columns: readonly (keyof CampaignRow)[]): Value[] {
  return columns.map((column) => {
    const value = row[column];
    return typeof value === 'object' && value !== null && !(value instanceof Date) && !Array.isArray(value) ? JSON.stringify(value) : (value as Value);
  });
}
