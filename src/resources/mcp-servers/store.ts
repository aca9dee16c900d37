import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable } from '../../db/database.ts';

/** The only SQL on MCP servers. */

/** A tool as the server described it, and whether agents may use it. */
export interface McpToolRow { name: string; description: string; input_schema: Record<string, unknown>; enabled: boolean }

export interface McpServerRow {
  id: string;
  account_id: string;
  livemode: boolean;
  name: string;
  url: string;
  transport: 'streamable_http' | 'sse';
  /** Sealed. */
  headers: Buffer | null;
  headers_set: string[];
  enabled: boolean;
  tools: McpToolRow[];
  tool_timeout_ms: number;
  status: 'connected' | 'error' | 'unknown';
  last_error: string | null;
  refreshed_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

/** `keep`: not deleted before the transaction ends. `lock`: not changed either. */
export type RowLock = 'read' | 'keep' | 'lock';

const LOCKS: Readonly<Record<RowLock, string>> = { read: '', keep: ' FOR KEY SHARE', lock: ' FOR UPDATE' };
const COLUMNS = 'id, account_id, livemode, name, url, transport, headers, headers_set, enabled, tools, tool_timeout_ms, status, last_error, refreshed_at, created_at, updated_at';

export async function insertMcpServer(db: Queryable, row: McpServerRow): Promise<McpServerRow> {
  const [inserted] = await db.query<McpServerRow>(
    `INSERT INTO mcp_server (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) RETURNING ${COLUMNS}`,
    [
      row.id, row.account_id, row.livemode, row.name, row.url, row.transport, row.headers, row.headers_set, row.enabled, JSON.stringify(row.tools),
      row.tool_timeout_ms, row.status, row.last_error, row.refreshed_at, row.created_at, row.updated_at,
    ],
  );
  return inserted as McpServerRow;
}

/** Of any mode. */
export function findMcpServers(db: Queryable, accountId: string, ids: readonly string[], lock: RowLock): Promise<McpServerRow[]> {
  return db.query<McpServerRow>(`SELECT ${COLUMNS} FROM mcp_server WHERE account_id = $1 AND id = ANY($2) ORDER BY id${LOCKS[lock]}`, [accountId, ids]);
}

export function listMcpServerRows(db: Queryable, accountId: string, livemode: boolean, page: PageRequest): Promise<McpServerRow[]> {
  const { sql, values } = pageSql(page, ['account_id = $1', 'livemode = $2'], [accountId, livemode]);
  return db.query<McpServerRow>(`SELECT ${COLUMNS} FROM mcp_server ${sql}`, values);
}

export async function updateMcpServer(db: Queryable, row: McpServerRow): Promise<McpServerRow> {
  const [updated] = await db.query<McpServerRow>(
    `UPDATE mcp_server SET name = $3, url = $4, transport = $5, headers = $6, headers_set = $7, enabled = $8, tools = $9, tool_timeout_ms = $10,
       status = $11, last_error = $12, refreshed_at = $13, updated_at = $14
     WHERE account_id = $1 AND id = $2 RETURNING ${COLUMNS}`,
    [
      row.account_id, row.id, row.name, row.url, row.transport, row.headers, row.headers_set, row.enabled, JSON.stringify(row.tools), row.tool_timeout_ms,
      row.status, row.last_error, row.refreshed_at, row.updated_at,
    ],
  );
  return updated as McpServerRow;
}

export async function deleteMcpServerRow(db: Queryable, accountId: string, id: string): Promise<void> {
  await db.query('DELETE FROM mcp_server WHERE account_id = $1 AND id = $2', [accountId, id]);
}
