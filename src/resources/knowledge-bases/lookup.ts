import { ApiError } from '../../api/errors.ts';
import type { Queryable } from '../../db/database.ts';

/** That `id` is a knowledge base of this account and mode. Throws ApiError `knowledge_base_not_found`, `key_mode_mismatch`. */
export async function requireKnowledgeBase(_db: Queryable, _owner: { accountId: string; livemode: boolean }, id: string, param = 'id'): Promise<void> {
  throw new ApiError('knowledge_base_not_found', `No knowledge base ${id} in this account.`, { param });
}
