import { Conditions } from '../../api/conditions.ts';
import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable } from '../../db/database.ts';
import type { Component, PriceUnit, UsageUnit } from '../billing/units.ts';
import type { GroupBy } from './schema.ts';

/** The only SQL on usage. */

export interface UsageRow {
  id: string;
  account_id: string;
  livemode: boolean;
  call_id: string | null;
  sequence: number | null;
  source_key: string | null;
  agent_id: string | null;
  campaign_id: string | null;
  api_key_id: string | null;
  component: Component;
  model: string;
  unit: UsageUnit;
  quantity: number;
  price_unit: PriceUnit;
  unit_price_micros: number;
  amount_micros: number;
  source: 'vendor' | 'measured' | 'estimated';
  occurred_at: Date;
  /** Key of the ledger transaction that charged it; null: none has. */
  charged_by: string | null;
}

const COLUMNS = 'id, account_id, livemode, call_id, sequence, source_key, agent_id, campaign_id, api_key_id, component, model, unit, quantity, price_unit, unit_price_micros, amount_micros, source, occurred_at, charged_by';

/** Adds rows that are not there yet; answers how many were new. */
export async function insertUsage(db: Queryable, rows: readonly UsageRow[]): Promise<number> {
  const added = await db.query(
    `INSERT INTO usage_record (${COLUMNS})
     SELECT ${COLUMNS} FROM jsonb_to_recordset($1::jsonb) AS added (id char(24), account_id char(24), livemode boolean, call_id char(24), sequence integer, source_key text,
       agent_id char(24), campaign_id char(24), api_key_id char(24), component text, model text, unit text, quantity bigint, price_unit text,
       unit_price_micros bigint, amount_micros bigint, source text, occurred_at timestamptz, charged_by text)
     ON CONFLICT DO NOTHING RETURNING id`,
    [JSON.stringify(rows)],
  );
  return added.length;
}

export interface UsageFilters { call_id?: string; component?: string; model?: string; from?: string; to?: string }

export function listUsageRows(db: Queryable, accountId: string, livemode: boolean, filters: UsageFilters, page: PageRequest): Promise<UsageRow[]> {
  const conditions = new Conditions(accountId, livemode);
  conditions.add('call_id =', filters.call_id);
  conditions.add('component =', filters.component);
  conditions.add('model =', filters.model);
  conditions.addTime('occurred_at >=', filters.from);
  conditions.addTime('occurred_at <', filters.to);
  const { sql, values } = pageSql(page, conditions.sql, conditions.values, 'occurred_at');
  return db.query<UsageRow>(`SELECT ${COLUMNS} FROM usage_record ${sql}`, values);
}

export interface UsageSumRow { key: string | null; unit: UsageUnit; records: number; quantity: number; amount_micros: number }

const GROUPS: Readonly<Record<GroupBy, string>> = {
  day: 'to_char(occurred_at AT TIME ZONE \'UTC\', \'YYYY-MM-DD\')', component: 'component', agent: 'agent_id', model: 'model', campaign: 'campaign_id',
};

/** Sums by group and unit, `from` inclusive, `to` exclusive; days are those of UTC. */
export function sumUsage(db: Queryable, accountId: string, livemode: boolean, groupBy: GroupBy, from: Date, to: Date): Promise<UsageSumRow[]> {
  return db.query<UsageSumRow>(
    `SELECT ${GROUPS[groupBy]} AS key, unit, count(*) AS records, sum(quantity)::bigint AS quantity, sum(amount_micros)::bigint AS amount_micros
     FROM usage_record WHERE account_id = $1 AND livemode = $2 AND occurred_at >= $3 AND occurred_at < $4 GROUP BY 1, 2 ORDER BY 1 NULLS LAST, 2`,
    [accountId, livemode, from, to],
  );
}

/** Whose the rows of a call are, and what those come to that nothing charged yet; undefined: it has none. */
export async function sumUncharged(db: Queryable, callId: string): Promise<{ account_id: string; livemode: boolean; amount_micros: number } | undefined> {
  const [row] = await db.query<{ account_id: string; livemode: boolean; amount_micros: number }>(
    `SELECT account_id, livemode, COALESCE(sum(amount_micros) FILTER (WHERE charged_by IS NULL), 0)::bigint AS amount_micros
     FROM usage_record WHERE call_id = $1 GROUP BY account_id, livemode`, [callId]);
  return row;
}

/** Notes on the rows of a call that nothing charged yet what charges them, and answers what these come to: no row can slip in between. */
export async function markCharged(db: Queryable, callId: string, sourceKey: string): Promise<number> {
  const [row] = await db.query<{ amount_micros: number }>(
    `WITH marked AS (UPDATE usage_record SET charged_by = $2 WHERE call_id = $1 AND charged_by IS NULL RETURNING amount_micros)
     SELECT COALESCE(sum(amount_micros), 0)::bigint AS amount_micros FROM marked`, [callId, sourceKey]);
  return row?.amount_micros ?? 0;
}

export interface ChargedRow { component: Component; model: string; unit: UsageUnit; quantity: number; amount_micros: number }

/** What the transactions of a time charged for, itemised. */
export function sumCharged(db: Queryable, accountId: string, from: Date, to: Date): Promise<ChargedRow[]> {
  return db.query<ChargedRow>(
    `SELECT component, model, unit, sum(quantity)::bigint AS quantity, sum(usage_record.amount_micros)::bigint AS amount_micros
     FROM usage_record JOIN ledger_transaction ON ledger_transaction.source_key = charged_by
     WHERE ledger_transaction.account_id = $1 AND ledger_transaction.created_at >= $2 AND ledger_transaction.created_at < $3
     GROUP BY component, model, unit ORDER BY component, model, unit`, [accountId, from, to]);
}
