import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError } from '../../api/errors.ts';
import { compileValidator } from '../../api/validation.ts';
import type { AppContext } from '../../context.ts';
import type { Transaction } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import { distinct } from './actions.ts';
import { checkLead } from './check.ts';
import { readCsv, type CsvRow } from './csv.ts';
import { CreateLead, type ImportEnvelope, type LeadImport, type OnDuplicate } from './schema.ts';
import { findImport, insertImport, insertNewLeads, updateKnownLeads, type ImportedLead } from './store.ts';

interface Owner { accountId: string; livemode: boolean }
type RowError = LeadImport['errors'][number];
/** Rows that name one number, in their order, and the lead that comes of them. */
interface Wanted { rows: number[]; lead: ImportedLead }

/** Rows checked before others have their turn: a few milliseconds. */
const SLICE_ROWS = 100;
const STATEMENT_ROWS = 500;
const validateRow = compileValidator({ schema: CreateLead, method: 'POST', url: '/v1/leads/bulk', httpPart: 'body' }) as (row: unknown) => { error?: ApiError };

/**
 * Imports leads from JSON or, as text, CSV, all good rows in one transaction; bad ones are told of in the answer, and
 * nothing else is. Throws ApiError `invalid_csv`, `invalid_parameter` when it cannot be read at all.
 */
export async function importLeads(context: Pick<AppContext, 'db' | 'clock'>, owner: Owner, body: string | ImportEnvelope, onDuplicate: OnDuplicate, id: string): Promise<LeadImport> {
  const rows: CsvRow[] = typeof body === 'string' ? await readCsv(body) : body.leads.map((lead, index) => ({ index, lead: lead as Record<string, unknown> }));
  const errors: RowError[] = [];
  const wanted = new Map<string, Wanted>();
  for (const [position, row] of rows.entries()) {
    if (position > 0 && position % SLICE_ROWS === 0) await nextTurn();
    const error = errorOf(row);
    if (error) errors.push(error);
    else if ('lead' in row) want(wanted, row.index, row.lead as CreateLead, onDuplicate, context.clock.now());
  }
  const now = new Date(context.clock.now());
  return context.db.transaction(async (transaction) => {
    const created = await write(transaction, owner, [...wanted.values()].map(({ lead }) => lead), onDuplicate, now);
    const answer: LeadImport = { id, object: 'lead_import', livemode: owner.livemode, ...count(wanted, created, errors, onDuplicate), created_at: now.toISOString() };
    await insertImport(transaction, owner.accountId, answer);
    return answer;
  });
}

/** What the import `id` answered. Throws ApiError `internal_error` when it is kept no more, which is later than any key. */
export async function recallImport(db: AppContext['db'], owner: Owner, id: string): Promise<LeadImport> {
  const answer = await findImport(db, owner.accountId, id);
  if (!answer) throw new ApiError('internal_error', `What the import ${id} answered is no longer kept.`);
  return answer;
}

function errorOf(row: CsvRow): RowError | undefined {
  const place = `leads[${row.index}]`;
  if ('error' in row) return toRowError(row.index, row.error);
  if (typeof row.lead !== 'object' || row.lead === null || Array.isArray(row.lead)) return { row: row.index, code: 'invalid_parameter', param: place, message: `${place} must be an object.` };
  const { error } = validateRow(row.lead);
  if (error) return toRowError(row.index, below(place, error));
  try {
    checkLead(row.lead);
  } catch (refusal) {
    if (refusal instanceof ApiError) return toRowError(row.index, below(place, refusal));
    throw refusal;
  }
  return undefined;
}

/** The same refusal, of a field of `place`. */
function below(place: string, { code, message, param = '' }: ApiError): ApiError {
  const named = `${place}.${param}`;
  return new ApiError(code, message.startsWith(param) ? named + message.slice(param.length) : message, { param: named });
}

function toRowError(row: number, { code, message, param }: ApiError): RowError {
  return { row, code, param: param ?? null, message };
}

/** Of rows with one number the first makes the lead; with `update` the later ones change it, as they would one by one. */
function want(wanted: Map<string, Wanted>, row: number, body: CreateLead, onDuplicate: OnDuplicate, nowMs: number): void {
  const known = wanted.get(body.phone_number);
  if (!known) {
    wanted.set(body.phone_number, { rows: [row], lead: { id: newId(nowMs), ...withDefaults(body) } });
    return;
  }
  known.rows.push(row);
  if (onDuplicate === 'update') Object.assign(known.lead, withDefaults(body));
}

/** Null is the default where the column has one. */
function withDefaults({ tags, fields, do_not_call, ...rest }: CreateLead): Omit<ImportedLead, 'id'> {
  return {
    ...rest,
    ...(tags === undefined ? {} : { tags: distinct(tags) }),
    ...(fields === undefined ? {} : { fields: fields ?? {} }),
    ...(do_not_call === undefined ? {} : { do_not_call: do_not_call ?? false }),
  };
}

/** Answers the numbers of the leads it made. In the order of numbers, so that imports at once do not wait for each other in a ring. */
async function write(transaction: Transaction, owner: Owner, leads: ImportedLead[], onDuplicate: OnDuplicate, now: Date): Promise<Set<string>> {
  const created = new Set<string>();
  const sorted = leads.toSorted((a, b) => (a.phone_number < b.phone_number ? -1 : 1));
  for (let from = 0; from < sorted.length; from += STATEMENT_ROWS) {
    let open = sorted.slice(from, from + STATEMENT_ROWS);
    // A lead may be deleted between the two statements; then its row makes it anew.
    do {
      const inserted = new Set(await insertNewLeads(transaction, owner, open, now));
      for (const number of inserted) created.add(number);
      open = open.filter(({ phone_number }) => !inserted.has(phone_number));
      if (onDuplicate !== 'update' || open.length === 0) break;
      const updated = new Set(await updateKnownLeads(transaction, owner, open, now));
      open = open.filter(({ phone_number }) => !updated.has(phone_number));
    } while (open.length > 0);
  }
  return created;
}

function count(wanted: ReadonlyMap<string, Wanted>, created: ReadonlySet<string>, bad: readonly RowError[], onDuplicate: OnDuplicate): Pick<LeadImport, 'created' | 'updated' | 'skipped' | 'errors'> {
  const duplicates = [...wanted].flatMap(([number, { rows }]) => (created.has(number) ? rows.slice(1) : rows));
  const refused = onDuplicate === 'error' ? duplicates.map((row) => toRowError(row, new ApiError('lead_exists', undefined, { param: `leads[${row}].phone_number` }))) : [];
  return {
    created: created.size,
    updated: onDuplicate === 'update' ? duplicates.length : 0,
    skipped: onDuplicate === 'skip' ? duplicates.length : 0,
    errors: [...bad, ...refused].sort((a, b) => a.row - b.row),
  };
}
