import { ApiError } from '../../api/errors.ts';
import type { AppContext } from '../../context.ts';
import { isKnowledgeBaseInUse } from '../agents/in-use.ts';
import { requireKnowledgeBase } from './lookup.ts';
import type { CreateKnowledgeBase, UpdateKnowledgeBase } from './schema.ts';
import { contentsOf, deleteKnowledgeBaseRow, insertKnowledgeBase, NO_CONTENTS, updateKnowledgeBase, type Contents, type KnowledgeBaseRow } from './store.ts';

interface Owner { accountId: string; livemode: boolean }
type KnowledgeContext = Pick<AppContext, 'db' | 'clock'>;

/** A base and what is in it. */
export interface FilledBase { row: KnowledgeBaseRow; contents: Contents }

export async function createKnowledgeBase(context: KnowledgeContext, owner: Owner, body: CreateKnowledgeBase, id: string): Promise<FilledBase> {
  const created_at = new Date(context.clock.now());
  const row = await context.db.transaction((transaction) =>
    insertKnowledgeBase(transaction, { id, account_id: owner.accountId, livemode: owner.livemode, name: body.name, description: body.description ?? null, created_at }));
  return { row, contents: NO_CONTENTS };
}

/** Throws ApiError as `requireKnowledgeBase` does. */
export async function readKnowledgeBase(context: KnowledgeContext, owner: Owner, id: string): Promise<FilledBase> {
  const row = await requireKnowledgeBase(context.db, owner, id, 'id', 'read');
  return { row, contents: (await contentsOf(context.db, owner.accountId, [id])).get(id) ?? NO_CONTENTS };
}

/** Changes the fields that were sent. */
export function changeKnowledgeBase(context: KnowledgeContext, owner: Owner, id: string, body: UpdateKnowledgeBase): Promise<FilledBase> {
  return context.db.transaction(async (transaction) => {
    const row = await requireKnowledgeBase(transaction, owner, id, 'id', 'change');
    const changed = Object.keys(body).length === 0 ? row : await updateKnowledgeBase(transaction, { ...row, ...body }, new Date(context.clock.now()));
    return { row: changed, contents: (await contentsOf(transaction, owner.accountId, [id])).get(id) ?? NO_CONTENTS };
  });
}

/** With all its documents. Throws ApiError `knowledge_base_in_use` while an agent draws on it. */
export function deleteKnowledgeBase(context: KnowledgeContext, owner: Owner, id: string): Promise<void> {
  return context.db.transaction(async (transaction) => {
    await requireKnowledgeBase(transaction, owner, id, 'id', 'delete');
    if (await isKnowledgeBaseInUse(transaction, owner.accountId, id)) {
      throw new ApiError('knowledge_base_in_use', 'An agent uses the knowledge base. Give it another one, or none, first.', { param: 'id' });
    }
    await deleteKnowledgeBaseRow(transaction, owner.accountId, id);
  });
}
