import type { App } from '../../api/app-type.ts';
import type { Recall } from '../../api/recall.ts';
import { iso, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import type { AudioFormat } from '../calls/live-calls.ts';
import { openSession, requireSession, type RealtimeSessionView } from './actions.ts';
import { NewRealtimeSession, RealtimeSession } from './schema.ts';

/** POST /v1/realtime/sessions: a call for a browser, and the single-use secret it joins with. */
export function realtimeSessionRoutes(app: App, context: AppContext): void {
  const recall: Recall = async ({ principal, resourceId }) => ({ ...presentSession(await requireSession(context, principal, resourceId), null), secret_already_shown: true });

  app.post('/v1/realtime/sessions', {
    config: {
      scope: 'calls:write', recall,
      errors: ['agent_not_found', 'key_mode_mismatch', 'invalid_metadata', 'unsupported_language', 'unknown_model', 'conflicting_voice', 'insufficient_credits', 'concurrency_limit', 'service_unavailable'],
    },
    schema: {
      summary: 'Open a realtime session', description: 'A browser or a server joins it over WebSocket at `url` with `client_secret`, within 60 seconds.',
      querystring: NoQuery, body: NewRealtimeSession, response: { 201: RealtimeSession },
    },
  }, async ({ body, principal, resourceId }, reply) => {
    const session = await openSession(context, principal, body, resourceId);
    return reply.code(201).send(presentSession(session, { value: session.secret, expires_at: iso(session.expiresAt) }));
  });
}

function presentSession(session: RealtimeSessionView, client_secret: RealtimeSession['client_secret']): RealtimeSession {
  return {
    id: session.id,
    object: 'realtime_session',
    livemode: session.livemode,
    call_id: session.callId,
    client_secret,
    url: session.url,
    expires_at: iso(session.expiresAt),
    agent_id: session.agentId,
    audio: { input: present(session.audio.input), output: present(session.audio.output) },
    created_at: iso(session.createdAt),
  };
}

function present({ encoding, sampleRate }: AudioFormat): { encoding: AudioFormat['encoding']; sample_rate: number } {
  return { encoding, sample_rate: sampleRate };
}
