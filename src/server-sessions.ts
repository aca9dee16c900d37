import { authenticateKey, requireScope } from './api/authentication.ts';
import { ApiError } from './api/errors.ts';
import { RateLimiter } from './api/rate-limit.ts';
import type { OpenedSession } from './calls/upgrade-relay.ts';
import type { AppContext } from './context.ts';
import { openSession } from './resources/realtime-sessions/actions.ts';

export type OpenServerSession = (authorization: string, agentId: string) => Promise<OpenedSession>;

/**
 * Opens realtime sessions for servers that upgrade with their API key and an agent's id, as POST /v1/realtime/sessions would.
 * An upgrade passes no route, so it has buckets of its own: of a key, and of everybody without a valid one.
 */
export function serverSessions(context: AppContext): OpenServerSession {
  const { clock } = context;
  const { rateLimits } = context.options;
  const limiter = new RateLimiter(clock);
  const principals = { byApiKey: (secret: string) => context.keys.find(secret), bySession: () => Promise.resolve(undefined) };
  return async (authorization, agentId) => {
    try {
      const principal = await authenticateKey(authorization, { clock, principals }).catch((error: unknown) => {
        if (!limiter.take('strangers', rateLimits.public).allowed) throw new ApiError('rate_limited');
        throw error;
      });
      if (!limiter.take(principal.bucket, rateLimits.call).allowed) throw new ApiError('rate_limited');
      requireScope(principal, 'calls:write');
      const { id, secret } = await openSession(context, principal, { agent_id: agentId });
      return { sessionId: id, secret };
    } catch (error) {
      if (error instanceof ApiError) return { status: error.status };
      context.log.error({ error: String(error) }, 'a realtime session could not be opened');
      return { status: 500 };
    }
  };
}
