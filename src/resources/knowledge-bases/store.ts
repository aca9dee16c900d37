import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable } from '../../db/database.ts';
import { LOCK_SQL, type RowLock } from '../../db/row-lock.ts';

/** The only SQL on knowledge bases; that on their documents is in document-store.ts, that on passages in passage-store.ts. */

export interface KnowledgeBaseRow {
  id: string;
  account_id: string;
  livemode: boolean;
  name: string;
  description: string | null;
  index_number: number;
  created_at: Date;
  updated_at: Date;
}

/** What its documents add up to. */
export interface Contents { documents: number; processing: number; failed: number; passages: number }
export const NO_CONTENTS: Contents = { documents: 0, processing: 0, failed: 0, passages: 0 };

const COLUMNS = 'id, account_id, livemode, name, description, index_number, created_at, updated_at';

export async function insertKnowledgeBase(db: Queryable, row: Omit<KnowledgeBaseRow, 'index_number' | 'updated_at'>): Promise<KnowledgeBaseRow> {
  const [inserted] = await db.query<KnowledgeBaseRow>(
    `INSERT INTO knowledge_base (id, account_id, livemode, name, description, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6) RETURNING ${COLUMNS}`,
    [row.id, row.account_id, row.livemode, row.name, row.description, row.created_at],
  );
  return inserted as KnowledgeBaseRow;
}

/** Of any mode. */
export async function findKnowledgeBase(db: Queryable, accountId: string, id: string, lock: RowLock): Promise<KnowledgeBaseRow | undefined> {
  const [row] = await db.query<KnowledgeBaseRow>(`SELECT ${COLUMNS} FROM knowledge_base WHERE account_id = $1 AND id = $2${LOCK_SQL[lock]}`, [accountId, id]);
  return row;
}

export function listKnowledgeBaseRows(db: Queryable, accountId: string, livemode: boolean, page: PageRequest): Promise<KnowledgeBaseRow[]> {
  const { sql, values } = pageSql(page, ['account_id = $1', 'livemode = $2'], [accountId, livemode]);
  return db.query<KnowledgeBaseRow>(`SELECT ${COLUMNS} FROM knowledge_base ${sql}`, values);
}

/** By base; one without documents is absent. */
export async function contentsOf(db: Queryable, accountId: string, ids: readonly string[]): Promise<Map<string, Contents>> {
  const rows = await db.query<Contents & { id: string }>(
    `SELECT knowledge_base_id AS id, count(*)::int AS documents, count(*) FILTER (WHERE status = 'processing')::int AS processing,
       count(*) FILTER (WHERE status = 'failed')::int AS failed, sum(chunk_count)::int AS passages
     FROM knowledge_document WHERE account_id = $1 AND knowledge_base_id = ANY($2) GROUP BY knowledge_base_id`, [accountId, ids]);
  return new Map(rows.map(({ id, ...contents }) => [id, contents]));
}

export async function updateKnowledgeBase(db: Queryable, row: KnowledgeBaseRow, now: Date): Promise<KnowledgeBaseRow> {
  const [updated] = await db.query<KnowledgeBaseRow>(
    `UPDATE knowledge_base SET name = $3, description = $4, updated_at = $5 WHERE account_id = $1 AND id = $2 RETURNING ${COLUMNS}`,
    [row.account_id, row.id, row.name, row.description, now],
  );
  return updated as KnowledgeBaseRow;
}

/** With all that is in it. */
export async function deleteKnowledgeBaseRow(db: Queryable, accountId: string, id: string): Promise<void> {
  await db.query('DELETE FROM knowledge_base WHERE account_id = $1 AND id = $2', [accountId, id]);
}
