import type { Queryable } from '../../db/database.ts';

export interface NewSessionRow { id: string; accountId: string; callId: string; agentId: string; audio: object; createdAt: Date; expiresAt: Date }

export async function insertSession(db: Queryable, row: NewSessionRow): Promise<void> {
  await db.query(
    'INSERT INTO realtime_session (id, account_id, call_id, agent_id, audio, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)',
    [row.id, row.accountId, row.callId, row.agentId, JSON.stringify(row.audio), row.createdAt, row.expiresAt],
  );
}
