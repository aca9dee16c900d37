import { ApiError } from '../../api/errors.ts';
import type { Queryable } from '../../db/database.ts';
import { findMcpServers, type McpServerRow, type RowLock } from './store.ts';

interface Owner { accountId: string; livemode: boolean }

/** The server `id` names, for a caller of its own account and mode. Throws ApiError `mcp_server_not_found`, `key_mode_mismatch`. */
export async function requireMcpServer(db: Queryable, owner: Owner, id: string, param = 'id', lock: RowLock = 'read'): Promise<McpServerRow> {
  const [row] = await findMcpServers(db, owner.accountId, [id], lock);
  return checked(row, owner, id, param);
}

/**
 * The servers `ids` name, in that order, kept from being deleted until the transaction ends. `param` names the array.
 * Throws as `requireMcpServer` does.
 */
export async function requireMcpServers(db: Queryable, owner: Owner, ids: readonly string[], param = 'mcp_server_ids'): Promise<McpServerRow[]> {
  if (ids.length === 0) return [];
  const rows = new Map((await findMcpServers(db, owner.accountId, ids, 'keep')).map((row) => [row.id, row]));
  return ids.map((id, position) => checked(rows.get(id), owner, id, `${param}[${position}]`));
}

function checked(row: McpServerRow | undefined, owner: Owner, id: string, param: string): McpServerRow {
  if (!row) throw new ApiError('mcp_server_not_found', `No MCP server ${id} in this account.`, { param });
  if (row.livemode !== owner.livemode) throw new ApiError('key_mode_mismatch', `MCP server ${id} belongs to ${row.livemode ? 'live' : 'test'} mode.`, { param });
  return row;
}
