import { ApiError } from '../../api/errors.ts';
import { newToken } from '../../api/secrets.ts';
import type { AppContext } from '../../context.ts';
import { newId } from '../../db/id.ts';
import { listAllowedOrigins } from '../accounts/actions.ts';
import { requireAgent } from '../agents/actions.ts';
import { resolveAgentSpec, type AgentForCall } from '../agents/spec.ts';
import { createRealtimeCall, endCall } from '../calls/actions.ts';
import type { AudioFormat } from '../calls/live-calls.ts';
import type { NewRealtimeSession } from './schema.ts';
import { insertSession } from './store.ts';

/** A client secret that nobody has used by then is worthless. */
const JOIN_WITHIN_MS = 60_000;
const DEFAULT_AUDIO: AudioFormat = { encoding: 'pcm16', sampleRate: 16_000 };

export interface OpenedSession {
  id: string;
  callId: string;
  agentId: string;
  livemode: boolean;
  secret: string;
  url: string;
  createdAt: Date;
  expiresAt: Date;
  audio: { input: AudioFormat; output: AudioFormat };
}

/** Makes a session and its call, which waits 60 s for the browser. Throws ApiError. */
export async function openSession(context: AppContext, owner: { accountId: string; livemode: boolean }, body: NewRealtimeSession, id?: string): Promise<OpenedSession> {
  const agentRow = await requireAgent(context.db, owner, body.agent_id, 'agent_id');
  const createdAt = new Date(context.clock.now());
  const variables = body.variables ?? {};
  const resolved = resolveAgentSpec(agentRow, { variables, ...(body.overrides ? { overrides: body.overrides } : {}), maxDurationSeconds: body.max_duration_seconds, now: createdAt });
  requireLanguage(context, resolved);
  const session: OpenedSession = {
    id: id ?? newId(createdAt.getTime()),
    callId: newId(createdAt.getTime()),
    agentId: agentRow.id,
    livemode: owner.livemode,
    secret: newToken('wvr_'),
    url: '',
    createdAt,
    expiresAt: new Date(createdAt.getTime() + JOIN_WITHIN_MS),
    audio: { input: formatOf(body.audio?.input, 'input'), output: formatOf(body.audio?.output, 'output') },
  };
  const records = resolved.recording.enabled;
  await context.db.transaction(async (transaction) => {
    await createRealtimeCall(context, transaction, {
      id: session.callId, accountId: owner.accountId, livemode: owner.livemode, agent: { id: agentRow.id, version: agentRow.version },
      realtimeSessionId: session.id, metadata: body.metadata ?? {}, variables, createdAt, ...(records ? { recordingChannels: 'stereo' } : {}),
    });
    await insertSession(transaction, { ...session, accountId: owner.accountId });
  });
  const recordingPath = records ? await context.recordings.prepare(session.callId) : undefined;
  session.url = await open(context, session, resolved, await listAllowedOrigins(context.db, owner.accountId), recordingPath);
  return session;
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

function requireLanguage({ engines }: AppContext, { agent }: AgentForCall): void {
  if (engines.speaks('stt', agent.stt.model, agent.language) && engines.speaks('tts', agent.tts.model, agent.language)) return;
  throw new ApiError('unsupported_language', `Neither ${agent.stt.model} nor ${agent.tts.model} can be relied on for ${agent.language}. Choose another model or language for the agent.`, { param: 'agent_id' });
}

function formatOf(format: { encoding: AudioFormat['encoding']; sample_rate: number } | undefined, side: 'input' | 'output'): AudioFormat {
  if (!format) return DEFAULT_AUDIO;
  if (format.encoding !== 'pcm16' && format.sample_rate !== 8000) {
    throw new ApiError('invalid_parameter', `audio.${side}.sample_rate must be 8000 for ${format.encoding}.`, { param: `audio.${side}.sample_rate` });
  }
  return { encoding: format.encoding, sampleRate: format.sample_rate as AudioFormat['sampleRate'] };
}
