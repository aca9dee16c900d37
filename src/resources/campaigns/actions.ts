import { ApiError } from '../../api/errors.ts';
import type { AppContext } from '../../context.ts';
import type { Queryable } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import { requireAgent } from '../agents/actions.ts';
import { selectLeadsForCampaign } from '../leads/actions.ts';
import { requirePhoneNumber } from '../phone-numbers/lookup.ts';
import { requireCampaign, type Owner } from './lookup.ts';
import { deleteQueue, insertQueue, recallPostponed } from './queue-store.ts';
import { cancelStart, planStart } from './scheduled-start.ts';
import { MAX_CAMPAIGN_LEADS, type CreateCampaign, type UpdateCampaign } from './schema.ts';
import { checkFields, DEFAULT_SETTINGS, withSettings } from './settings.ts';
import { nextStatus } from './state.ts';
import { insertCampaign, markCampaignDeleted, saveCampaign, type CampaignRow } from './store.ts';

export { requireCampaign } from './lookup.ts';
export type { CampaignRow } from './store.ts';

type CampaignsContext = Pick<AppContext, 'db' | 'clock' | 'jobs'>;

/**
 * Makes a campaign and its list of leads. Throws ApiError `missing_parameter`, `invalid_parameter`, or that the agent, a phone
 * number or a lead does not exist.
 */
export async function createCampaign(context: CampaignsContext, owner: Owner, body: CreateCampaign, id?: string): Promise<CampaignRow> {
  const nowMs = context.clock.now();
  if (!body.lead_ids && !body.lead_filter) throw new ApiError('missing_parameter', 'lead_ids or lead_filter is required.', { param: 'lead_ids' });
  checkFields(body, nowMs);
  return context.db.transaction(async (transaction) => {
    await checkReferences(transaction, owner, body);
    const leadIds = await selectList(transaction, owner, body);
    const now = new Date(nowMs);
    const row = await insertCampaign(transaction, {
      id: id ?? newId(nowMs), account_id: owner.accountId, livemode: owner.livemode, name: body.name, agent_id: body.agent_id,
      status: body.scheduled_at ? 'scheduled' : 'idle', paused_reason: null, lead_filter: body.lead_filter ?? null,
      scheduled_at: body.scheduled_at ? new Date(body.scheduled_at) : null, ...withSettings(DEFAULT_SETTINGS, body), cost_micros: 0, recent_calls: '',
      lead_count: leadIds.length, pending: leadIds.length, in_flight: 0, completed: 0, failed: 0, skipped: 0,
      started_at: null, completed_at: null, created_at: now, updated_at: now,
    });
    await insertQueue(transaction, row.id, leadIds);
    await planStart(context.jobs, transaction, row);
    return row;
  });
}

/**
 * Changes the fields that were sent. Throws ApiError `campaign_in_progress` while it runs, and `invalid_campaign_state` for a
 * list or a time that comes too late.
 */
export async function changeCampaign(context: CampaignsContext, owner: Owner, id: string, body: UpdateCampaign): Promise<CampaignRow> {
  checkFields(body, context.clock.now());
  return context.db.transaction(async (transaction) => {
    const row = await requireCampaign(transaction, owner, id, 'lock');
    await checkReferences(transaction, owner, body);
    const leadIds = await selectList(transaction, owner, body);
    if (row.status === 'running') throw new ApiError('campaign_in_progress');
    if (Object.keys(body).length === 0) return row;
    const changed: CampaignRow = {
      ...row, ...withSettings(row, body), name: body.name ?? row.name, agent_id: body.agent_id ?? row.agent_id,
      ...(body.scheduled_at === undefined ? {} : rescheduled(row, body.scheduled_at)),
      ...(leadIds ? relisted(row, leadIds.length, body) : {}),
    };
    if (leadIds) {
      await deleteQueue(transaction, row.id);
      await insertQueue(transaction, row.id, leadIds);
    } else if (body.calling_hours !== undefined || body.agent_id !== undefined) {
      await recallPostponed(transaction, row.id, changed.retry.interval_minutes);
    }
    if (body.scheduled_at !== undefined) {
      await cancelStart(context.jobs, transaction, row);
      await planStart(context.jobs, transaction, changed);
    }
    return saveCampaign(transaction, changed, new Date(context.clock.now()));
  });
}

/** Throws ApiError `campaign_in_progress` while it runs. */
export function deleteCampaign(context: CampaignsContext, owner: Owner, id: string): Promise<void> {
  return context.db.transaction(async (transaction) => {
    const row = await requireCampaign(transaction, owner, id, 'lock');
    if (row.status === 'running') throw new ApiError('campaign_in_progress', undefined, { param: 'id' });
    await cancelStart(context.jobs, transaction, row);
    await markCampaignDeleted(transaction, row.id, new Date(context.clock.now()));
    await deleteQueue(transaction, row.id);
  });
}

/** What the body names must exist, in the same account and mode. */
async function checkReferences(db: Queryable, owner: Owner, body: UpdateCampaign): Promise<void> {
  if (body.agent_id !== undefined) await requireAgent(db, owner, body.agent_id, 'agent_id');
  for (const [index, id] of (body.from_phone_number_ids ?? []).entries()) await requirePhoneNumber(db, owner, id, `from_phone_number_ids[${index}]`);
}

/** The leads the body asks for, in its order; undefined: it asks for none. Throws ApiError `lead_not_found`, `key_mode_mismatch`, `invalid_parameter`. */
async function selectList(db: Queryable, owner: Owner, body: CreateCampaign): Promise<string[]>;
async function selectList(db: Queryable, owner: Owner, body: UpdateCampaign): Promise<string[] | undefined>;
async function selectList(db: Queryable, owner: Owner, { lead_ids, lead_filter }: UpdateCampaign): Promise<string[] | undefined> {
  if (lead_ids) {
    await selectLeadsForCampaign(db, owner, { ids: lead_ids });
    return lead_ids;
  }
  if (!lead_filter) return undefined;
  const ids = await selectLeadsForCampaign(db, owner, { tags: lead_filter.tags, most: MAX_CAMPAIGN_LEADS + 1 });
  if (ids.length === 0) throw new ApiError('invalid_parameter', `No lead has the tags ${lead_filter.tags.join(', ')}.`, { param: 'lead_filter' });
  if (ids.length > MAX_CAMPAIGN_LEADS) throw new ApiError('invalid_parameter', `More than ${MAX_CAMPAIGN_LEADS} leads have these tags; a campaign takes no more.`, { param: 'lead_filter' });
  return ids;
}

function rescheduled(row: CampaignRow, scheduledAt: string | null): Pick<CampaignRow, 'status' | 'scheduled_at'> {
  const status = nextStatus(row.status, scheduledAt === null ? 'unschedule' : 'schedule');
  if (status === undefined) throw new ApiError('invalid_campaign_state', `A campaign that is ${row.status} cannot be scheduled; start it.`, { param: 'scheduled_at' });
  return { status, scheduled_at: scheduledAt === null ? null : new Date(scheduledAt) };
}

function relisted(row: CampaignRow, count: number, body: UpdateCampaign): Pick<CampaignRow, 'lead_filter' | 'lead_count' | 'pending'> {
  if (row.started_at !== null) throw new ApiError('invalid_campaign_state', 'A campaign that has been started keeps its leads; make another for others.', { param: body.lead_ids ? 'lead_ids' : 'lead_filter' });
  return { lead_filter: body.lead_filter ?? null, lead_count: count, pending: count };
}
