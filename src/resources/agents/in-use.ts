import type { Queryable } from '../../db/database.ts';
import { existsAgentWith } from './store.ts';

/** Whether an agent draws on the knowledge base, so that it cannot be deleted. */
export function isKnowledgeBaseInUse(db: Queryable, accountId: string, id: string): Promise<boolean> {
  return existsAgentWith(db, accountId, 'knowledge_base_id', id);
}

/** Whether an agent has the MCP server, so that it cannot be deleted. */
export function isMcpServerInUse(db: Queryable, accountId: string, id: string): Promise<boolean> {
  return existsAgentWith(db, accountId, 'mcp_server_ids', id);
}
