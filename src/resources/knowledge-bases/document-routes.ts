import type { App } from '../../api/app-type.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import type { Recall } from '../../api/recall.ts';
import { Deleted, IdParams, iso, NoBody, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { addDocument, deleteDocument, requireDocument, retryDocument } from './document-actions.ts';
import { MAX_DOCUMENT_BYTES } from './document-fetch.ts';
import { listDocumentRows, type DocumentRow } from './document-store.ts';
import { requireKnowledgeBase } from './lookup.ts';
import { CreateDocument, DocumentParams, KnowledgeDocument, KnowledgeDocumentList, ListDocuments } from './schema.ts';

const DOCUMENTS = '/v1/knowledge-bases/:id/documents';
const FILE = { files: 'file', maxFiles: 1, maxFileBytes: MAX_DOCUMENT_BYTES, tooLarge: 'body_too_large', tooMany: 'invalid_parameter' } as const;

/** `/v1/knowledge-bases/{id}/documents`. */
export function documentRoutes(app: App, context: AppContext): void {
  const { db, keyring } = context;
  const read = { scope: 'knowledge_bases:read' } as const;
  const write = { scope: 'knowledge_bases:write' } as const;
  const missing = ['knowledge_base_not_found', 'knowledge_document_not_found'] as const;

  const recallNew: Recall = async ({ principal, resourceId, params: { id = '' } }) => present(await requireDocument(db, principal, id, resourceId));
  const recallNamed: Recall = async ({ principal, params: { id = '', document_id = '' } }) => present(await requireDocument(db, principal, id, document_id));

  app.post(DOCUMENTS, {
    config: { ...write, recall: recallNew, multipart: FILE, errors: ['knowledge_base_not_found', 'knowledge_base_full', 'unsafe_url', 'unsupported_document', 'body_too_large'] },
    schema: {
      summary: 'Add a document', description: 'Text, an address, or a file. It is read in the background: the answer is the document in status processing.',
      params: IdParams, querystring: NoQuery, body: CreateDocument, response: { 201: KnowledgeDocument },
    },
  }, async ({ params, principal, body, uploads, resourceId }, reply) =>
    reply.code(201).send(present(await addDocument(context, principal, params.id, { id: resourceId, body, upload: uploads?.[0] }))));

  app.get(DOCUMENTS, {
    config: { ...read, errors: ['knowledge_base_not_found'] },
    schema: { summary: 'List a knowledge base\'s documents', params: IdParams, querystring: ListDocuments, response: { 200: KnowledgeDocumentList } },
  }, async ({ params, query, principal }) => {
    const page = readPage(keyring, query, 'knowledge-documents', principal, { knowledge_base_id: params.id });
    const { id } = await requireKnowledgeBase(db, principal, params.id, 'id', 'read');
    const rows = await listDocumentRows(db, principal.accountId, id, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), present);
  });

  app.get(`${DOCUMENTS}/:document_id`, {
    config: { ...read, errors: missing },
    schema: { summary: 'Read a document', params: DocumentParams, querystring: NoQuery, response: { 200: KnowledgeDocument } },
  }, async ({ params, principal }) => present(await requireDocument(db, principal, params.id, params.document_id)));

  app.delete(`${DOCUMENTS}/:document_id`, {
    config: { ...write, errors: missing },
    schema: { summary: 'Delete a document', params: DocumentParams, querystring: NoQuery, response: { 200: Deleted } },
  }, async ({ params, principal }) => {
    await deleteDocument(context, principal, params.id, params.document_id);
    return { id: params.document_id, object: 'knowledge_document', deleted: true as const };
  });

  app.post(`${DOCUMENTS}/:document_id/retry`, {
    config: { ...write, recall: recallNamed, errors: [...missing, 'document_not_failed'] },
    schema: { summary: 'Read a failed document once more', params: DocumentParams, querystring: NoQuery, body: NoBody, response: { 200: KnowledgeDocument } },
  }, async ({ params, principal }) => present(await retryDocument(context, principal, params.id, params.document_id)));
}

function present(row: DocumentRow): KnowledgeDocument {
  return {
    id: row.id, object: 'knowledge_document', livemode: row.livemode, knowledge_base_id: row.knowledge_base_id, title: row.title, source: row.source, format: row.format,
    url: row.url, filename: row.filename, size_bytes: row.size_bytes, status: row.status, error: row.error, progress: row.progress, chunk_count: row.chunk_count,
    created_at: iso(row.created_at), updated_at: iso(row.updated_at),
  };
}
