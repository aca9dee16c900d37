import { ApiError } from '../../api/errors.ts';
import type { Clock } from '../../clock.ts';
import type { Database, Queryable, Transaction } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import type { EndReason } from '../../end-reason.ts';
import type { EventId, EventSink } from '../../events/event.ts';
import { lockAccount } from '../accounts/actions.ts';
import type { CallFeed } from './call-feed.ts';
import type { RequireCredit, SettleCall } from './credit.ts';
import { latencyOf, type TurnLatency } from './latency.ts';
import { presentCall, presentLogEntry } from './present.ts';
import type { RecordingStorage } from './recording-storage.ts';
import { countLiveCalls, insertCall, insertLogEntry, selectCall, selectLiveOfNode, updateAnswered, updateProgress, updateCost, updateEnded, upsertTranscriptItem, type CallRow, type EndedCall, type NewCall } from './store.ts';

export interface CallsContext {
  db: Database;
  events: EventSink;
  recordings: RecordingStorage;
  /** Which node has a call while it lives. */
  nodeId: string;
  callFeed: CallFeed;
  /** Absent: calls cost nothing. */
  settleCall?: SettleCall | undefined;
}

/** What a call needs to begin. */
export interface NewCallsContext extends CallsContext {
  clock: Clock;
  options: { accountConcurrency: number };
  requireCredit?: RequireCredit | undefined;
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

/** The call `id` names, for a caller of its own account and mode. Throws ApiError `call_not_found`, `key_mode_mismatch`. */
export async function requireCall(db: Queryable, owner: { accountId: string; livemode: boolean }, id: string, lock: 'lock' | 'read' = 'read'): Promise<CallRow> {
  const row = await selectCall(db, id, lock);
  if (!row || row.account_id !== owner.accountId) throw new ApiError('call_not_found', `No call ${id} in this account.`, { param: 'id' });
  if (row.livemode !== owner.livemode) throw new ApiError('key_mode_mismatch', `Call ${id} belongs to ${row.livemode ? 'live' : 'test'} mode.`, { param: 'id' });
  return row;
}

/** Calls of an account, of both modes, that have not ended. */
export function countCallsAtOnce(db: Queryable, accountId: string): Promise<number> {
  return countLiveCalls(db, accountId);
}

/**
 * Whether the account may have one more call, of whatever direction; holds the account's row until the transaction ends, so
 * that of two calls at the last place one is refused. Throws ApiError `concurrency_limit`, or what the credit says.
 */
export async function admitCall(context: Pick<NewCallsContext, 'options' | 'requireCredit'>, transaction: Queryable, call: Parameters<RequireCredit>[1]): Promise<void> {
  const { options: { accountConcurrency }, requireCredit } = context;
  await lockAccount(transaction, call.accountId);
  if (await countLiveCalls(transaction, call.accountId) >= accountConcurrency) {
    throw new ApiError('concurrency_limit', `The account has ${accountConcurrency} calls at once, its limit; try again when one has ended.`);
  }
  await requireCredit?.(transaction, call);
}

/** A call arrives on a number: its row, and `inboundCall`. Throws ApiError as `admitCall` does. */
export async function createInboundCall(context: NewCallsContext, call: CallBirth & { phoneNumberId: string; sipTrunkId: string; sipCallId: string }): Promise<string> {
  const nowMs = context.clock.now();
  const { agent, ...rest } = call;
  const row: NewCall = {
    ...rest, id: newId(nowMs), nodeId: context.nodeId, direction: 'inbound', transport: 'sip', status: 'ringing',
    agentId: agent.id, agentVersion: agent.version, metadata: {}, variables: {}, createdAt: new Date(nowMs),
  };
  await context.db.transaction(async (transaction) => {
    await admitCall(context, transaction, { accountId: call.accountId, livemode: call.livemode, direction: 'inbound', callId: row.id, agentId: agent.id });
    await insertCall(transaction, row);
    await tellOnCommit(context, transaction, row.id, 'inboundCall');
  });
  return row.id;
}

/** The row of a call that waits for its browser; in the transaction that makes its session. Throws ApiError as `admitCall` does. */
export async function createRealtimeCall(context: NewCallsContext, transaction: Queryable, call: Omit<CallBirth, 'from' | 'to'> & Pick<NewCall, 'overrides' | 'maxDurationSeconds' | 'apiKeyId'> & {
  id: string; models: Parameters<RequireCredit>[1]['models']; realtimeSessionId: string; metadata: Record<string, string>; variables: Record<string, string>; createdAt: Date;
}): Promise<void> {
  const { agent, models, ...rest } = call;
  await admitCall(context, transaction, { accountId: call.accountId, livemode: call.livemode, direction: 'realtime', callId: call.id, agentId: agent.id, models });
  await insertCall(transaction, {
    ...rest, nodeId: context.nodeId, direction: 'realtime', transport: 'websocket', status: 'queued', agentId: agent.id, agentVersion: agent.version,
  });
}

/** An outbound call is dialled, rings, or its trunk said something. */
export async function markProgress(context: CallsContext, callId: string, progress: {
  status?: 'dialing' | 'ringing'; at: Date; sip: { callId: string; responseCode?: number; reason?: string };
}): Promise<void> {
  const { status, at, sip } = progress;
  const shown = { call_id: sip.callId, response_code: sip.responseCode ?? null, reason: sip.reason ?? null };
  if (!(await updateProgress(context.db, callId, { status, at, sip: shown })) || !context.callFeed.isFollowed(callId)) return;
  const row = await selectCall(context.db, callId);
  if (row) publish(context, row);
}

export async function markAnswered(context: CallsContext, callId: string, at: Date): Promise<void> {
  await updateAnswered(context.db, callId, at);
  if (!context.callFeed.isFollowed(callId)) return;
  const row = await selectCall(context.db, callId);
  if (row) publish(context, row);
}

/** Replaces the item at the same position: an interrupted reply is corrected to what was heard. */
export async function appendTranscript(context: CallsContext, callId: string, item: {
  position: number; role: string; text: string; heardText?: string; interrupted?: boolean; startedMs: number; endedMs: number; tool?: object;
}): Promise<void> {
  const { position, heardText, startedMs, endedMs, ...rest } = item;
  const shown = {
    ...rest,
    ...(heardText === undefined ? {} : { heard_text: heardText }),
    started_ms: Math.round(startedMs),
    ended_ms: Math.round(endedMs),
  };
  await upsertTranscriptItem(context.db, callId, position, shown);
  context.callFeed.publish(callId, { event: 'transcript', data: { position, ...shown } });
}

export async function appendLog(context: CallsContext, callId: string, entry: { at: number; source: string; event: string; detail?: object }): Promise<void> {
  const row = { ...entry, at: new Date(entry.at) };
  const sequence = await insertLogEntry(context.db, callId, { ...row, detail: entry.detail });
  context.callFeed.publish(callId, { event: 'log', sequence, data: presentLogEntry({ ...row, sequence, detail: (entry.detail as Record<string, unknown> | undefined) ?? null }) });
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
  await context.db.transaction(async (transaction) => {
    if (!(await updateEnded(transaction, callId, ended))) return;
    await updateCost(transaction, callId, (await context.settleCall?.(transaction, callId)) ?? 0);
    await tellOnCommit(context, transaction, callId, 'callCompleted');
  });
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

/** Tells of the call as this transaction leaves it, once that is committed: the account by an event, and whoever follows it. */
export async function tellOnCommit(context: CallsContext, transaction: Transaction, callId: string, event: EventId): Promise<void> {
  const row = await selectCall(transaction, callId);
  if (!row) return;
  transaction.afterCommit(() => {
    context.events.emit({ accountId: row.account_id, livemode: row.livemode, event, data: presentCall(row), eventKey: `${event}:${callId}`, test: row.test });
    publish(context, row);
  });
}

function publish({ callFeed }: CallsContext, row: CallRow): void {
  callFeed.publish(row.id, { event: 'call', ended: row.ended_at !== null, data: presentCall(row) });
}

function round2(value: number): number {
  return Math.round(value * 100) / 100;
}
