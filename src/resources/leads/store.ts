import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable, Value } from '../../db/database.ts';
import { LOCK_SQL, type RowLock } from '../../db/row-lock.ts';
import type { LeadImport } from './schema.ts';

/** The only SQL on leads. */

export interface LeadRow {
  id: string;
  account_id: string;
  livemode: boolean;
  name: string;
  phone_number: string;
  tags: string[];
  fields: Record<string, unknown>;
  email: string | null;
  timezone: string | null;
  do_not_call: boolean;
  qualified: boolean;
  qualified_at: Date | null;
  qualification_notes: string | null;
  last_call_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

export interface LeadFilters {
  tag?: string;
  phone_number?: string;
  qualified?: boolean;
  created_after?: string;
  created_before?: string;
  q?: string;
}

/** A row of an import: `fields`, `tags` and `do_not_call` that are absent keep their value, or get their default. */
export interface ImportedLead {
  id: string;
  name: string;
  phone_number: string;
  tags?: string[];
  fields?: Record<string, unknown>;
  email?: string | null;
  timezone?: string | null;
  do_not_call?: boolean;
}

const COLUMNS = 'id, account_id, livemode, name, phone_number, tags, fields, email, timezone, do_not_call, qualified, qualified_at, qualification_notes, last_call_at, created_at, updated_at';
/** As the index `lead_search` has it. */
const SEARCHED = `(search_name || ' ' || phone_number || ' ' || lower(coalesce(email, '')))`;

/** Breaks the index `lead_once` when the number is taken. */
export async function insertLead(db: Queryable, row: LeadRow): Promise<LeadRow> {
  const [inserted] = await db.query<LeadRow>(
    `INSERT INTO lead (${COLUMNS}, search_name) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) RETURNING ${COLUMNS}`,
    [
      row.id, row.account_id, row.livemode, row.name, row.phone_number, row.tags, JSON.stringify(row.fields), row.email, row.timezone, row.do_not_call,
      row.qualified, row.qualified_at, row.qualification_notes, row.last_call_at, row.created_at, row.updated_at, folded(row.name),
    ],
  );
  return inserted as LeadRow;
}

/** Of any mode. */
export async function findLead(db: Queryable, accountId: string, id: string, lock: RowLock): Promise<LeadRow | undefined> {
  const [row] = await db.query<LeadRow>(`SELECT ${COLUMNS} FROM lead WHERE account_id = $1 AND id = $2${LOCK_SQL[lock]}`, [accountId, id]);
  return row;
}

export function listLeadRows(db: Queryable, accountId: string, livemode: boolean, filters: LeadFilters, page: PageRequest): Promise<LeadRow[]> {
  const conditions = ['account_id = $1', 'livemode = $2'];
  const values: Value[] = [accountId, livemode];
  const add = (condition: (place: string) => string, value: Value | undefined): void => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  add((tag) => `tags @> ARRAY[${tag}]`, filters.tag);
  add((number) => `phone_number = ${number}`, filters.phone_number);
  // Literal, so that the index of the qualified ones is used.
  if (filters.qualified !== undefined) conditions.push(filters.qualified ? 'qualified' : 'NOT qualified');
  add((time) => `created_at >= ${time}`, filters.created_after === undefined ? undefined : new Date(filters.created_after));
  add((time) => `created_at < ${time}`, filters.created_before === undefined ? undefined : new Date(filters.created_before));
  for (const word of wordsOf(filters.q ?? '')) add((pattern) => `${SEARCHED} LIKE ${pattern}`, `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`);
  const { sql, values: all } = pageSql(page, conditions, values);
  return db.query<LeadRow>(`SELECT ${COLUMNS} FROM lead ${sql}`, all);
}

/** Breaks the index `lead_once` when the number is taken. */
export async function updateLead(db: Queryable, row: LeadRow, now: Date): Promise<LeadRow> {
  const [updated] = await db.query<LeadRow>(
    `UPDATE lead SET name = $2, phone_number = $3, tags = $4, fields = $5, email = $6, timezone = $7, do_not_call = $8, qualified = $9, qualified_at = $10,
       qualification_notes = $11, updated_at = $12, search_name = $13 WHERE id = $1 RETURNING ${COLUMNS}`,
    [
      row.id, row.name, row.phone_number, row.tags, JSON.stringify(row.fields), row.email, row.timezone, row.do_not_call, row.qualified, row.qualified_at,
      row.qualification_notes, now, folded(row.name),
    ],
  );
  return updated as LeadRow;
}

export async function removeLead(db: Queryable, id: string): Promise<void> {
  await db.query('DELETE FROM lead WHERE id = $1', [id]);
}

export async function setLastCall(db: Queryable, accountId: string, id: string, at: Date): Promise<void> {
  await db.query('UPDATE lead SET last_call_at = greatest(last_call_at, $3) WHERE account_id = $1 AND id = $2', [accountId, id, at]);
}

/** Those of `ids` that there are, in any mode. */
export function findLeadModes(db: Queryable, accountId: string, ids: readonly string[]): Promise<{ id: string; livemode: boolean }[]> {
  return db.query('SELECT id, livemode FROM lead WHERE account_id = $1 AND id = ANY($2) ORDER BY created_at, id', [accountId, ids]);
}

/** Leads that carry every one of `tags`, oldest first. */
export async function findIdsByTags(db: Queryable, accountId: string, livemode: boolean, tags: readonly string[], most: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>('SELECT id FROM lead WHERE account_id = $1 AND livemode = $2 AND tags @> $3 ORDER BY created_at, id LIMIT $4', [accountId, livemode, tags, most]);
  return rows.map(({ id }) => id);
}

/** Makes those whose number no lead has; answers their numbers. */
export async function insertNewLeads(db: Queryable, owner: { accountId: string; livemode: boolean }, leads: readonly ImportedLead[], now: Date): Promise<string[]> {
  const rows = await db.query<{ phone_number: string }>(
    `INSERT INTO lead (id, account_id, livemode, name, search_name, phone_number, tags, fields, email, timezone, do_not_call, created_at, updated_at)
     SELECT id, $2, $3, name, search_name, phone_number, coalesce(tags, '{}'), coalesce(fields, '{}'), email, timezone, coalesce(do_not_call, false), $4, $4
     FROM jsonb_to_recordset($1::jsonb) AS row (id text, name text, search_name text, phone_number text, tags text[], fields jsonb, email text, timezone text, do_not_call boolean)
     ON CONFLICT (account_id, livemode, phone_number) DO NOTHING RETURNING phone_number`,
    [asJson(leads), owner.accountId, owner.livemode, now],
  );
  return rows.map(({ phone_number }) => phone_number);
}

/** Changes the leads that have these numbers: the fields that each row has. Answers their numbers. */
export async function updateKnownLeads(db: Queryable, owner: { accountId: string; livemode: boolean }, leads: readonly ImportedLead[], now: Date): Promise<string[]> {
  const rows = await db.query<{ phone_number: string }>(
    `UPDATE lead SET name = sent ->> 'name', search_name = sent ->> 'search_name', updated_at = $4,
       tags = CASE WHEN sent ? 'tags' THEN ARRAY(SELECT jsonb_array_elements_text(sent -> 'tags')) ELSE tags END,
       fields = coalesce(sent -> 'fields', fields),
       email = CASE WHEN sent ? 'email' THEN sent ->> 'email' ELSE email END,
       timezone = CASE WHEN sent ? 'timezone' THEN sent ->> 'timezone' ELSE timezone END,
       do_not_call = coalesce((sent -> 'do_not_call')::boolean, do_not_call)
     FROM jsonb_array_elements($1::jsonb) AS row (sent)
     WHERE account_id = $2 AND livemode = $3 AND phone_number = sent ->> 'phone_number' RETURNING phone_number`,
    [asJson(leads), owner.accountId, owner.livemode, now],
  );
  return rows.map(({ phone_number }) => phone_number);
}

export async function insertImport(db: Queryable, accountId: string, answer: LeadImport): Promise<void> {
  await db.query('INSERT INTO lead_import (id, account_id, livemode, answer, created_at) VALUES ($1, $2, $3, $4, $5)', [answer.id, accountId, answer.livemode, JSON.stringify(answer), answer.created_at]);
}

export async function findImport(db: Queryable, accountId: string, id: string): Promise<LeadImport | undefined> {
  const [row] = await db.query<{ answer: LeadImport }>('SELECT answer FROM lead_import WHERE account_id = $1 AND id = $2', [accountId, id]);
  return row?.answer;
}

/** Oldest first; answers how many there were. */
export async function removeImportsBefore(db: Queryable, before: Date, most: number): Promise<number> {
  const rows = await db.query('DELETE FROM lead_import WHERE id IN (SELECT id FROM lead_import WHERE created_at < $1 ORDER BY created_at LIMIT $2) RETURNING id', [before, most]);
  return rows.length;
}

function asJson(leads: readonly ImportedLead[]): string {
  return JSON.stringify(leads.map((lead) => ({ ...lead, search_name: folded(lead.name) })));
}

/**
 * Without case and accents, so that `muller` finds Müller; other scripts as ASCII, for the trigrams of a database in the
 * C locale know nothing else.
 */
function folded(text: string): string {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return plain.replaceAll(/[^\0-\x7f]/gu, (character) => `u${(character.codePointAt(0) ?? 0).toString(16).padStart(6, '0')}`);
}

/** More words than anybody types narrow nothing further. */
function wordsOf(text: string): string[] {
  return text.split(/\s+/).map(folded).filter((word) => word !== '').slice(0, 10);
}
