import type { Clock } from '../../clock.ts';
import { requireAgent } from '../agents/actions.ts';
import { modelsOf } from '../agents/voice.ts';
import type { RequireCredit, SettleCall } from '../calls/credit.ts';
import { holdForCall, settleCall } from './call-money.ts';
import type { Component } from './units.ts';

/** What calls over a trunk are billed as, where the operator sets a price for them. */
export const TELEPHONY_MODEL = 'sip/trunk';

/** Holds the first minute of every call at the prices of the models it uses. */
export function callCredit(clock: Clock): RequireCredit {
  return async (transaction, call) => {
    const chosen = call.models ?? modelsOf((await requireAgent(transaction, call, call.agentId, 'agent_id')).definition.voice);
    const models = (['stt', 'llm', 'tts', 'realtime'] as const).flatMap((component): { component: Component; model: string }[] => {
      const model = chosen[component];
      return model === undefined ? [] : [{ component, model }];
    });
    if (call.direction !== 'realtime') models.push({ component: 'telephony', model: TELEPHONY_MODEL });
    await holdForCall(transaction, { ...call, models, nowMs: clock.now() });
  };
}

/** Charges a call what its usage came to. */
export function callSettlement(clock: Clock): SettleCall {
  return (transaction, callId) => settleCall(transaction, { callId, nowMs: clock.now() });
}
