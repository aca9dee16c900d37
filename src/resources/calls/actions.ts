import type { Database, Queryable } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import type { EndReason } from '../../end-reason.ts';
import type { EventId, EventSink } from '../../events/event.ts';
import { latencyOf, type TurnLatency } from './latency.ts';
import { presentCall } from './present.ts';
import type { RecordingStorage } from './recording-storage.ts';
import { insertCall, insertLogEntry, selectCall, selectLiveOfNode, updateAnswered, updateEnded, upsertTranscriptItem, type CallRow, type EndedCall, type NewCall } from './store.ts';

export interface CallsContext {
  db: Database;
  events: EventSink;
  recordings: RecordingStorage;
  /** Which node has a call while it lives. */
  nodeId: string;
}

/** What is known of a call before it is. */
export interface CallBirth {
  accountId: string;
  livemode: boolean;
  agent: { id: string; version: number };
  from: string;
  to: string;
  recordingChannels?: string;
}

/** A call arrives on a number: its row, and `inboundCall`. */
export async function createInboundCall(context: CallsContext, call: CallBirth & { phoneNumberId: string; sipTrunkId: string; sipCallId: string }): Promise<string> {
  const id = newId();
  const { agent, ...rest } = call;
  const row: NewCall = {
    ...rest, id, nodeId: context.nodeId, direction: 'inbound', transport: 'sip', status: 'ringing',
    agentId: agent.id, agentVersion: agent.version, metadata: {}, variables: {}, createdAt: new Date(),
  };
  await context.db.transaction((transaction) => insertCall(transaction, row));
  await tell(context, id, 'inboundCall');
  return id;
}

/** The row of a call that waits for its browser; in the transaction that makes its session. */
export async function createRealtimeCall(context: CallsContext, transaction: Queryable, call: Omit<CallBirth, 'from' | 'to'> & {
  id: string; realtimeSessionId: string; metadata: Record<string, string>; variables: Record<string, string>; createdAt: Date;
}): Promise<void> {
  const { agent, ...rest } = call;
  await insertCall(transaction, {
    ...rest, nodeId: context.nodeId, direction: 'realtime', transport: 'websocket', status: 'queued', agentId: agent.id, agentVersion: agent.version,
  });
}

export async function markAnswered(context: CallsContext, callId: string, at: Date): Promise<void> {
  await updateAnswered(context.db, callId, at);
}

/** Replaces the item at the same position: an interrupted reply is corrected to what was heard. */
export async function appendTranscript(context: CallsContext, callId: string, item: {
  position: number; role: string; text: string; heardText?: string; interrupted?: boolean; startedMs: number; endedMs: number; tool?: object;
}): Promise<void> {
  const { position, heardText, startedMs, endedMs, ...rest } = item;
  await upsertTranscriptItem(context.db, callId, position, {
    ...rest,
    ...(heardText === undefined ? {} : { heard_text: heardText }),
    started_ms: Math.round(startedMs),
    ended_ms: Math.round(endedMs),
  });
}

export async function appendLog(context: CallsContext, callId: string, entry: { at: number; source: string; event: string; detail?: object }): Promise<void> {
  await insertLogEntry(context.db, callId, { ...entry, at: new Date(entry.at), detail: entry.detail });
}

export interface CallEnding {
  status: string;
  endReason: EndReason;
  endDetail?: string;
  outcome: string;
  endedAt: Date;
  summary: {
    turns: readonly TurnLatency[];
    answerToFirstAudioMs?: number;
    interruptions: { byCaller: number; falseAlarms: number };
    quality?: { codec: string; packetsLostPct: number; jitterMs: number; rttMs?: number; mos: number };
    recordingDurationMs?: number;
  };
}

/** Ends a call, once: whoever comes first writes its figures and fires `callCompleted`; later calls change nothing. */
export async function endCall(context: CallsContext, callId: string, ending: CallEnding): Promise<void> {
  const { summary } = ending;
  const { quality, interruptions } = summary;
  const ended: EndedCall = {
    status: ending.status,
    endReason: ending.endReason,
    endDetail: ending.endDetail,
    outcome: ending.outcome,
    endedAt: ending.endedAt,
    latency: latencyOf(summary.turns, summary.answerToFirstAudioMs),
    quality: quality ? { codec: quality.codec, packets_lost_pct: round2(quality.packetsLostPct), jitter_ms: round2(quality.jitterMs), rtt_ms: quality.rttMs === undefined ? null : round2(quality.rttMs), mos: round2(quality.mos) } : null,
    interruptions: { by_caller: interruptions.byCaller, false_alarms: interruptions.falseAlarms },
    recordingDurationMs: summary.recordingDurationMs,
  };
  if (await updateEnded(context.db, callId, ended)) await tell(context, callId, 'callCompleted');
}

/**
 * At start: calls that this node had when it was last killed end with `node_lost`, each once, their recordings made whole.
 * `repair` mends a WAV whose writer died and answers its length.
 */
export async function endLostCalls(context: CallsContext, repair: (path: string) => Promise<{ durationMs: number }>): Promise<number> {
  const lost = await selectLiveOfNode(context.db, context.nodeId);
  for (const row of lost) {
    const recording = await mendRecording(context, row, repair);
    const answered = row.answered_at !== null;
    await endCall(context, row.id, {
      status: answered ? 'completed' : 'failed',
      endReason: 'node_lost',
      endDetail: 'The process that had this call was killed; it was ended at the next start.',
      outcome: answered ? (row.transcript_available ? 'conversation' : 'no_conversation') : 'not_connected',
      endedAt: answered && recording ? new Date((row.answered_at?.getTime() ?? 0) + recording.durationMs) : new Date(),
      summary: { turns: [], interruptions: { byCaller: 0, falseAlarms: 0 }, ...(recording ? { recordingDurationMs: recording.durationMs } : {}) },
    });
  }
  return lost.length;
}

async function mendRecording(context: CallsContext, row: CallRow, repair: (path: string) => Promise<{ durationMs: number }>): Promise<{ durationMs: number } | undefined> {
  if (row.recording_channels === null || (await context.recordings.size(row.id)) === undefined) return undefined;
  const path = await context.recordings.prepare(row.id);
  return repair(path).catch(async (error: unknown) => {
    await insertLogEntry(context.db, row.id, { at: new Date(), source: 'error', event: 'recording_lost', detail: { message: String(error) } });
    return undefined;
  });
}

async function tell(context: CallsContext, callId: string, event: EventId): Promise<void> {
  const row = await selectCall(context.db, callId);
  if (!row) return;
  context.events.emit({ accountId: row.account_id, livemode: row.livemode, event, data: presentCall(row), eventKey: `${event}:${callId}`, test: row.test });
}

function round2(value: number): number {
  return Math.round(value * 100) / 100;
}
