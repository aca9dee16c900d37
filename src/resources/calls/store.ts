import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable, Value } from '../../db/database.ts';
import type { EndReason } from '../../end-reason.ts';
import type { ListCallsQuery } from './schema.ts';

/** A row of `call`. */
export interface CallRow {
  id: string;
  account_id: string;
  livemode: boolean;
  node_id: string;
  direction: 'inbound' | 'outbound' | 'realtime';
  transport: 'sip' | 'websocket' | 'webrtc';
  status: string;
  end_reason: EndReason | null;
  end_detail: string | null;
  outcome: string | null;
  agent_id: string;
  agent_version: number;
  phone_number_id: string | null;
  sip_trunk_id: string | null;
  realtime_session_id: string | null;
  from_address: string | null;
  to_address: string | null;
  metadata: Record<string, string>;
  variables: Record<string, string>;
  test: boolean;
  sip: { call_id: string } | null;
  recording_channels: string | null;
  recording_duration_ms: number | null;
  latency: object | null;
  quality: object | null;
  interruptions: { by_caller: number; false_alarms: number } | null;
  duration_ms: number | null;
  billable_seconds: number | null;
  cost_micros: number;
  created_at: Date;
  ringing_at: Date | null;
  answered_at: Date | null;
  ended_at: Date | null;
  transcript_available: boolean;
}

const SELECT = 'SELECT call.*, EXISTS (SELECT 1 FROM call_transcript_item WHERE call_id = call.id) AS transcript_available FROM call';

export interface NewCall {
  id: string;
  accountId: string;
  livemode: boolean;
  nodeId: string;
  direction: 'inbound' | 'realtime';
  transport: 'sip' | 'websocket';
  status: 'ringing' | 'queued';
  agentId: string;
  agentVersion: number;
  phoneNumberId?: string;
  sipTrunkId?: string;
  realtimeSessionId?: string;
  from?: string;
  to?: string;
  metadata: Record<string, string>;
  variables: Record<string, string>;
  sipCallId?: string;
  recordingChannels?: string;
  createdAt: Date;
}

export async function insertCall(db: Queryable, call: NewCall): Promise<void> {
  await db.query(
    `INSERT INTO call (id, account_id, livemode, node_id, direction, transport, status, agent_id, agent_version, phone_number_id, sip_trunk_id,
       realtime_session_id, from_address, to_address, metadata, variables, sip, recording_channels, created_at, ringing_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`,
    [
      call.id, call.accountId, call.livemode, call.nodeId, call.direction, call.transport, call.status, call.agentId, call.agentVersion,
      call.phoneNumberId ?? null, call.sipTrunkId ?? null, call.realtimeSessionId ?? null, call.from ?? null, call.to ?? null,
      JSON.stringify(call.metadata), JSON.stringify(call.variables), call.sipCallId === undefined ? null : JSON.stringify({ call_id: call.sipCallId, response_code: null, reason: null }),
      call.recordingChannels ?? null, call.createdAt, call.status === 'ringing' ? call.createdAt : null,
    ],
  );
}

export async function selectCall(db: Queryable, id: string): Promise<CallRow | undefined> {
  const [row] = await db.query<CallRow>(`${SELECT} WHERE id = $1`, [id]);
  return row;
}

export async function selectCalls(db: Queryable, accountId: string, livemode: boolean, filters: Omit<ListCallsQuery, 'limit' | 'starting_after' | 'ending_before'>, page: PageRequest): Promise<CallRow[]> {
  // Leads and campaigns place no calls yet: no row can match.
  if (filters.lead_id !== undefined || filters.campaign_id !== undefined) return [];
  const conditions = ['account_id = $1', 'livemode = $2'];
  const values: Value[] = [accountId, livemode];
  const add = (sql: string, value: Value | undefined): void => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(`${sql} $${values.length}`);
  };
  add('status =', filters.status);
  add('direction =', filters.direction);
  add('agent_id =', filters.agent_id);
  add('from_address =', filters.from);
  add('to_address =', filters.to);
  add('created_at >=', filters.created_after === undefined ? undefined : new Date(filters.created_after));
  add('created_at <', filters.created_before === undefined ? undefined : new Date(filters.created_before));
  const { sql, values: all } = pageSql(page, conditions, values);
  return db.query<CallRow>(`${SELECT} ${sql}`, all);
}

