import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable } from '../../db/database.ts';

/** The only SQL on top-ups, the provider's events, billing settings and what calls are charged. */

export interface TopUpRow {
  id: string;
  account_id: string;
  livemode: boolean;
  amount_micros: number;
  refunded_micros: number;
  status: 'pending' | 'paid' | 'expired' | 'failed';
  provider_session_id: string | null;
  provider_payment_id: string | null;
  checkout_url: string | null;
  expires_at: Date | null;
  paid_at: Date | null;
  created_at: Date;
}

export async function insertTopUp(db: Queryable, row: Pick<TopUpRow, 'id' | 'account_id' | 'livemode' | 'amount_micros' | 'status' | 'expires_at' | 'paid_at' | 'created_at'>): Promise<TopUpRow> {
  const [inserted] = await db.query<TopUpRow>(
    'INSERT INTO top_up (id, account_id, livemode, amount_micros, status, expires_at, paid_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING *',
    [row.id, row.account_id, row.livemode, row.amount_micros, row.status, row.expires_at, row.paid_at, row.created_at]);
  return inserted as TopUpRow;
}

export async function findTopUp(db: Queryable, accountId: string, id: string): Promise<TopUpRow | undefined> {
  const [row] = await db.query<TopUpRow>('SELECT * FROM top_up WHERE account_id = $1 AND id = $2', [accountId, id]);
  return row;
}

export function listTopUpRows(db: Queryable, accountId: string, livemode: boolean, page: PageRequest): Promise<TopUpRow[]> {
  const { sql, values } = pageSql(page, ['account_id = $1', 'livemode = $2'], [accountId, livemode]);
  return db.query<TopUpRow>(`SELECT * FROM top_up ${sql}`, values);
}

/** Whoever's it is: for what the provider tells us. */
export async function lockTopUp(db: Queryable, id: string): Promise<TopUpRow | undefined> {
  const [row] = await db.query<TopUpRow>('SELECT * FROM top_up WHERE id = $1 FOR UPDATE', [id]);
  return row;
}

export async function updateCheckout(db: Queryable, id: string, checkout: { sessionId: string; url: string; expiresAt: Date }): Promise<TopUpRow> {
  const [row] = await db.query<TopUpRow>(
    'UPDATE top_up SET provider_session_id = $2, checkout_url = $3, expires_at = $4 WHERE id = $1 RETURNING *', [id, checkout.sessionId, checkout.url, checkout.expiresAt]);
  return row as TopUpRow;
}

export async function markTopUpPaid(db: Queryable, id: string, paymentId: string | undefined, at: Date): Promise<void> {
  await db.query('UPDATE top_up SET status = \'paid\', paid_at = $3, provider_payment_id = $2 WHERE id = $1', [id, paymentId ?? null, at]);
}

/** Leaves one alone that is no longer pending. */
export async function markTopUpOver(db: Queryable, id: string, status: 'expired' | 'failed'): Promise<void> {
  await db.query('UPDATE top_up SET status = $2 WHERE id = $1 AND status = \'pending\'', [id, status]);
}

export async function updateRefunded(db: Queryable, id: string, refundedMicros: number): Promise<void> {
  await db.query('UPDATE top_up SET refunded_micros = $2 WHERE id = $1', [id, refundedMicros]);
}

/** False: this event came before. */
export async function insertPaymentEvent(db: Queryable, event: { id: string; type: string }, at: Date): Promise<boolean> {
  const rows = await db.query('INSERT INTO payment_event (id, type, received_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING id', [event.id, event.type, at]);
  return rows.length > 0;
}

export interface SettingsRow { low_balance_threshold_micros: number; auto_top_up_threshold_micros: number | null; auto_top_up_amount_micros: number | null }

const NO_SETTINGS: SettingsRow = { low_balance_threshold_micros: 0, auto_top_up_threshold_micros: null, auto_top_up_amount_micros: null };

export async function selectSettings(db: Queryable, accountId: string): Promise<SettingsRow> {
  const [row] = await db.query<SettingsRow>(
    'SELECT low_balance_threshold_micros, auto_top_up_threshold_micros, auto_top_up_amount_micros FROM billing_settings WHERE account_id = $1', [accountId]);
  return row ?? NO_SETTINGS;
}

export async function upsertSettings(db: Queryable, accountId: string, row: SettingsRow, now: Date): Promise<void> {
  await db.query(
    `INSERT INTO billing_settings (account_id, low_balance_threshold_micros, auto_top_up_threshold_micros, auto_top_up_amount_micros, updated_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (account_id) DO UPDATE SET low_balance_threshold_micros = $2, auto_top_up_threshold_micros = $3, auto_top_up_amount_micros = $4, updated_at = $5`,
    [accountId, row.low_balance_threshold_micros, row.auto_top_up_threshold_micros, row.auto_top_up_amount_micros, now]);
}

export interface ChargeRow {
  call_id: string;
  account_id: string;
  livemode: boolean;
  minute_micros: number;
  held_micros: number;
  charged_micros: number;
  moves: number;
  settled_at: Date | null;
}

/** What the call has on hold and was charged, locked until the transaction ends. */
export async function lockCharge(db: Queryable, callId: string): Promise<ChargeRow | undefined> {
  const [row] = await db.query<ChargeRow>('SELECT * FROM call_charge WHERE call_id = $1 FOR UPDATE', [callId]);
  return row;
}

/** False: the call has one. */
export async function insertCharge(db: Queryable, charge: { callId: string; accountId: string; livemode: boolean; minuteMicros: bigint }): Promise<boolean> {
  const rows = await db.query(
    'INSERT INTO call_charge (call_id, account_id, livemode, minute_micros, held_micros) VALUES ($1, $2, $3, $4::bigint, 0) ON CONFLICT DO NOTHING RETURNING call_id',
    [charge.callId, charge.accountId, charge.livemode, String(charge.minuteMicros)]);
  return rows.length > 0;
}

export async function updateCharge(db: Queryable, callId: string, to: { held: bigint; charged: bigint; moves: number; settledAt: Date | null }): Promise<void> {
  await db.query('UPDATE call_charge SET held_micros = $2::bigint, charged_micros = $3::bigint, moves = $4, settled_at = $5 WHERE call_id = $1',
    [callId, String(to.held), String(to.charged), to.moves, to.settledAt]);
}
