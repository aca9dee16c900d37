import { iso } from '../../api/schemas.ts';
import type { Call, LogEntry } from './schema.ts';
import type { CallRow, LogRow } from './store.ts';

/** A call as its GET shows it, and as events carry it. */
export function presentCall(row: CallRow): Call {
  return {
    id: row.id,
    object: 'call',
    livemode: row.livemode,
    direction: row.direction,
    transport: row.transport,
    status: row.status as Call['status'],
    end_reason: row.end_reason,
    end_detail: row.end_detail,
    outcome: row.outcome as Call['outcome'],
    agent_id: row.agent_id,
    agent_version: row.agent_version,
    lead_id: row.lead_id,
    campaign_id: row.campaign_id,
    phone_number_id: row.phone_number_id,
    sip_trunk_id: row.sip_trunk_id,
    realtime_session_id: row.realtime_session_id,
    from: row.from_address,
    to: row.to_address,
    metadata: row.metadata,
    variables: row.variables,
    overrides: row.overrides,
    ring_timeout_ms: row.ring_timeout_ms,
    max_duration_seconds: row.max_duration_seconds,
    max_cost_micros: row.max_cost_micros,
    test: row.test,
    created_at: iso(row.created_at),
    ringing_at: iso(row.ringing_at),
    answered_at: iso(row.answered_at),
    ended_at: iso(row.ended_at),
    duration_ms: row.duration_ms,
    billable_seconds: row.billable_seconds,
    answered_by: row.answered_by as Call['answered_by'],
    transfer: row.transfer as Call['transfer'],
    recording: { available: row.recording_duration_ms !== null, channels: row.recording_channels, duration_ms: row.recording_duration_ms },
    transcript_available: row.transcript_available,
    analysis: row.analysis,
    latency: row.latency as Call['latency'],
    quality: row.quality as Call['quality'],
    interruptions: row.interruptions ?? { by_caller: 0, false_alarms: 0 },
    cost_micros: row.cost_micros,
    sip: row.sip as Call['sip'],
  };
}

/** An entry of a call's log. */
export function presentLogEntry({ at, source, event, detail }: LogRow): LogEntry {
  return { at: iso(at), source, event, ...(detail === null ? {} : { detail }) };
}