/** Sets the answer's time once. */
export async function updateAnswered(db: Queryable, id: string, at: Date): Promise<void> {
  await db.query("UPDATE call SET status = 'in_progress', answered_at = $2 WHERE id = $1 AND answered_at IS NULL AND ended_at IS NULL", [id, at]);
}

export async function upsertTranscriptItem(db: Queryable, callId: string, position: number, item: object): Promise<void> {
  await db.query(
    'INSERT INTO call_transcript_item (call_id, position, item) VALUES ($1, $2, $3) ON CONFLICT (call_id, position) DO UPDATE SET item = $3',
    [callId, position, JSON.stringify(item)],
  );
}

export async function selectTranscript<Item extends object>(db: Queryable, callId: string): Promise<Item[]> {
  const rows = await db.query<{ item: Item }>('SELECT item FROM call_transcript_item WHERE call_id = $1 ORDER BY position', [callId]);
  return rows.map(({ item }) => item);
}

export interface LogRow { at: Date; source: string; event: string; detail: Record<string, unknown> | null }

export async function insertLogEntry(db: Queryable, callId: string, entry: { at: Date; source: string; event: string; detail?: object | undefined }): Promise<void> {
  await db.query('INSERT INTO call_log_entry (call_id, at, source, event, detail) VALUES ($1, $2, $3, $4, $5)', [
    callId, entry.at, entry.source, entry.event, entry.detail === undefined ? null : JSON.stringify(entry.detail),
  ]);
}

export async function selectLog(db: Queryable, callId: string): Promise<LogRow[]> {
  return db.query<LogRow>('SELECT at, source, event, detail FROM call_log_entry WHERE call_id = $1 ORDER BY at, sequence', [callId]);
}

export interface EndedCall {
  status: string;
  endReason: EndReason;
  endDetail: string | undefined;
  outcome: string;
  endedAt: Date;
  latency: object | null;
  quality: object | null;
  interruptions: object | null;
  recordingDurationMs: number | undefined;
}

/** Ends the call if nobody has before; false when it had ended. */
export async function updateEnded(db: Queryable, id: string, end: EndedCall): Promise<boolean> {
  const rows = await db.query(
    `UPDATE call SET status = $2, end_reason = $3, end_detail = $4, outcome = $5, ended_at = $6, latency = $7, quality = $8, interruptions = $9,
       recording_duration_ms = $10,
       duration_ms = CASE WHEN answered_at IS NULL THEN 0 ELSE GREATEST(0, EXTRACT(epoch FROM ($6::timestamptz - answered_at)) * 1000)::bigint END,
       billable_seconds = CASE WHEN answered_at IS NULL THEN 0 ELSE CEIL(GREATEST(0, EXTRACT(epoch FROM ($6::timestamptz - answered_at))))::integer END
     WHERE id = $1 AND ended_at IS NULL RETURNING id`,
    [
      id, end.status, end.endReason, end.endDetail ?? null, end.outcome, end.endedAt,
      jsonOrNull(end.latency), jsonOrNull(end.quality), jsonOrNull(end.interruptions), end.recordingDurationMs ?? null,
    ],
  );
  return rows.length > 0;
}

export async function selectLiveOfNode(db: Queryable, nodeId: string): Promise<CallRow[]> {
  return db.query<CallRow>(`${SELECT} WHERE node_id = $1 AND ended_at IS NULL ORDER BY id`, [nodeId]);
}

/** Whether a call that has not ended names `id` in `column`. */
export async function existsLiveCall(db: Queryable, column: 'agent_id' | 'phone_number_id' | 'sip_trunk_id', id: string): Promise<boolean> {
  const rows = await db.query(`SELECT 1 FROM call WHERE ended_at IS NULL AND ${column} = $1 LIMIT 1`, [id]);
  return rows.length > 0;
}

/** Log, transcript and realtime session go with it (ON DELETE CASCADE). */
export async function deleteCall(db: Queryable, id: string): Promise<void> {
  await db.query('DELETE FROM call WHERE id = $1', [id]);
}

function jsonOrNull(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}
