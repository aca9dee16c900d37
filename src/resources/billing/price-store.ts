import type { Queryable } from '../../db/database.ts';
import type { Component, PriceUnit } from './units.ts';

/** The only SQL on prices. */

export interface PriceRow {
  id: string;
  component: Component;
  model: string;
  unit: PriceUnit;
  price_micros: number;
  source: 'book' | 'console';
  valid_from: Date;
}

/** What holds at `at`, one row for each component, model and unit; narrowed to a component and to models where given. */
export function selectPrices(db: Queryable, at: Date, only: { component?: Component; models?: readonly string[] } = {}): Promise<PriceRow[]> {
  return db.query<PriceRow>(
    `SELECT DISTINCT ON (component, model, unit) id, component, model, unit, price_micros, source, valid_from FROM price
     WHERE valid_from <= $1 AND ($2::text IS NULL OR component = $2) AND ($3::text[] IS NULL OR model = ANY($3))
     ORDER BY component, model, unit, valid_from DESC, id DESC`,
    [at, only.component ?? null, only.models ?? null],
  );
}

/** The newest prices that shipped with the service, whatever the operator set. */
export function selectBookPrices(db: Queryable): Promise<PriceRow[]> {
  return db.query<PriceRow>(
    `SELECT DISTINCT ON (component, model, unit) id, component, model, unit, price_micros, source, valid_from FROM price
     WHERE source = 'book' ORDER BY component, model, unit, valid_from DESC, id DESC`);
}

export async function insertPrices(db: Queryable, rows: readonly PriceRow[]): Promise<void> {
  await db.query(
    `INSERT INTO price (id, component, model, unit, price_micros, source, valid_from)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::timestamptz[])`,
    [
      rows.map(({ id }) => id), rows.map(({ component }) => component), rows.map(({ model }) => model), rows.map(({ unit }) => unit),
      rows.map(({ price_micros }) => String(price_micros)), rows.map(({ source }) => source), rows.map(({ valid_from }) => valid_from.toISOString()),
    ],
  );
}

/** Lets changes to the prices happen one after another, until the transaction ends. */
export async function lockPrices(db: Queryable): Promise<void> {
  await db.query('SELECT pg_advisory_xact_lock(7281006)');
}
