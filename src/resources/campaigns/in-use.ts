import type { Queryable } from '../../db/database.ts';
import { existsRunningCampaign } from './store.ts';

/** Whether a running campaign calls with the agent, so that it cannot be deleted. */
export function isInRunningCampaign(db: Queryable, agentId: string): Promise<boolean> {
  return existsRunningCampaign(db, agentId);
}
