import { Conditions } from '../../api/conditions.ts';
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
  lead_id: string | null;
  campaign_id: string | null;
  api_key_id: string | null;
  from_address: string | null;
  to_address: string | null;
  metadata: Record<string, string>;
  variables: Record<string, string>;
  overrides: Record<string, unknown> | null;
  ring_timeout_ms: number | null;
  max_duration_seconds: number | null;
  max_cost_micros: number | null;
  answered_by: string | null;
  transfer: object | null;
  analysis: Record<string, unknown> | null;
  test: boolean;
  sip: { call_id: string; response_code?: number | null; reason?: string | null } | null;
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
  direction: 'inbound' | 'outbound' | 'realtime';
  transport: 'sip' | 'websocket';
  status: 'ringing' | 'queued';
  agentId: string;
  agentVersion: number;
  phoneNumberId?: string | undefined;
  sipTrunkId?: string | undefined;
  realtimeSessionId?: string;
  leadId?: string | undefined;
  campaignId?: string | undefined;
  apiKeyId?: string | undefined;
  from?: string | undefined;
  to?: string;
  metadata: Record<string, string>;
  variables: Record<string, string>;
  overrides?: object | undefined;
  ringTimeoutMs?: number;
  maxDurationSeconds?: number | undefined;
  maxCostMicros?: number | undefined;
  test?: boolean;
  sipCallId?: string;
  recordingChannels?: string;
  createdAt: Date;
}

export async function insertCall(db: Queryable, call: NewCall): Promise<void> {
  const sip = call.sipCallId === undefined ? null : { call_id: call.sipCallId, response_code: null, reason: null };
  const row: Record<string, Value | undefined> = {
    id: call.id, account_id: call.accountId, livemode: call.livemode, node_id: call.nodeId, direction: call.direction, transport: call.transport, status: call.status,
    agent_id: call.agentId, agent_version: call.agentVersion, phone_number_id: call.phoneNumberId, sip_trunk_id: call.sipTrunkId, realtime_session_id: call.realtimeSessionId,
    lead_id: call.leadId, campaign_id: call.campaignId, api_key_id: call.apiKeyId, from_address: call.from, to_address: call.to,
    metadata: JSON.stringify(call.metadata), variables: JSON.stringify(call.variables), overrides: jsonOrNull(call.overrides ?? null), sip: jsonOrNull(sip),
    ring_timeout_ms: call.ringTimeoutMs, max_duration_seconds: call.maxDurationSeconds, max_cost_micros: call.maxCostMicros, test: call.test ?? false,
    recording_channels: call.recordingChannels, created_at: call.createdAt, ringing_at: call.status === 'ringing' ? call.createdAt : null,
  };
  const columns = Object.keys(row);
  await db.query(`INSERT INTO call (${columns.join(', ')}) VALUES (${columns.map((_, index) => `$${index + 1}`).join(', ')})`, Object.values(row).map((value) => value ?? null));
}

/** Calls of an account, of both modes, that have not ended. */
export async function countLiveCalls(db: Queryable, accountId: string): Promise<number> {
  const [row] = await db.query<{ live: number }>('SELECT count(*)::integer AS live FROM call WHERE account_id = $1 AND ended_at IS NULL', [accountId]);
  return row?.live ?? 0;
}

export async function selectCall(db: Queryable, id: string, lock: 'lock' | 'read' = 'read'): Promise<CallRow | undefined> {
  const [row] = await db.query<CallRow>(`${SELECT} WHERE id = $1${lock === 'lock' ? ' FOR UPDATE' : ''}`, [id]);
  return row;
}

export async function selectCalls(db: Queryable, accountId: string, livemode: boolean, filters: Omit<ListCallsQuery, 'limit' | 'starting_after' | 'ending_before'>, page: PageRequest): Promise<CallRow[]> {
  const conditions = new Conditions(accountId, livemode);
  conditions.add('status =', filters.status);
  conditions.add('direction =', filters.direction);
  conditions.add('agent_id =', filters.agent_id);
  conditions.add('lead_id =', filters.lead_id);
  conditions.add('campaign_id =', filters.campaign_id);
  conditions.add('from_address =', filters.from);
  conditions.add('to_address =', filters.to);
  conditions.addTime('created_at >=', filters.created_after);
  conditions.addTime('created_at <', filters.created_before);
  const { sql, values } = pageSql(page, conditions.sql, conditions.values);
  return db.query<CallRow>(`${SELECT} ${sql}`, values);
}

/** Hands the call over; false when it is not in progress. */
export async function updateTransferring(db: Queryable, id: string, transfer: object): Promise<boolean> {
  const rows = await db.query("UPDATE call SET status = 'transferring', transfer = $2 WHERE id = $1 AND status = 'in_progress' RETURNING id", [id, JSON.stringify(transfer)]);
  return rows.length > 0;
}

/** Notes how far an outbound call has come; its status never goes back. False when it has ended. */
export async function updateProgress(db: Queryable, id: string, progress: { status: 'dialing' | 'ringing' | undefined; at: Date; sip: object }): Promise<boolean> {
  const rows = await db.query(
    `UPDATE call SET sip = $2,
       status = CASE WHEN status = 'queued' OR (status = 'dialing' AND $3 = 'ringing') THEN COALESCE($3, status) ELSE status END,
       ringing_at = CASE WHEN $3 = 'ringing' AND answered_at IS NULL THEN COALESCE(ringing_at, $4) ELSE ringing_at END
     WHERE id = $1 AND ended_at IS NULL RETURNING id`,
    [id, JSON.stringify(progress.sip), progress.status ?? null, progress.at],
  );
  return rows.length > 0;
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

export async function selectTranscript<Item extends object>(db: Queryable, callId: string): Promise<{ position: number; item: Item }[]> {
  return db.query<{ position: number; item: Item }>('SELECT position, item FROM call_transcript_item WHERE call_id = $1 ORDER BY position', [callId]);
}

export interface LogRow { sequence: number; at: Date; source: string; event: string; detail: Record<string, unknown> | null }

/** Answers the entry's place in the log. */
export async function insertLogEntry(db: Queryable, callId: string, entry: { at: Date; source: string; event: string; detail?: object | undefined }): Promise<number> {
  const [row] = await db.query<{ sequence: number }>('INSERT INTO call_log_entry (call_id, at, source, event, detail) VALUES ($1, $2, $3, $4, $5) RETURNING sequence', [
    callId, entry.at, entry.source, entry.event, jsonOrNull(entry.detail ?? null),
  ]);
  return row?.sequence ?? 0;
}

export async function selectLog(db: Queryable, callId: string): Promise<LogRow[]> {
  return db.query<LogRow>('SELECT sequence, at, source, event, detail FROM call_log_entry WHERE call_id = $1 ORDER BY at, sequence', [callId]);
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

export async function updateCost(db: Queryable, id: string, costMicros: number): Promise<void> {
  if (costMicros > 0) await db.query('UPDATE call SET cost_micros = $2 WHERE id = $1', [id, costMicros]);
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
