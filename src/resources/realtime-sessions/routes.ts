import type { App } from '../../api/app-type.ts';
import { iso, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import type { AudioFormat } from '../calls/live-calls.ts';
import { openSession } from './actions.ts';
import { NewRealtimeSession, RealtimeSession } from './schema.ts';

/** POST /v1/realtime/sessions: a call for a browser, and the single-use secret it joins with. */
export function realtimeSessionRoutes(app: App, context: AppContext): void {
  app.post('/v1/realtime/sessions', {
    config: { scope: 'calls:write', recall: 'no_effect' },
    schema: { summary: 'Open a realtime session', description: 'Makes a call for a browser or app, and the single-use `client_secret` that it joins with within 60 seconds. Hand the secret to the browser, never the API key.', querystring: NoQuery, body: NewRealtimeSession, response: { 201: RealtimeSession } },
  }, async ({ body, principal, resourceId }, reply) => {
    const session = await openSession(context, principal, body, resourceId);
    const expires_at = iso(session.expiresAt);
    return reply.code(201).send({
      id: session.id,
      object: 'realtime_session' as const,
      livemode: session.livemode,
      call_id: session.callId,
      client_secret: { value: session.secret, expires_at },
      url: session.url,
      expires_at,
      agent_id: session.agentId,
      audio: { input: present(session.audio.input), output: present(session.audio.output) },
      created_at: iso(session.createdAt),
    });
  });
}

function present({ encoding, sampleRate }: AudioFormat): { encoding: AudioFormat['encoding']; sample_rate: number } {
  return { encoding, sample_rate: sampleRate };
}
