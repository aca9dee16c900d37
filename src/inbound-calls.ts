import { ApiError } from './api/errors.ts';
import type { InboundRoute } from './calls/phone-gateway.ts';
import type { AppContext } from './context.ts';
import { resolveAgentSpec } from './resources/agents/spec.ts';
import { appendLog, createInboundCall } from './resources/calls/actions.ts';
import { settingsOf } from './resources/sip-trunks/draft.ts';
import { findInboundRoute } from './resources/phone-numbers/actions.ts';

/** Finds who answers an INVITE, in the records: trunk by source, number by the called user, agent by the number. */
export async function routeInboundCall(context: AppContext, call: { sourceAddress: string; calledUser: string }): Promise<InboundRoute> {
  const route = await findInboundRoute(context.db, call);
  if (route.kind !== 'route') return { kind: route.kind };
  const { agent, number, trunk, accountId, livemode } = route;
  return {
    kind: 'route',
    // Media is not encrypted yet: a trunk that asks for it has no codec to talk with, and its calls are refused with 488.
    codecs: settingsOf(trunk.settings).media_encryption === 'required' ? [] : trunk.codecs.filter((codec) => codec === 'PCMU' || codec === 'PCMA'),
    accept: async ({ from, to, sipCallId }) => {
      const resolved = resolveAgentSpec(agent, { variables: {}, now: new Date(context.clock.now()), phoneNumber: from });
      const records = resolved.recording.enabled;
      const callId = await orRefused(createInboundCall(context, {
        accountId, livemode, agent: { id: agent.id, version: agent.version }, from, to, sipCallId,
        phoneNumberId: number.id, sipTrunkId: trunk.id, ...(records ? { recordingChannels: resolved.recording.channels } : {}),
      }));
      if (typeof callId !== 'string') return callId;
      if (resolved.unresolved.length > 0) {
        await appendLog(context, callId, { at: context.clock.now(), source: 'session', event: 'merge_fields_unresolved', detail: { fields: resolved.unresolved } });
      }
      return { callId, agent: resolved.agent, ...(records ? { recordingPath: await context.recordings.prepare(callId) } : {}) };
    },
  };
}

/** An account that may not have the call refuses it; the code says why. */
async function orRefused(made: Promise<string>): Promise<string | { refused: string }> {
  try {
    return await made;
  } catch (error) {
    if (error instanceof ApiError) return { refused: error.code };
    throw error;
  }
}
