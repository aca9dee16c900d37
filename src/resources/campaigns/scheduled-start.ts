import type { AppContext } from '../../context.ts';
import type { Queryable } from '../../db/database.ts';
import type { CampaignRow } from './store.ts';

/** The job that starts a campaign at its time. */
export const START_JOB = 'campaign_start';

type Jobs = AppContext['jobs'];

/** In the transaction that schedules it. A campaign that is not scheduled has no job. */
export async function planStart(jobs: Jobs, db: Queryable, row: CampaignRow): Promise<void> {
  if (row.status !== 'scheduled' || row.scheduled_at === null) return;
  await jobs.enqueue(db, { kind: START_JOB, name: nameOf(row), payload: { campaign_id: row.id, scheduled_at: row.scheduled_at.toISOString() }, runAt: row.scheduled_at });
}

/** It was started, paused, stopped, deleted, or has another time now. A job that has begun finds that out by itself. */
export async function cancelStart(jobs: Jobs, db: Queryable, row: CampaignRow): Promise<void> {
  if (row.status === 'scheduled') await jobs.cancel(db, START_JOB, nameOf(row));
}

/** A job for each time, so that a new one is made while that of the old time is just running. */
function nameOf(row: CampaignRow): string {
  return `${row.id}@${row.scheduled_at?.toISOString()}`;
}
