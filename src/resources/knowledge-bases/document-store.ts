import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable } from '../../db/database.ts';
import type { DocumentFormat } from './document-format.ts';

/** The only SQL on documents and on what was uploaded for them. */

export interface DocumentRow {
  id: string;
  account_id: string;
  livemode: boolean;
  knowledge_base_id: string;
  title: string;
  source: 'text' | 'url' | 'file';
  format: DocumentFormat | null;
  url: string | null;
  filename: string | null;
  size_bytes: number | null;
  status: 'processing' | 'ready' | 'failed';
  error: string | null;
  progress: number;
  attempts: number;
  chunk_count: number;
  created_at: Date;
  updated_at: Date;
}

const COLUMNS = 'id, account_id, livemode, knowledge_base_id, title, source, format, url, filename, size_bytes, status, error, progress, attempts, chunk_count, created_at, updated_at';
const PIECE_BYTES = 512 * 1024;

export type NewDocument = Omit<DocumentRow, 'status' | 'error' | 'progress' | 'attempts' | 'chunk_count' | 'updated_at'>;

export async function insertDocument(db: Queryable, row: NewDocument): Promise<DocumentRow> {
  const [inserted] = await db.query<DocumentRow>(
    `INSERT INTO knowledge_document (id, account_id, livemode, knowledge_base_id, title, source, format, url, filename, size_bytes, status, progress, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'processing', 0, $11, $11) RETURNING ${COLUMNS}`,
    [row.id, row.account_id, row.livemode, row.knowledge_base_id, row.title, row.source, row.format, row.url, row.filename, row.size_bytes, row.created_at],
  );
  return inserted as DocumentRow;
}

export async function findDocument(db: Queryable, accountId: string, knowledgeBaseId: string, id: string, lock: 'lock' | 'read' = 'read'): Promise<DocumentRow | undefined> {
  const [row] = await db.query<DocumentRow>(
    `SELECT ${COLUMNS} FROM knowledge_document WHERE account_id = $1 AND knowledge_base_id = $2 AND id = $3${lock === 'lock' ? ' FOR UPDATE' : ''}`, [accountId, knowledgeBaseId, id]);
  return row;
}

export function listDocumentRows(db: Queryable, accountId: string, knowledgeBaseId: string, page: PageRequest): Promise<DocumentRow[]> {
  const { sql, values } = pageSql(page, ['account_id = $1', 'knowledge_base_id = $2'], [accountId, knowledgeBaseId]);
  return db.query<DocumentRow>(`SELECT ${COLUMNS} FROM knowledge_document ${sql}`, values);
}

/** With its passages and what was uploaded. */
export async function deleteDocumentRow(db: Queryable, id: string): Promise<void> {
  await db.query('DELETE FROM knowledge_document WHERE id = $1', [id]);
}

/** Failed becomes processing. */
export async function restartDocument(db: Queryable, id: string, now: Date): Promise<DocumentRow> {
  const [row] = await db.query<DocumentRow>(
    `UPDATE knowledge_document SET status = 'processing', error = NULL, progress = 0, attempts = 0, updated_at = $2 WHERE id = $1 RETURNING ${COLUMNS}`, [id, now]);
  return row as DocumentRow;
}

/** Begins a run: the row with the run's number in `attempts`. Undefined: it is gone, or nothing is to be done. */
export async function beginRun(db: Queryable, id: string): Promise<DocumentRow | undefined> {
  const [row] = await db.query<DocumentRow>(`UPDATE knowledge_document SET attempts = attempts + 1 WHERE id = $1 AND status = 'processing' RETURNING ${COLUMNS}`, [id]);
  return row;
}

/** A run, fenced: one that was overtaken changes nothing. */
export interface Run { id: string; attempts: number }

const FENCE = 'id = $1 AND attempts = $2 AND status = \'processing\'';

export async function lockRun(db: Queryable, run: Run): Promise<boolean> {
  const rows = await db.query(`SELECT id FROM knowledge_document WHERE ${FENCE} FOR UPDATE`, [run.id, run.attempts]);
  return rows.length > 0;
}

export async function noteProgress(db: Queryable, run: Run, percent: number): Promise<void> {
  await db.query(`UPDATE knowledge_document SET progress = $3 WHERE ${FENCE}`, [run.id, run.attempts, percent]);
}

export async function noteFetched(db: Queryable, run: Run, format: DocumentFormat, sizeBytes: number): Promise<void> {
  await db.query(`UPDATE knowledge_document SET format = $3, size_bytes = $4 WHERE ${FENCE}`, [run.id, run.attempts, format, sizeBytes]);
}

export async function markFailed(db: Queryable, run: Run, error: string, now: Date): Promise<void> {
  await db.query(`UPDATE knowledge_document SET status = 'failed', error = $3, updated_at = $4 WHERE ${FENCE}`, [run.id, run.attempts, error, now]);
}

/** What was uploaded is no longer needed. */
export async function markReady(db: Queryable, run: Run, made: { passages: number; searchConfig: string }, now: Date): Promise<void> {
  await db.query(
    `UPDATE knowledge_document SET status = 'ready', progress = 100, chunk_count = $3, search_config = $4, updated_at = $5 WHERE ${FENCE}`,
    [run.id, run.attempts, made.passages, made.searchConfig, now],
  );
  await db.query('DELETE FROM knowledge_source WHERE document_id = $1', [run.id]);
}

export async function insertSource(db: Queryable, documentId: string, data: Buffer): Promise<void> {
  for (let position = 0; position * PIECE_BYTES < data.length; position++) {
    const piece = data.subarray(position * PIECE_BYTES, (position + 1) * PIECE_BYTES);
    await db.query('INSERT INTO knowledge_source (document_id, position, data) VALUES ($1, $2, $3)', [documentId, position, piece]);
  }
}

export async function readSource(db: Queryable, documentId: string, sizeBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(sizeBytes);
  for (let position = 0; position * PIECE_BYTES < sizeBytes; position++) {
    const [piece] = await db.query<{ data: Buffer }>('SELECT data FROM knowledge_source WHERE document_id = $1 AND position = $2', [documentId, position]);
    if (!piece) throw new Error(`Piece ${position} of document ${documentId} is gone.`);
    whole.set(piece.data, position * PIECE_BYTES);
  }
  return whole;
}

/** Bytes of uploads that were not read yet, or could not be. */
export async function keptSourceBytes(db: Queryable, knowledgeBaseId: string): Promise<number> {
  const [row] = await db.query<{ bytes: number }>(
    `SELECT coalesce(sum(size_bytes), 0)::bigint AS bytes FROM knowledge_document WHERE knowledge_base_id = $1 AND status <> 'ready' AND source <> 'url'`, [knowledgeBaseId]);
  return row?.bytes ?? 0;
}
