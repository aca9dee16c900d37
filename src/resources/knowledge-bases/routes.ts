import type { App } from '../../api/app-type.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import type { Recall } from '../../api/recall.ts';
import { Deleted, IdParams, iso, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { changeKnowledgeBase, createKnowledgeBase, deleteKnowledgeBase, readKnowledgeBase, type FilledBase } from './actions.ts';
import { documentRoutes } from './document-routes.ts';
import { requireKnowledgeBase } from './lookup.ts';
import { CreateKnowledgeBase, FoundPassages, KnowledgeBase, KnowledgeBaseList, ListKnowledgeBases, SearchKnowledge, UpdateKnowledgeBase, type KnowledgePassage } from './schema.ts';
import { searchKnowledge, type FoundPassage } from './search.ts';
import { contentsOf, listKnowledgeBaseRows, NO_CONTENTS, type Contents } from './store.ts';

const DEFAULT_PASSAGES = 5;

/** `/v1/knowledge-bases`. */
export function knowledgeBaseRoutes(app: App, context: AppContext): void {
  const { db, keyring } = context;
  const read = { scope: 'knowledge_bases:read' } as const;
  const write = { scope: 'knowledge_bases:write' } as const;

  const recall: Recall = async ({ principal, resourceId }) => present(await readKnowledgeBase(context, principal, resourceId));

  app.post('/v1/knowledge-bases', {
    config: { ...write, recall },
    schema: { summary: 'Create a knowledge base', body: CreateKnowledgeBase, querystring: NoQuery, response: { 201: KnowledgeBase } },
  }, async (request, reply) => reply.code(201).send(present(await createKnowledgeBase(context, request.principal, request.body, request.resourceId))));

  app.get('/v1/knowledge-bases', {
    config: read,
    schema: { summary: 'List knowledge bases', querystring: ListKnowledgeBases, response: { 200: KnowledgeBaseList } },
  }, async ({ query, principal }) => {
    const page = readPage(keyring, query, 'knowledge-bases', principal);
    const rows = await listKnowledgeBaseRows(db, principal.accountId, principal.livemode, page);
    const contents = await contentsOf(db, principal.accountId, rows.map(({ id }) => id));
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), (row) => present({ row, contents: contents.get(row.id) ?? NO_CONTENTS }));
  });

  app.get('/v1/knowledge-bases/:id', {
    config: { ...read, errors: ['knowledge_base_not_found'] },
    schema: { summary: 'Read a knowledge base', params: IdParams, querystring: NoQuery, response: { 200: KnowledgeBase } },
  }, async ({ params, principal }) => present(await readKnowledgeBase(context, principal, params.id)));

  app.patch('/v1/knowledge-bases/:id', {
    config: { ...write, errors: ['knowledge_base_not_found'] },
    schema: { summary: 'Change a knowledge base', params: IdParams, querystring: NoQuery, body: UpdateKnowledgeBase, response: { 200: KnowledgeBase } },
  }, async ({ params, principal, body }) => present(await changeKnowledgeBase(context, principal, params.id, body)));

  app.delete('/v1/knowledge-bases/:id', {
    config: { ...write, errors: ['knowledge_base_not_found', 'knowledge_base_in_use'] },
    schema: { summary: 'Delete a knowledge base', description: 'With all its documents. Refused while an agent uses it.', params: IdParams, querystring: NoQuery, response: { 200: Deleted } },
  }, async ({ params, principal }) => {
    await deleteKnowledgeBase(context, principal, params.id);
    return { id: params.id, object: 'knowledge_base', deleted: true as const };
  });

  app.post('/v1/knowledge-bases/:id/search', {
    config: { ...read, recall: 'no_effect', errors: ['knowledge_base_not_found'] },
    schema: {
      summary: 'Search a knowledge base', description: 'Ranked passages, best first. Send the caller\'s question as it is.',
      params: IdParams, querystring: NoQuery, body: SearchKnowledge, response: { 200: FoundPassages },
    },
  }, async ({ params, principal, body }) => {
    const { id } = await requireKnowledgeBase(db, principal, params.id, 'id', 'read');
    const found = await searchKnowledge(db, id, body.query, body.limit ?? DEFAULT_PASSAGES);
    return { object: 'knowledge_search' as const, data: found.map(presentPassage) };
  });

  documentRoutes(app, context);
}

function present({ row, contents }: FilledBase): KnowledgeBase {
  return {
    id: row.id, object: 'knowledge_base', livemode: row.livemode, name: row.name, description: row.description, status: statusOf(contents),
    document_count: contents.documents, chunk_count: contents.passages, created_at: iso(row.created_at), updated_at: iso(row.updated_at),
  };
}

function statusOf({ documents, processing, failed }: Contents): KnowledgeBase['status'] {
  if (documents === 0) return 'empty';
  if (processing > 0) return 'indexing';
  return failed > 0 ? 'error' : 'ready';
}

function presentPassage(found: FoundPassage): KnowledgePassage {
  return {
    object: 'knowledge_passage', document_id: found.document_id, title: found.title, text: found.text, heading: found.heading === '' ? null : found.heading,
    score: Math.round(found.score * 10_000) / 10_000, start: found.start_offset, end: found.end_offset,
  };
}
