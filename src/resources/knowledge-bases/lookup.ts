import { ApiError } from '../../api/errors.ts';
import type { Queryable } from '../../db/database.ts';
import type { RowLock } from '../../db/row-lock.ts';
import { findKnowledgeBase, type KnowledgeBaseRow } from './store.ts';

/**
 * The knowledge base `id` names, for a caller of its own account and mode; unless `lock` says otherwise it is kept from
 * being deleted until the transaction ends. Throws ApiError `knowledge_base_not_found`, `key_mode_mismatch`.
 */
export async function requireKnowledgeBase(db: Queryable, owner: { accountId: string; livemode: boolean }, id: string, param = 'id', lock: RowLock = 'keep'): Promise<KnowledgeBaseRow> {
  const row = await findKnowledgeBase(db, owner.accountId, id, lock);
  if (!row) throw new ApiError('knowledge_base_not_found', `No knowledge base ${id} in this account.`, { param });
  if (row.livemode !== owner.livemode) throw new ApiError('key_mode_mismatch', `Knowledge base ${id} belongs to ${row.livemode ? 'live' : 'test'} mode.`, { param });
  return row;
}
