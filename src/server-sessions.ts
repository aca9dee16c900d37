import { authenticateKey, requireScope } from './api/authentication.ts';
import { ApiError } from './api/errors.ts';
import type { OpenedSession } from './calls/upgrade-relay.ts';
import type { AppContext } from './context.ts';
import { openSession } from './resources/realtime-sessions/actions.ts';

/** Opens a realtime session for a server that upgrades with its API key and an agent's id, as POST /v1/realtime/sessions would. */
export async function openServerSession(context: AppContext, authorization: string, agentId: string): Promise<OpenedSession> {
  const { clock } = context;
  const principals = { byApiKey: (secret: string) => context.keys.find(secret), bySession: () => Promise.resolve(undefined) };
  try {
    const principal = await authenticateKey(authorization, { clock, principals });
    requireScope(principal, 'calls:write');
    const { id, secret } = await openSession(context, principal, { agent_id: agentId });
    return { sessionId: id, secret };
  } catch (error) {
    if (error instanceof ApiError) return { status: error.status };
    context.log.error({ error: String(error) }, 'a realtime session could not be opened');
    return { status: 500 };
  }
}
