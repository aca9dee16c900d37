import { ApiError } from '../../api/errors.ts';
import type { AppContext } from '../../context.ts';
import type { Queryable } from '../../db/database.ts';
import type { RowLock } from '../../db/row-lock.ts';
import { newId } from '../../db/id.ts';
import { isInLiveCall } from '../calls/in-use.ts';
import { isInRunningCampaign } from '../campaigns/in-use.ts';
import { requireKnowledgeBase } from '../knowledge-bases/lookup.ts';
import { requireMcpServers } from '../mcp-servers/lookup.ts';
import { detachAgent, requirePhoneNumber } from '../phone-numbers/lookup.ts';
import { changeDefinition, newDefinition } from './definition.ts';
import type { CreateAgent, UpdateAgent } from './schema.ts';
import { deleteToolHeaders, findAgent, insertAgent, markAgentDeleted, updateAgent, type AgentRow } from './store.ts';
import { keepToolHeaders, readToolHeaders } from './tool-headers.ts';
import { checkTools, fillTools } from './tools.ts';

export type { AgentRow } from './store.ts';

interface Owner { accountId: string; livemode: boolean }
type AgentContext = Pick<AppContext, 'db' | 'engines' | 'clock' | 'guard' | 'keyring'>;

/** Throws ApiError for a body that does not hold together (see `newDefinition`, `checkTools`), or names what does not exist. */
export async function createAgent(context: AgentContext, owner: Owner, body: CreateAgent, id?: string): Promise<AgentRow> {
  const nowMs = context.clock.now();
  await checkTools(body.tools ?? [], context.guard);
  const { tools, headers } = fillTools(body.tools ?? [], { tools: [], headers: {} });
  const definition = newDefinition(context.engines, body, tools);
  return context.db.transaction(async (transaction) => {
    await checkReferences(transaction, owner, body);
    const row = await insertAgent(transaction, { id: id ?? newId(nowMs), accountId: owner.accountId, livemode: owner.livemode, definition, now: new Date(nowMs) });
    await keepToolHeaders(transaction, context.keyring, row.id, headers);
    return row;
  });
}

/** The agent `id` names, for a caller of its own account and mode. Throws ApiError `agent_not_found`, `key_mode_mismatch`. */
export async function requireAgent(db: Queryable, owner: Owner, id: string, param = 'id', lock: RowLock = 'read'): Promise<AgentRow> {
  const row = await findAgent(db, owner.accountId, id, lock);
  if (!row) throw new ApiError('agent_not_found', `No agent ${id} in this account.`, { param });
  if (row.livemode !== owner.livemode) throw new ApiError('key_mode_mismatch', `Agent ${id} belongs to ${row.livemode ? 'live' : 'test'} mode.`, { param });
  return row;
}

/** Changes the fields that were sent; objects are replaced whole. Throws ApiError as `createAgent` does. */
export async function changeAgent(context: AgentContext, owner: Owner, id: string, body: UpdateAgent): Promise<AgentRow> {
  await checkTools(body.tools ?? [], context.guard);
  return context.db.transaction(async (transaction) => {
    const row = await requireAgent(transaction, owner, id, 'id', 'change');
    if (Object.keys(body).length === 0) return row;
    const tools = body.tools === undefined ? row.definition.tools : await changeTools(context, transaction, row, body.tools ?? []);
    const definition = changeDefinition(context.engines, row.definition, body, tools);
    await checkReferences(transaction, owner, body);
    return updateAgent(transaction, row.id, definition, new Date(context.clock.now()));
  });
}

/** Throws ApiError `agent_in_use` while a live call or a running campaign has it. */
export function deleteAgent(context: Pick<AgentContext, 'db' | 'clock'>, owner: Owner, id: string): Promise<void> {
  return context.db.transaction(async (transaction) => {
    const row = await requireAgent(transaction, owner, id, 'id', 'delete');
    if ((await isInLiveCall(transaction, 'agent_id', row.id)) || (await isInRunningCampaign(transaction, row.id))) throw new ApiError('agent_in_use', undefined, { param: 'id' });
    const now = new Date(context.clock.now());
    await markAgentDeleted(transaction, row.id, now);
    await deleteToolHeaders(transaction, row.id);
    await detachAgent(transaction, row.id, now);
  });
}

async function changeTools({ keyring }: AgentContext, db: Queryable, row: AgentRow, inputs: NonNullable<UpdateAgent['tools']>): Promise<AgentRow['definition']['tools']> {
  const before = await readToolHeaders(db, keyring, row.id);
  const { tools, headers } = fillTools(inputs, { tools: row.definition.tools, headers: before });
  await keepToolHeaders(db, keyring, row.id, headers);
  return tools;
}

/** What the body names must exist, in the same account and mode. */
async function checkReferences(db: Queryable, owner: Owner, body: UpdateAgent): Promise<void> {
  if (body.knowledge_base_id) await requireKnowledgeBase(db, owner, body.knowledge_base_id, 'knowledge_base_id');
  if (body.mcp_server_ids) await requireMcpServers(db, owner, body.mcp_server_ids, 'mcp_server_ids');
  if (body.outbound_phone_number_id) await requirePhoneNumber(db, owner, body.outbound_phone_number_id, 'outbound_phone_number_id');
}
