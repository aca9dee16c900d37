import { ApiError } from '../../api/errors.ts';
import { newToken } from '../../api/secrets.ts';
import type { AppContext } from '../../context.ts';
import { newId } from '../../db/id.ts';
import { listAllowedOrigins, lockAccount } from '../accounts/actions.ts';
import { requireAgent } from '../agents/actions.ts';
import type { AgentForCall } from '../agents/spec.ts';
import { modelsOf } from '../agents/voice.ts';
import { appendLog, createRealtimeCall, endCall } from '../calls/actions.ts';
import type { AudioFormat } from '../calls/live-calls.ts';
import { resolveForCall } from '../calls/overrides.ts';
import type { NewRealtimeSession } from './schema.ts';
import { findSession, insertSession } from './store.ts';

/** A client secret that nobody has used by then is worthless. */
const JOIN_WITHIN_MS = 60_000;
const DEFAULT_AUDIO: AudioFormat = { encoding: 'pcm16', sampleRate: 16_000 };

/** A session as its POST answers it. */
export interface RealtimeSessionView {
  id: string;
  callId: string;
  agentId: string;
  livemode: boolean;
  url: string;
  createdAt: Date;
  expiresAt: Date;
  audio: { input: AudioFormat; output: AudioFormat };
}

export interface OpenedSession extends RealtimeSessionView { secret: string }

interface Owner { accountId: string; livemode: boolean; apiKeyId?: string }

/**
 * Makes a session and its call, which waits 60 s for the browser. Throws ApiError `agent_not_found`, `key_mode_mismatch`,
 * `invalid_parameter`, `unsupported_language`, `conflicting_voice`, `unknown_model`, `concurrency_limit`, `insufficient_credits`.
 */
export async function openSession(context: AppContext, owner: Owner, body: NewRealtimeSession, id?: string): Promise<OpenedSession> {
  const audio = { input: formatOf(body.audio?.input, 'input'), output: formatOf(body.audio?.output, 'output') };
  const { variables = {}, metadata = {}, overrides } = body;
  const createdAt = new Date(context.clock.now());
  const { session, resolved } = await context.db.transaction(async (transaction) => {
    await lockAccount(transaction, owner.accountId);
    const agent = await requireAgent(transaction, owner, body.agent_id, 'agent_id', 'keep');
    const resolved = resolveForCall(context.engines, agent, { variables, overrides, maxDurationSeconds: body.max_duration_seconds, now: createdAt });
    const session: OpenedSession = {
      id: id ?? newId(createdAt.getTime()),
      callId: newId(createdAt.getTime()),
      agentId: agent.id,
      livemode: owner.livemode,
      secret: newToken('wvr_'),
      url: '',
      createdAt,
      expiresAt: new Date(createdAt.getTime() + JOIN_WITHIN_MS),
      audio,
    };
    await createRealtimeCall(context, transaction, {
      id: session.callId, accountId: owner.accountId, livemode: owner.livemode, agent: { id: agent.id, version: agent.version }, models: modelsOf(resolved.agent), apiKeyId: owner.apiKeyId,
      realtimeSessionId: session.id, metadata, variables, overrides, maxDurationSeconds: body.max_duration_seconds, createdAt,
      ...(resolved.recording.enabled ? { recordingChannels: resolved.recording.channels } : {}),
    });
    await insertSession(transaction, { ...session, accountId: owner.accountId });
    return { session, resolved };
  });
  if (resolved.unresolved.length > 0) {
    await appendLog(context, session.callId, { at: createdAt.getTime(), source: 'session', event: 'merge_fields_unresolved', detail: { fields: resolved.unresolved } });
  }
  const recordingPath = resolved.recording.enabled ? await context.recordings.prepare(session.callId) : undefined;
  session.url = await open(context, session, resolved, await listAllowedOrigins(context.db, owner.accountId), recordingPath);
  return session;
}

/** A session made before, without its secret, for a retry. Throws ApiError `realtime_session_not_found`, `key_mode_mismatch`. */
export async function requireSession(context: AppContext, owner: Owner, id: string): Promise<RealtimeSessionView> {
  const row = await findSession<RealtimeSessionView['audio']>(context.db, owner.accountId, id);
  if (!row) throw new ApiError('realtime_session_not_found');
  if (row.livemode !== owner.livemode) throw new ApiError('key_mode_mismatch');
  // The public address leads to wherever the session is.
  const url = `${context.options.publicUrl.replace(/^http/, 'ws')}/v1/realtime?session=${row.id}`;
  return { id: row.id, callId: row.call_id, agentId: row.agent_id, livemode: row.livemode, url, createdAt: row.created_at, expiresAt: row.expires_at, audio: row.audio };
}

/** A call that finds no place ends at once, and its row says why. */
async function open(context: AppContext, session: OpenedSession, { agent }: AgentForCall, origins: string[], recordingPath: string | undefined): Promise<string> {
  const { callId, id: sessionId, secret, expiresAt, audio } = session;
  try {
    const { url } = await context.liveCalls.openRealtime({
      callId, sessionId, agent, clientSecret: secret, joinBefore: expiresAt, audio,
      allowedOrigins: [...context.options.allowedOrigins, ...origins], ...(recordingPath === undefined ? {} : { recordingPath }),
    });
    return url;
  } catch (error) {
    const endReason = error instanceof ApiError && error.code === 'concurrency_limit' ? 'concurrency_limit' : 'internal_error';
    await endCall(context, callId, {
      status: 'failed', endReason, outcome: 'not_connected', endedAt: new Date(context.clock.now()), summary: { turns: [], interruptions: { byCaller: 0, falseAlarms: 0 } },
    });
    throw error;
  }
}

function formatOf(format: { encoding: AudioFormat['encoding']; sample_rate: number } | undefined, side: 'input' | 'output'): AudioFormat {
  if (!format) return DEFAULT_AUDIO;
  if (format.encoding !== 'pcm16' && format.sample_rate !== 8000) {
    throw new ApiError('invalid_parameter', `audio.${side}.sample_rate must be 8000 for ${format.encoding}.`, { param: `audio.${side}.sample_rate` });
  }
  return { encoding: format.encoding, sampleRate: format.sample_rate as AudioFormat['sampleRate'] };
}
