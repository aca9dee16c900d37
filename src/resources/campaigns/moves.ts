import { ApiError } from '../../api/errors.ts';
import type { AppContext } from '../../context.ts';
import { requireAgent } from '../agents/actions.ts';
import { findAgentOf } from './campaign-agent.ts';
import { requireCampaign, type Owner } from './lookup.ts';
import { releaseHeld, releaseUndialled, requestHangUps, type Lease, type LiveLeadRow } from './queue-store.ts';
import { cancelStart } from './scheduled-start.ts';
import { nextStatus, type AutomaticReason, type CampaignMove } from './state.ts';
import { lockCampaign, saveCampaign, type CampaignRow } from './store.ts';
import { halt, released, running, saveProgress } from './transitions.ts';

export type MovesContext = Pick<AppContext, 'db' | 'clock' | 'jobs' | 'events' | 'liveCalls' | 'log'>;

/** `start` or `resume`: its leads are called from now on. Throws ApiError `invalid_campaign_state`, or that its agent is gone. */
export function runCampaign(context: MovesContext, owner: Owner, id: string, move: 'start' | 'resume'): Promise<CampaignRow> {
  return context.db.transaction(async (transaction) => {
    const row = await requireCampaign(transaction, owner, id, 'lock');
    // Kept, so that it cannot be deleted meanwhile.
    await requireAgent(transaction, owner, row.agent_id, 'agent_id', 'keep');
    requireMove(row, move);
    await cancelStart(context.jobs, transaction, row);
    return saveProgress(context, transaction, running(row, context.clock.now()));
  });
}

/** No new calls are placed; those in flight go on to their end. Throws ApiError `invalid_campaign_state`. */
export function stopCampaign(context: MovesContext, owner: Owner, id: string): Promise<CampaignRow> {
  return context.db.transaction(async (transaction) => {
    const row = await requireCampaign(transaction, owner, id, 'lock');
    const status = requireMove(row, 'stop');
    await cancelStart(context.jobs, transaction, row);
    const undialled = await releaseUndialled(transaction, row.id);
    return saveCampaign(transaction, { ...released(row, undialled), status, paused_reason: null }, new Date(context.clock.now()));
  });
}

/** No new calls are placed, and those in flight are hung up, whatever the status; their leads become pending again. */
export async function pauseCampaign(context: MovesContext, owner: Owner, id: string): Promise<CampaignRow> {
  const calls = await context.db.transaction(async (transaction) => {
    const row = await requireCampaign(transaction, owner, id, 'lock');
    const status = requireMove(row, 'pause');
    await cancelStart(context.jobs, transaction, row);
    const undialled = await releaseUndialled(transaction, row.id);
    const live = await requestHangUps(transaction, row.id);
    const paused_reason = status === row.status ? row.paused_reason : 'requested';
    await saveCampaign(transaction, { ...released(row, undialled), status, paused_reason }, new Date(context.clock.now()));
    return live;
  });
  await hangUp(context, id, calls);
  return requireCampaign(context.db, owner, id);
}

/** Pauses a campaign that cannot go on. Its calls in flight go on to their end. */
export function haltCampaign(context: MovesContext, id: string, reason: AutomaticReason): Promise<void> {
  return context.db.transaction(async (transaction) => {
    const row = await lockCampaign(transaction, id);
    if (!row || nextStatus(row.status, 'halt') === undefined) return;
    await cancelStart(context.jobs, transaction, row);
    await saveCampaign(transaction, await halt(transaction, row, reason), new Date(context.clock.now()));
  });
}

/** Does what the job of `planStart` is for; nothing when the campaign was moved, rescheduled or deleted since. */
export function startScheduled(context: MovesContext, payload: { campaign_id?: unknown; scheduled_at?: unknown }): Promise<void> {
  return context.db.transaction(async (transaction) => {
    const row = await lockCampaign(transaction, String(payload.campaign_id));
    if (!row || row.scheduled_at?.toISOString() !== payload.scheduled_at || nextStatus(row.status, 'fall_due') === undefined) return;
    const begun = (await findAgentOf(transaction, row, 'keep')) ? running(row, context.clock.now()) : await halt(transaction, row, 'agent_deleted');
    await saveProgress(context, transaction, begun);
  });
}

/** A call of another node stays in flight until that node, which finds it marked, has hung it up. */
async function hangUp(context: MovesContext, id: string, calls: readonly LiveLeadRow[]): Promise<void> {
  const hungUp = await Promise.all(calls.map(async ({ call_id, lead_id, node_id, claim }): Promise<Lease[]> => {
    const ended = await context.liveCalls.hangUp(call_id, 'campaign_paused').catch((error: unknown) => {
      context.log.error({ campaign: id, call: call_id, error: String(error) }, 'a call of a paused campaign could not be hung up');
      return false;
    });
    return ended ? [{ campaignId: id, leadId: lead_id, node: node_id, claim }] : [];
  }));
  const leases = hungUp.flat();
  if (leases.length > 0) await releaseLeads(context, id, leases);
}

/** Leads whose call was hung up by a pause, or was never placed: pending again, as if this attempt had not been. */
export function releaseLeads(context: Pick<AppContext, 'db' | 'clock'>, campaignId: string, leases: readonly Lease[]): Promise<void> {
  return context.db.transaction(async (transaction) => {
    const row = await lockCampaign(transaction, campaignId);
    if (row) await saveCampaign(transaction, released(row, await releaseHeld(transaction, campaignId, leases)), new Date(context.clock.now()));
  });
}

function requireMove(row: CampaignRow, move: CampaignMove): CampaignRow['status'] {
  const status = nextStatus(row.status, move);
  if (status === undefined) throw new ApiError('invalid_campaign_state', `A campaign that is ${row.status} cannot ${move}.`);
  return status;
}
