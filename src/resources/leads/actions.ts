import { ApiError } from '../../api/errors.ts';
import type { AppContext } from '../../context.ts';
import { isDuplicate, type Queryable, type Transaction } from '../../db/database.ts';
import type { EventId } from '../../events/event.ts';
import { checkLead } from './check.ts';
import { requireLead } from './lookup.ts';
import { presentLead } from './present.ts';
import type { CreateLead, UpdateLead } from './schema.ts';
import { findIdsByTags, findLeadModes, insertLead, removeImportsBefore, removeLead, setLastCall, updateLead, type LeadRow } from './store.ts';

export { requireLead } from './lookup.ts';
export type { LeadRow } from './store.ts';

interface Owner { accountId: string; livemode: boolean }
type LeadContext = Pick<AppContext, 'db' | 'clock' | 'events'>;

/** Makes a lead, and tells of it. Throws ApiError `lead_exists`, `invalid_parameter`. */
export function createLead(context: LeadContext, owner: Owner, body: CreateLead, id: string): Promise<LeadRow> {
  checkLead(body);
  const now = new Date(context.clock.now());
  return refusingDuplicates(() => context.db.transaction(async (transaction) => {
    const row = await insertLead(transaction, {
      id, account_id: owner.accountId, livemode: owner.livemode, name: body.name, phone_number: body.phone_number, tags: distinct(body.tags), fields: body.fields ?? {},
      email: body.email ?? null, timezone: body.timezone ?? null, do_not_call: body.do_not_call ?? false,
      qualified: false, qualified_at: null, qualification_notes: null, last_call_at: null, created_at: now, updated_at: now,
    });
    announce(context, transaction, 'leadCreated', row);
    return row;
  }));
}

/**
 * Changes the fields that were sent; objects and arrays are replaced whole. The first `qualified: true` of a lead's life
 * is told of. Throws ApiError `lead_exists`, `invalid_parameter` and as `requireLead`.
 */
export function changeLead(context: LeadContext, owner: Owner, id: string, body: UpdateLead): Promise<LeadRow> {
  checkLead(body);
  return refusingDuplicates(() => context.db.transaction(async (transaction) => {
    // Of two changes at once the second waits here, and finds the lead as the first left it.
    const row = await requireLead(transaction, owner, id, 'id', 'change');
    if (Object.keys(body).length === 0) return row;
    const now = new Date(context.clock.now());
    const changed = applied(row, body);
    const first = changed.qualified && row.qualified_at === null;
    const updated = await updateLead(transaction, first ? { ...changed, qualified_at: now } : changed, now);
    if (first) announce(context, transaction, 'leadQualified', updated);
    return updated;
  }));
}

/** Marks a lead qualified, as an agent does in a call; `notes` absent leaves the lead's own. Throws as `changeLead`. */
export function qualifyLead(context: LeadContext, owner: Owner, leadId: string, notes?: string): Promise<LeadRow> {
  return changeLead(context, owner, leadId, { qualified: true, ...(notes === undefined ? {} : { qualification_notes: notes }) });
}

/** Deletes it for good. */
export function deleteLead(context: LeadContext, owner: Owner, id: string): Promise<void> {
  return context.db.transaction(async (transaction) => {
    const row = await requireLead(transaction, owner, id, 'id', 'delete');
    await removeLead(transaction, row.id);
  });
}

/**
 * Leads named by id, or those that carry every one of `tags`, at most `most` of these: their ids in the order they were
 * made, each once; do_not_call ones are among them. Throws ApiError `lead_not_found`, `key_mode_mismatch`, which name the
 * place in `param`.
 */
export async function selectLeadsForCampaign(db: Queryable, owner: Owner, selection: { ids: readonly string[] } | { tags: readonly string[]; most: number }, param = 'lead_ids'): Promise<string[]> {
  if ('tags' in selection) return findIdsByTags(db, owner.accountId, owner.livemode, selection.tags, selection.most);
  const found = await findLeadModes(db, owner.accountId, selection.ids);
  const modes = new Map(found.map(({ id, livemode }) => [id, livemode]));
  for (const [index, id] of selection.ids.entries()) {
    const place = { param: `${param}[${index}]` };
    if (!modes.has(id)) throw new ApiError('lead_not_found', `No lead ${id} in this account.`, place);
    if (modes.get(id) !== owner.livemode) throw new ApiError('key_mode_mismatch', `Lead ${id} belongs to ${owner.livemode ? 'test' : 'live'} mode.`, place);
  }
  return found.map(({ id }) => id);
}

/** Notes when a lead was called; an earlier time changes nothing, nor does a lead that is gone. */
export function touchLastCall(db: Queryable, owner: { accountId: string }, leadId: string, at: Date): Promise<void> {
  return setLastCall(db, owner.accountId, leadId, at);
}

/** Drops what imports made before `before` answered, at most `most` of them; answers how many. */
export function deleteImportsBefore(db: Queryable, before: Date, most: number): Promise<number> {
  return removeImportsBefore(db, before, most);
}

/** Each tag once, in the order given. */
export function distinct(tags: readonly string[] | null | undefined): string[] {
  return [...new Set(tags ?? [])];
}

/** The row as `body` wants it; null is the default. */
function applied(row: LeadRow, body: UpdateLead): LeadRow {
  const { tags, fields, do_not_call, qualified, ...rest } = body;
  return {
    ...row, ...rest,
    tags: tags === undefined ? row.tags : distinct(tags),
    fields: fields === undefined ? row.fields : (fields ?? {}),
    do_not_call: do_not_call === undefined ? row.do_not_call : (do_not_call ?? false),
    qualified: qualified === undefined ? row.qualified : (qualified ?? false),
  };
}

async function refusingDuplicates<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (isDuplicate(error, 'lead_once')) throw new ApiError('lead_exists', undefined, { param: 'phone_number', cause: error });
    throw error;
  }
}

function announce(context: LeadContext, transaction: Transaction, event: EventId, row: LeadRow): void {
  transaction.afterCommit(() => context.events.emit({ accountId: row.account_id, livemode: row.livemode, event, data: presentLead(row), eventKey: `${event}:${row.id}` }));
}
