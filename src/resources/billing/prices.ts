import type { Database, Queryable } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import { insertPrices, lockPrices, selectBookPrices, selectPrices, type PriceRow } from './price-store.ts';
import { MEASURES, type Component, type Measure, type PriceUnit } from './units.ts';

export type { PriceRow } from './price-store.ts';

/** A price of the book that ships with the service. */
export interface BookPrice { component: Component; model: string; unit: PriceUnit; priceMicros: number }

/** Whichever price a model had before there was one. */
const ALWAYS = new Date(0);

/**
 * Takes over the shipped book at start: what is new in it, or changed since the last start. Prices that an operator set
 * stay in force.
 */
export async function loadPriceBook(db: Database, book: readonly BookPrice[], nowMs: number): Promise<void> {
  await db.transaction(async (transaction) => {
    await lockPrices(transaction);
    const keyOf = (price: { component: string; model: string; unit: string }): string => `${price.component} ${price.model} ${price.unit}`;
    const known = new Map((await selectBookPrices(transaction)).map((row) => [keyOf(row), row]));
    const inForce = new Map((await selectPrices(transaction, new Date(nowMs))).map((row) => [keyOf(row), row]));
    const rows = book.filter((price) => known.get(keyOf(price))?.price_micros !== price.priceMicros).flatMap((price): PriceRow[] => {
      const { component, model, unit, priceMicros } = price;
      const standing = inForce.get(keyOf(price));
      const validFrom = standing ? new Date(nowMs) : ALWAYS;
      const row: PriceRow = { id: newId(nowMs), component, model, unit, price_micros: priceMicros, source: 'book', valid_from: validFrom };
      // What the operator set comes after it again.
      return standing?.source === 'console' ? [row, { ...standing, id: newId(nowMs), valid_from: validFrom }] : [row];
    });
    if (rows.length > 0) await insertPrices(transaction, rows);
  });
}

/** Everything in force, sorted by component, model and unit. */
export function listPrices(db: Queryable, nowMs: number): Promise<PriceRow[]> {
  return selectPrices(db, new Date(nowMs));
}

/**
 * The prices of a model, one for each unit it is billed in, as they hold at `atMs`: its own, else those of `vendor/*`, else
 * those of `*`. Empty: it has none.
 */
export async function pricesOf(db: Queryable, component: Component, model: string, atMs: number): Promise<PriceRow[]> {
  const candidates = [model, `${model.split('/', 1)[0]}/*`, '*'];
  const rows = await selectPrices(db, new Date(atMs), { component, models: candidates });
  const nearest = candidates.find((candidate) => rows.some((row) => row.model === candidate));
  return rows.filter((row) => row.model === nearest);
}

/** What one `unit` of a model costs now, micro-USD; undefined: the book has no price for it. */
export async function priceOf(db: Queryable, component: Component, model: string, unit: PriceUnit, nowMs: number): Promise<number | undefined> {
  return (await pricesOf(db, component, model, nowMs)).find((row) => row.unit === unit)?.price_micros;
}

/** Which of a model's prices a measure is billed at; undefined: none, so it costs nothing. */
export function priceFor(prices: readonly PriceRow[], measure: Measure): PriceRow | undefined {
  for (const unit of MEASURES[measure].priceUnits) {
    const price = prices.find((row) => row.unit === unit);
    if (price) return price;
  }
  return undefined;
}

/** Sets a price from now on; null goes back to what the shipped book says. Undefined: neither knows it. */
export async function setPrice(db: Database, price: { component: Component; model: string; unit: PriceUnit; priceMicros: number | null }, nowMs: number): Promise<PriceRow | undefined> {
  const { component, model, unit, priceMicros } = price;
  return db.transaction(async (transaction) => {
    await lockPrices(transaction);
    const row: PriceRow = { id: newId(nowMs), component, model, unit, price_micros: priceMicros ?? 0, source: 'console', valid_from: new Date(nowMs) };
    if (priceMicros === null) {
      const shipped = (await selectBookPrices(transaction)).find((known) => known.component === component && known.model === model && known.unit === unit);
      if (!shipped) return undefined;
      Object.assign(row, { price_micros: shipped.price_micros, source: 'book' });
    }
    await insertPrices(transaction, [row]);
    return row;
  });
}
