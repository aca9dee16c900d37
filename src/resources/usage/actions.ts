import type { Queryable } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import { priceFor, pricesOf, type PriceRow } from '../billing/prices.ts';
import { amountOf, MEASURES, type Component, type Measure } from '../billing/units.ts';
import { insertUsage, markCharged, sumCharged, sumUncharged, type ChargedRow, type UsageRow } from './store.ts';

/** What one model was used for: a quantity in the finest measure, a whole number. */
export interface Metered { component: Component; model: string; measure: Measure; quantity: number }

/** Whose usage it is. */
export interface UsageOwner {
  accountId: string;
  livemode: boolean;
  agentId?: string;
  campaignId?: string;
  apiKeyId?: string;
}

/** One row to be: of a call, numbered by whoever meters it, or of something that happens once and is charged under a key of its own. */
export type NewUsage = UsageOwner & Metered & {
  source: UsageRow['source'];
  occurredAtMs: number;
  /** What one costs where it was agreed on before; absent: what the price book says. Micro-USD. */
  unitPriceMicros?: number;
} & ({ callId: string; sequence: number } | { sourceKey: string });

/**
 * Writes usage rows, each at the price that held when it occurred; test rows cost nothing. Rows that are there already
 * (same call and sequence, or same key) are left as they are, so that a journal can be replayed. Answers how many were new.
 */
export async function recordUsage(db: Queryable, rows: readonly NewUsage[]): Promise<number> {
  if (rows.length === 0) return 0;
  const prices = priceReader(db);
  const priced: UsageRow[] = [];
  for (const row of rows) priced.push(toRow(row, row.livemode ? await prices(row, row.occurredAtMs) : []));
  return insertUsage(db, priced);
}

/** What quantities cost at the prices of `atMs`, each rounded as a row of its own. Micro-USD. */
export async function costOf(db: Queryable, metered: readonly Metered[], atMs: number): Promise<bigint> {
  const prices = priceReader(db);
  let sum = 0n;
  for (const part of metered) {
    const price = priceFor(await prices(part, atMs), part.measure);
    if (price) sum += amountOf(part.quantity, price.price_micros, price.unit);
  }
  return sum;
}

/** Whose the rows of a call are, and what those come to that were not charged yet; undefined: it has none. Micro-USD. */
export async function unchargedOfCall(db: Queryable, callId: string): Promise<{ accountId: string; livemode: boolean; amountMicros: number } | undefined> {
  const row = await sumUncharged(db, callId);
  return row && { accountId: row.account_id, livemode: row.livemode, amountMicros: row.amount_micros };
}

/** Takes every row of a call that was not charged yet for the ledger transaction with this key; answers what they come to, micro-USD. */
export function takeForCharge(db: Queryable, callId: string, sourceKey: string): Promise<number> {
  return markCharged(db, callId, sourceKey);
}

/** What the ledger's transactions of a time charged for, itemised; `from` inclusive, `to` exclusive. */
export function itemiseCharges(db: Queryable, accountId: string, from: Date, to: Date): Promise<ChargedRow[]> {
  return sumCharged(db, accountId, from, to);
}

function toRow(row: NewUsage, prices: readonly PriceRow[]): UsageRow {
  const { unit, priceUnits } = MEASURES[row.measure];
  const price = priceFor(prices, row.measure);
  const priceUnit = price?.unit ?? priceUnits[0];
  const unitPriceMicros = row.unitPriceMicros ?? price?.price_micros ?? 0;
  const amountMicros = Number(amountOf(row.quantity, unitPriceMicros, priceUnit));
  return {
    id: newId(row.occurredAtMs), account_id: row.accountId, livemode: row.livemode,
    ...('callId' in row ? { call_id: row.callId, sequence: row.sequence, source_key: null, charged_by: null } : { call_id: null, sequence: null, source_key: row.sourceKey, charged_by: amountMicros === 0 ? null : row.sourceKey }),
    agent_id: row.agentId ?? null, campaign_id: row.campaignId ?? null, api_key_id: row.apiKeyId ?? null,
    component: row.component, model: row.model, unit, quantity: row.quantity, price_unit: priceUnit, unit_price_micros: unitPriceMicros,
    amount_micros: amountMicros, source: row.source, occurred_at: new Date(row.occurredAtMs),
  };
}

/** Asks for each model's prices once. */
function priceReader(db: Queryable): (of: { component: Component; model: string }, atMs: number) => Promise<PriceRow[]> {
  const known = new Map<string, Promise<PriceRow[]>>();
  return ({ component, model }, atMs) => {
    const key = `${component} ${model} ${atMs}`;
    const prices = known.get(key) ?? pricesOf(db, component, model, atMs);
    known.set(key, prices);
    return prices;
  };
}
