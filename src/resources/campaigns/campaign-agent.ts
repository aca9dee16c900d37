import { ApiError } from '../../api/errors.ts';
import type { Queryable } from '../../db/database.ts';
import { requireAgent, type AgentRow } from '../agents/actions.ts';
import type { CampaignRow } from './store.ts';

/** The agent that calls the list; undefined: it was deleted. With `keep` it stays until the end of the transaction. */
export async function findAgentOf(db: Queryable, row: CampaignRow, lock: 'keep' | 'read'): Promise<AgentRow | undefined> {
  try {
    return await requireAgent(db, { accountId: row.account_id, livemode: row.livemode }, row.agent_id, 'agent_id', lock);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'agent_not_found') return undefined;
    throw error;
  }
}
