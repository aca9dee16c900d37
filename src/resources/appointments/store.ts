import { Conditions } from '../../api/conditions.ts';
import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable } from '../../db/database.ts';
import type { AppointmentStatus } from './schema.ts';

/** The only SQL on appointments. */

export interface AppointmentRow {
  id: string;
  account_id: string;
  livemode: boolean;
  client_name: string;
  phone_number: string;
  date_time: Date;
  ends_at: Date;
  status: AppointmentStatus;
  notes: string | null;
  agent_id: string | null;
  lead_id: string | null;
  revision: number;
  created_at: Date;
  updated_at: Date;
}

const COLUMNS = 'id, account_id, livemode, client_name, phone_number, date_time, ends_at, status, notes, agent_id, lead_id, revision, created_at, updated_at';
/** Statuses that keep the time for themselves; the exclusion constraint names the same. */
const HOLDING = ['scheduled', 'confirmed'] as const satisfies AppointmentStatus[];

/** Whether an appointment keeps others out of its time. */
export function holdsTime({ status }: Pick<AppointmentRow, 'status'>): boolean {
  return (HOLDING as readonly string[]).includes(status);
}

/** Whether `error` says that the time is taken in the agent's calendar. */
export function isSlotTaken(error: unknown): boolean {
  const { code, constraint } = (error ?? {}) as { code?: unknown; constraint?: unknown };
  return code === '23P01' && constraint === 'appointment_slot_once';
}

/**
 * One writer at a time for an agent's calendar, until the transaction ends. The constraint decides who gets a slot; but
 * two that break it at once would wait for each other until PostgreSQL notices.
 */
export async function lockCalendar(db: Queryable, agentId: string): Promise<void> {
  await db.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`appointment:${agentId}`]);
}

/** Breaks the constraint `appointment_slot_once` when the time is taken. */
export async function insertAppointment(db: Queryable, row: Omit<AppointmentRow, 'revision'>): Promise<AppointmentRow> {
  const [inserted] = await db.query<AppointmentRow>(
    `INSERT INTO appointment (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, $12, $13) RETURNING ${COLUMNS}`,
    [row.id, row.account_id, row.livemode, row.client_name, row.phone_number, row.date_time, row.ends_at, row.status, row.notes, row.agent_id, row.lead_id, row.created_at, row.updated_at],
  );
  return inserted as AppointmentRow;
}

/** Breaks the constraint `appointment_slot_once` when the time is taken. */
export async function updateAppointment(db: Queryable, row: AppointmentRow, now: Date): Promise<AppointmentRow> {
  const [updated] = await db.query<AppointmentRow>(
    `UPDATE appointment SET client_name = $2, phone_number = $3, date_time = $4, ends_at = $5, status = $6, notes = $7, agent_id = $8, lead_id = $9,
     revision = revision + 1, updated_at = $10 WHERE id = $1 RETURNING ${COLUMNS}`,
    [row.id, row.client_name, row.phone_number, row.date_time, row.ends_at, row.status, row.notes, row.agent_id, row.lead_id, now],
  );
  return updated as AppointmentRow;
}

export async function findAppointment(db: Queryable, accountId: string, id: string, lock: 'lock' | 'read'): Promise<AppointmentRow | undefined> {
  const [row] = await db.query<AppointmentRow>(`SELECT ${COLUMNS} FROM appointment WHERE account_id = $1 AND id = $2${lock === 'lock' ? ' FOR UPDATE' : ''}`, [accountId, id]);
  return row;
}

export interface AppointmentFilters { status?: string; agent_id?: string; lead_id?: string; from?: string; to?: string }

export function listAppointmentRows(db: Queryable, accountId: string, livemode: boolean, filters: AppointmentFilters, page: PageRequest): Promise<AppointmentRow[]> {
  const conditions = new Conditions(accountId, livemode);
  conditions.add('status =', filters.status);
  conditions.add('agent_id =', filters.agent_id);
  conditions.add('lead_id =', filters.lead_id);
  conditions.addTime('date_time >=', filters.from);
  conditions.addTime('date_time <', filters.to);
  const { sql, values } = pageSql(page, conditions.sql, conditions.values);
  return db.query<AppointmentRow>(`SELECT ${COLUMNS} FROM appointment ${sql}`, values);
}

/** Times that are taken in an agent's calendar between two moments, in order. */
export function listTaken(db: Queryable, agentId: string, from: Date, to: Date): Promise<{ date_time: Date; ends_at: Date }[]> {
  return db.query<{ date_time: Date; ends_at: Date }>(
    `SELECT date_time, ends_at FROM appointment
     WHERE agent_id = $1 AND status IN ('scheduled', 'confirmed') AND tstzrange(date_time, ends_at) && tstzrange($2, $3) ORDER BY date_time`, [agentId, from, to]);
}

/** All that begin between two moments, in order. */
export function listForFeed(db: Queryable, accountId: string, livemode: boolean, from: Date, to: Date, limit: number): Promise<AppointmentRow[]> {
  return db.query<AppointmentRow>(
    `SELECT ${COLUMNS} FROM appointment WHERE account_id = $1 AND livemode = $2 AND date_time >= $3 AND date_time < $4 ORDER BY date_time, id LIMIT $5`, [accountId, livemode, from, to, limit]);
}

/** The secret address of an account's calendar feed in one mode. */
export interface FeedRow { id: string; account_id: string; livemode: boolean; digest: Buffer; created_at: Date }

const FEED_COLUMNS = 'id, account_id, livemode, digest, created_at';

/** The only one from now on. */
export async function writeFeed(db: Queryable, row: FeedRow): Promise<void> {
  await db.query(
    `INSERT INTO calendar_feed (${FEED_COLUMNS}) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (account_id, livemode) DO UPDATE SET id = excluded.id, digest = excluded.digest, created_at = excluded.created_at`,
    [row.id, row.account_id, row.livemode, row.digest, row.created_at]);
}

export async function findFeed(db: Queryable, accountId: string, livemode: boolean): Promise<FeedRow | undefined> {
  const [row] = await db.query<FeedRow>(`SELECT ${FEED_COLUMNS} FROM calendar_feed WHERE account_id = $1 AND livemode = $2`, [accountId, livemode]);
  return row;
}

export async function findFeedByDigest(db: Queryable, digest: Buffer): Promise<FeedRow | undefined> {
  const [row] = await db.query<FeedRow>(`SELECT ${FEED_COLUMNS} FROM calendar_feed WHERE digest = $1`, [digest]);
  return row;
}

/** Answers the id of the one that was there. */
export async function deleteFeed(db: Queryable, accountId: string, livemode: boolean): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>('DELETE FROM calendar_feed WHERE account_id = $1 AND livemode = $2 RETURNING id', [accountId, livemode]);
  return row?.id;
}
