import { startScheduled, type MovesContext } from './moves.ts';
import { START_JOB } from './scheduled-start.ts';

/** What campaigns have done later. Before the jobs are started. */
export function handleCampaignJobs(context: MovesContext): void {
  context.jobs.handle(START_JOB, (payload) => startScheduled(context, payload));
}
