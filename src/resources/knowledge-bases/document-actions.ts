import { ApiError } from '../../api/errors.ts';
import type { Upload } from '../../api/multipart-rules.ts';
import type { AppContext } from '../../context.ts';
import type { Queryable } from '../../db/database.ts';
import { formatOf } from './document-format.ts';
import { deleteDocumentRow, findDocument, insertDocument, insertSource, keptSourceBytes, restartDocument, type DocumentRow, type NewDocument } from './document-store.ts';
import { requireKnowledgeBase } from './lookup.ts';
import { DOCUMENT_JOB, MAX_PASSAGES } from './processing.ts';
import type { CreateDocument } from './schema.ts';
import { contentsOf, NO_CONTENTS } from './store.ts';

interface Owner { accountId: string; livemode: boolean }
type DocumentContext = Pick<AppContext, 'db' | 'clock' | 'guard' | 'jobs'>;

const MAX_DOCUMENTS = 1000;
const MAX_TITLE = 200;
/** Uploads of one base that wait to be read, or could not be and are kept to be tried again. */
const MAX_KEPT_BYTES = 200 * 1024 * 1024;

type Source = Pick<NewDocument, 'title' | 'source' | 'format' | 'url' | 'filename' | 'size_bytes'> & { data: Buffer | undefined };

/**
 * Adds a document and has it read in the background.
 * Throws ApiError `missing_parameter`, `invalid_parameter`, `unsafe_url`, `unsupported_document`, `knowledge_base_full`.
 */
export async function addDocument(context: DocumentContext, owner: Owner, knowledgeBaseId: string, given: { id: string; body: CreateDocument; upload: Upload | undefined }): Promise<DocumentRow> {
  const { data, ...source } = await sourceOf(context, given.body, given.upload);
  return context.db.transaction(async (transaction) => {
    await requireKnowledgeBase(transaction, owner, knowledgeBaseId, 'id', 'change');
    await requireRoom(transaction, owner, knowledgeBaseId, data?.length ?? 0);
    const row = await insertDocument(transaction, {
      id: given.id, account_id: owner.accountId, livemode: owner.livemode, knowledge_base_id: knowledgeBaseId, ...source, created_at: new Date(context.clock.now()),
    });
    if (data) await insertSource(transaction, row.id, data);
    await context.jobs.enqueue(transaction, { kind: DOCUMENT_JOB, payload: { document_id: row.id }, name: row.id });
    return row;
  });
}

/** Throws ApiError `knowledge_document_not_found`, or as `requireKnowledgeBase` does. */
export async function requireDocument(db: Queryable, owner: Owner, knowledgeBaseId: string, id: string, lock: 'lock' | 'read' = 'read'): Promise<DocumentRow> {
  await requireKnowledgeBase(db, owner, knowledgeBaseId, 'id', lock === 'lock' ? 'keep' : 'read');
  const row = await findDocument(db, owner.accountId, knowledgeBaseId, id, lock);
  if (!row) throw new ApiError('knowledge_document_not_found', `No document ${id} in this knowledge base.`, { param: 'document_id' });
  return row;
}

/** Its passages are found no more. */
export function deleteDocument(context: DocumentContext, owner: Owner, knowledgeBaseId: string, id: string): Promise<void> {
  return context.db.transaction(async (transaction) => {
    await requireDocument(transaction, owner, knowledgeBaseId, id, 'lock');
    await context.jobs.cancel(transaction, DOCUMENT_JOB, id);
    await deleteDocumentRow(transaction, id);
  });
}

/** Reads a document that failed once more. Throws ApiError `document_not_failed`. */
export function retryDocument(context: DocumentContext, owner: Owner, knowledgeBaseId: string, id: string): Promise<DocumentRow> {
  return context.db.transaction(async (transaction) => {
    const row = await requireDocument(transaction, owner, knowledgeBaseId, id, 'lock');
    if (row.status !== 'failed') throw new ApiError('document_not_failed', `The document is ${row.status}; only one that failed can be tried again.`, { param: 'document_id' });
    const restarted = await restartDocument(transaction, id, new Date(context.clock.now()));
    // Without a name: the job of the run that failed has it until it is settled, a moment after its document says so.
    await context.jobs.enqueue(transaction, { kind: DOCUMENT_JOB, payload: { document_id: id } });
    return restarted;
  });
}

async function sourceOf(context: DocumentContext, body: CreateDocument, upload: Upload | undefined): Promise<Source> {
  const given = [body.text !== undefined && 'text', body.url !== undefined && 'url', upload && 'file'].filter((name) => typeof name === 'string');
  if (given.length === 0) throw new ApiError('missing_parameter', 'Send text with a title, a url, or a file.', { param: 'text' });
  if (given.length > 1) throw new ApiError('invalid_parameter', `Send one of text, url and file, not ${given.join(' and ')}.`, { param: given[1] ?? 'text' });
  if (upload) return uploaded(body, upload);
  return body.url === undefined ? pasted(body.title, body.text ?? '') : addressed(context, body.title, body.url);
}

function pasted(title: string | undefined, text: string): Source {
  if (title === undefined) throw new ApiError('missing_parameter', 'title is required with text.', { param: 'title' });
  if (text.trim() === '') throw new ApiError('invalid_parameter', 'text must not be blank.', { param: 'text' });
  const data = Buffer.from(text, 'utf8');
  return { title, source: 'text', format: 'md', url: null, filename: null, size_bytes: data.length, data };
}

async function addressed({ guard }: DocumentContext, title: string | undefined, address: string): Promise<Source> {
  const fault = await guard.fault(address);
  if (fault !== undefined) throw new ApiError('unsafe_url', `url ${fault}.`, { param: 'url' });
  const { host, pathname } = new URL(address);
  return { title: title ?? storableName(`${host}${pathname}`, host), source: 'url', format: null, url: address, filename: null, size_bytes: null, data: undefined };
}

function uploaded(body: CreateDocument, { data, filename, mediaType }: Upload): Source {
  if (data.length === 0) throw new ApiError('invalid_parameter', 'The file is empty.', { param: 'file' });
  const format = formatOf(data, filename, mediaType);
  if (!format) throw new ApiError('unsupported_document', `${storableName(filename, 'The file')} is none of txt, md, html, pdf, docx and csv.`, { param: 'file' });
  const name = storableName(filename, `document.${format}`);
  return { title: body.title ?? name, source: 'file', format, url: null, filename: name, size_bytes: data.length, data };
}

/** A name from outside as it can be kept and shown. */
function storableName(name: string, otherwise: string): string {
  const printable = name.toWellFormed().replaceAll(/\p{Cc}/gu, '').trim().slice(0, MAX_TITLE).toWellFormed();
  return printable === '' ? otherwise.slice(0, MAX_TITLE) : printable;
}

async function requireRoom(db: Queryable, { accountId }: Owner, knowledgeBaseId: string, bytes: number): Promise<void> {
  const { documents, passages } = (await contentsOf(db, accountId, [knowledgeBaseId])).get(knowledgeBaseId) ?? NO_CONTENTS;
  const full = (what: string): ApiError => new ApiError('knowledge_base_full', `The knowledge base holds ${what}. Delete some, or use another knowledge base.`);
  if (documents >= MAX_DOCUMENTS) throw full(`${MAX_DOCUMENTS} documents, as many as it can`);
  if (passages >= MAX_PASSAGES) throw full(`${MAX_PASSAGES} passages, as many as it can`);
  if (bytes > 0 && (await keptSourceBytes(db, knowledgeBaseId)) + bytes > MAX_KEPT_BYTES) throw full('too many uploads that wait to be read or that failed');
}
