import type { Keyring } from '../../api/keyring.ts';
import type { Queryable } from '../../db/database.ts';
import { deleteToolHeaders, findToolHeaders, writeToolHeaders } from './store.ts';
import type { ToolHeaders } from './tools.ts';

/** What the http tools of an agent send as headers, by the tool's name: for the call that runs them, for nobody's eyes. */
export async function readToolHeaders(db: Queryable, keyring: Keyring, agentId: string): Promise<ToolHeaders> {
  const sealed = await findToolHeaders(db, agentId);
  return sealed === undefined ? {} : (JSON.parse(keyring.unseal(sealed, placeOf(agentId))) as ToolHeaders);
}

/** Seals them, or removes them when there are none. */
export function keepToolHeaders(db: Queryable, keyring: Keyring, agentId: string, headers: ToolHeaders): Promise<void> {
  if (Object.keys(headers).length === 0) return deleteToolHeaders(db, agentId);
  return writeToolHeaders(db, agentId, keyring.seal(JSON.stringify(headers), placeOf(agentId)));
}

function placeOf(agentId: string): string {
  return `agent_tool_headers:sealed:${agentId}`;
}
