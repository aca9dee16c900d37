import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable } from '../../db/database.ts';
import { LOCK_SQL, type RowLock } from '../../db/row-lock.ts';
import { withDefaults } from './definition.ts';
import type { AgentDefinition } from './schema.ts';

/** The only SQL on agents. */

export interface AgentRow {
  id: string;
  account_id: string;
  livemode: boolean;
  version: number;
  definition: AgentDefinition;
  created_at: Date;
  updated_at: Date;
}

const COLUMNS = 'id, account_id, livemode, version, definition, created_at, updated_at';

export async function insertAgent(db: Queryable, agent: { id: string; accountId: string; livemode: boolean; definition: AgentDefinition; now: Date }): Promise<AgentRow> {
  const [row] = await db.query<AgentRow>(
    `INSERT INTO agent (id, account_id, livemode, version, definition, created_at, updated_at) VALUES ($1, $2, $3, 1, $4, $5, $5) RETURNING ${COLUMNS}`,
    [agent.id, agent.accountId, agent.livemode, JSON.stringify(agent.definition), agent.now],
  );
  await insertVersion(db, agent.id, 1, agent.definition, agent.now);
  return row as AgentRow;
}

/** Of any mode; deleted ones are gone. */
export async function findAgent(db: Queryable, accountId: string, id: string, lock: RowLock = 'read'): Promise<AgentRow | undefined> {
  const rows = await db.query<AgentRow>(
    `SELECT ${COLUMNS} FROM agent WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL${LOCK_SQL[lock]}`, [accountId, id]);
  return rows.map(complete)[0];
}

export async function listAgentRows(db: Queryable, accountId: string, livemode: boolean, page: PageRequest): Promise<AgentRow[]> {
  const { sql, values } = pageSql(page, ['account_id = $1', 'livemode = $2', 'deleted_at IS NULL'], [accountId, livemode]);
  const rows = await db.query<AgentRow>(`SELECT ${COLUMNS} FROM agent ${sql}`, values);
  return rows.map(complete);
}

/** Stores a changed body as the next version. */
export async function updateAgent(db: Queryable, id: string, definition: AgentDefinition, now: Date): Promise<AgentRow> {
  const [row] = await db.query<AgentRow>(
    `UPDATE agent SET definition = $2, version = version + 1, updated_at = $3 WHERE id = $1 RETURNING ${COLUMNS}`, [id, JSON.stringify(definition), now]);
  await insertVersion(db, id, row?.version ?? 0, definition, now);
  return row as AgentRow;
}

export async function markAgentDeleted(db: Queryable, id: string, now: Date): Promise<void> {
  await db.query('UPDATE agent SET deleted_at = $2 WHERE id = $1', [id, now]);
}

export interface AgentVersionRow { version: number; definition: AgentDefinition; created_at: Date }

/** Newest first, or from `page.from` upwards; the number of a version is its place in the list. */
export async function listAgentVersions(db: Queryable, id: string, page: PageRequest): Promise<AgentVersionRow[]> {
  const older = page.direction === 'older';
  const from = page.from === undefined ? null : versionOfPosition(page.from.id);
  const rows = await db.query<AgentVersionRow>(
    `SELECT version, definition, created_at FROM agent_version WHERE agent_id = $1 AND ($2::integer IS NULL OR version ${older ? '<' : '>'} $2)
     ORDER BY version ${older ? 'DESC' : 'ASC'} LIMIT $3`, [id, from, page.limit + 1]);
  return rows.map(complete);
}

/** A version's number as cursors carry places: 24 hex digits. */
export function positionOfVersion({ version, created_at }: AgentVersionRow): { atMs: number; id: string } {
  return { atMs: created_at.getTime(), id: version.toString(16).padStart(24, '0') };
}

function versionOfPosition(id: string): number {
  return Number.parseInt(id, 16);
}

/** Sealed; undefined: no tool of the agent sends headers. */
export async function findToolHeaders(db: Queryable, agentId: string): Promise<Buffer | undefined> {
  const [row] = await db.query<{ sealed: Buffer }>('SELECT sealed FROM agent_tool_headers WHERE agent_id = $1', [agentId]);
  return row?.sealed;
}

export async function writeToolHeaders(db: Queryable, agentId: string, sealed: Buffer): Promise<void> {
  await db.query('INSERT INTO agent_tool_headers (agent_id, sealed) VALUES ($1, $2) ON CONFLICT (agent_id) DO UPDATE SET sealed = excluded.sealed', [agentId, sealed]);
}

export async function deleteToolHeaders(db: Queryable, agentId: string): Promise<void> {
  await db.query('DELETE FROM agent_tool_headers WHERE agent_id = $1', [agentId]);
}

/** Whether an agent, not deleted, has the knowledge base or the MCP server. */
export async function existsAgentWith(db: Queryable, accountId: string, field: 'knowledge_base_id' | 'mcp_server_ids', id: string): Promise<boolean> {
  const rows = await db.query('SELECT 1 FROM agent WHERE account_id = $1 AND deleted_at IS NULL AND (definition -> $2) ? $3 LIMIT 1', [accountId, field, id]);
  return rows.length > 0;
}

async function insertVersion(db: Queryable, id: string, version: number, definition: AgentDefinition, now: Date): Promise<void> {
  await db.query('INSERT INTO agent_version (agent_id, version, definition, created_at) VALUES ($1, $2, $3, $4)', [id, version, JSON.stringify(definition), now]);
}

function complete<Row extends { definition: AgentDefinition }>(row: Row): Row {
  return { ...row, definition: withDefaults(row.definition) };
}
