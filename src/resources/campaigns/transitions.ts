import type { AppContext } from '../../context.ts';
import type { Queryable, Transaction } from '../../db/database.ts';
import { presentCampaign } from './present.ts';
import { releaseUndialled } from './queue-store.ts';
import { nextStatus, type AutomaticReason } from './state.ts';
import { saveCampaign, type CampaignRow } from './store.ts';

export type TransitionContext = Pick<AppContext, 'clock' | 'events'>;

/** Saves a campaign whose leads have changed. One that runs and has none left is completed, which is told once. */
export async function saveProgress(context: TransitionContext, transaction: Transaction, row: CampaignRow): Promise<CampaignRow> {
  const now = new Date(context.clock.now());
  const finished = isListDone(row) ? nextStatus(row.status, 'finish') : undefined;
  if (finished === undefined) return saveCampaign(transaction, row, now);
  const saved = await saveCampaign(transaction, { ...row, status: finished, completed_at: now }, now);
  transaction.afterCommit(() => context.events.emit({
    accountId: saved.account_id, livemode: saved.livemode, event: 'campaignCompleted', data: presentCampaign(saved), eventKey: `campaignCompleted:${saved.id}`,
  }));
  return saved;
}

export function isListDone({ pending, in_flight }: CampaignRow): boolean {
  return pending + in_flight === 0;
}

/** The row as it runs from now on: failures of an earlier run no longer count. */
export function running(row: CampaignRow, nowMs: number): CampaignRow {
  return { ...row, status: 'running', paused_reason: null, recent_calls: '', started_at: row.started_at ?? new Date(nowMs) };
}

/** The row paused for a reason of ours, unchanged where there is nothing to pause. Calls in flight go on to their end. */
export async function halt(db: Queryable, row: CampaignRow, reason: AutomaticReason): Promise<CampaignRow> {
  const status = nextStatus(row.status, 'halt');
  return status === undefined ? row : { ...released(row, await releaseUndialled(db, row.id)), status, paused_reason: reason };
}

/** The row after `count` of its leads in flight became pending again. */
export function released(row: CampaignRow, count: number): CampaignRow {
  return { ...row, pending: row.pending + count, in_flight: row.in_flight - count };
}
