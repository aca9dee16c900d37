import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable } from '../../db/database.ts';
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
export async function findAgent(db: Queryable, accountId: string, id: string, lock: 'lock' | 'read' = 'read'): Promise<AgentRow | undefined> {
  const [row] = await db.query<AgentRow>(
    `SELECT ${COLUMNS} FROM agent WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL${lock === 'lock' ? ' FOR UPDATE' : ''}`, [accountId, id]);
  return row;
}

export function listAgentRows(db: Queryable, accountId: string, livemode: boolean, page: PageRequest): Promise<AgentRow[]> {
  const { sql, values } = pageSql(page, ['account_id = $1', 'livemode = $2', 'deleted_at IS NULL'], [accountId, livemode]);
  return db.query<AgentRow>(`SELECT ${COLUMNS} FROM agent ${sql}`, values);
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

/** Newest first; the version number is the place in the list. */
export function listAgentVersions(db: Queryable, id: string): Promise<AgentVersionRow[]> {
  return db.query<AgentVersionRow>('SELECT version, definition, created_at FROM agent_version WHERE agent_id = $1 ORDER BY version DESC LIMIT 1000', [id]);
}

async function insertVersion(db: Queryable, id: string, version: number, definition: AgentDefinition, now: Date): Promise<void> {
  await db.query('INSERT INTO agent_version (agent_id, version, definition, created_at) VALUES ($1, $2, $3, $4)', [id, version, JSON.stringify(definition), now]);
}
