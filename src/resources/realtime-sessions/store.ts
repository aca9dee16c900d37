import type { Queryable } from '../../db/database.ts';

/** The only SQL on realtime sessions. They go with their call. */

export interface SessionRow<Audio extends object> {
  id: string;
  account_id: string;
  livemode: boolean;
  call_id: string;
  agent_id: string;
  audio: Audio;
  created_at: Date;
  expires_at: Date;
}

export interface NewSessionRow { id: string; accountId: string; callId: string; agentId: string; audio: object; createdAt: Date; expiresAt: Date }

export async function insertSession(db: Queryable, row: NewSessionRow): Promise<void> {
  await db.query(
    'INSERT INTO realtime_session (id, account_id, call_id, agent_id, audio, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)',
    [row.id, row.accountId, row.callId, row.agentId, JSON.stringify(row.audio), row.createdAt, row.expiresAt],
  );
}

export async function findSession<Audio extends object>(db: Queryable, accountId: string, id: string): Promise<SessionRow<Audio> | undefined> {
  const [row] = await db.query<SessionRow<Audio>>(
    `SELECT session.id, session.account_id, call.livemode, call_id, session.agent_id, audio, session.created_at, expires_at
     FROM realtime_session AS session JOIN call ON call.id = call_id WHERE session.account_id = $1 AND session.id = $2`, [accountId, id]);
  return row;
}
