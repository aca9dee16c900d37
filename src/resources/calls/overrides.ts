import Type, { type Static } from 'typebox';
import { ApiError } from '../../api/errors.ts';
import type { EngineCatalogue } from '../agents/engine-catalogue.ts';
import { Overrides, VoiceInput, type Voice } from '../agents/schema.ts';
import { resolveAgentSpec, type AgentForCall, type ResolveOptions } from '../agents/spec.ts';
import { fillVoice } from '../agents/voice.ts';

/** What one call may change of its agent, for itself. */
export const CallOverrides = Type.Object({ ...Overrides.properties, voice: Type.Optional(VoiceInput) }, {
  additionalProperties: false, description: 'What this call changes of its agent. Of voice, only the fields that are sent.',
});
export type CallOverrides = Static<typeof CallOverrides>;

/**
 * The agent as a call uses it; `param` names it in the request. Throws ApiError `conflicting_voice`, `unknown_model` (of an
 * overridden voice, or a realtime model, which no engine here runs), or `unsupported_language` when no engine can be relied on
 * for the agent's language.
 */
export function resolveForCall(engines: EngineCatalogue, row: Parameters<typeof resolveAgentSpec>[0], options: Omit<ResolveOptions, 'overrides'> & { overrides?: CallOverrides | undefined }, param = 'agent_id'): AgentForCall {
  const { overrides: { voice, ...overrides } = {}, ...rest } = options;
  const definition = voice ? { ...row.definition, voice: overrideVoice(row.definition.voice, voice, overrides.language ?? row.definition.language, engines) } : row.definition;
  const { realtime } = definition.voice;
  if (realtime) throw new ApiError('unknown_model', `No engine here holds calls with the realtime model ${realtime.model}. Give the agent a composed voice.`, { param });
  const resolved = resolveAgentSpec({ ...row, definition }, { ...rest, overrides });
  requireLanguage(engines, resolved, param);
  return resolved;
}

/** The agent's own voice with what the call names in its place; naming the other kind of voice replaces it. */
function overrideVoice(own: Voice, given: VoiceInput, language: string, engines: EngineCatalogue): Voice {
  const { turn_taking: ownTurns, ...ownParts } = own;
  const turn_taking = { ...ownTurns, ...given.turn_taking };
  const composed = given.stt ?? given.llm ?? given.tts;
  const switched = given.realtime ? own.realtime === undefined : composed !== undefined && own.realtime !== undefined;
  const parts: VoiceInput = switched ? {} : ownParts as VoiceInput;
  const merged: VoiceInput = { turn_taking };
  for (const component of ['stt', 'llm', 'tts', 'realtime'] as const) {
    if (parts[component] !== undefined || given[component] !== undefined) Object.assign(merged, { [component]: { ...parts[component], ...given[component] } });
  }
  try {
    return fillVoice(merged, language, engines);
  } catch (error) {
    if (!(error instanceof ApiError) || error.param === undefined) throw error;
    throw new ApiError(error.code, error.message, { param: `overrides.${error.param}` });
  }
}

function requireLanguage(engines: EngineCatalogue, { agent }: AgentForCall, param: string): void {
  if (engines.speaks('stt', agent.stt.model, agent.language) && engines.speaks('tts', agent.tts.model, agent.language)) return;
  throw new ApiError('unsupported_language', `Neither ${agent.stt.model} nor ${agent.tts.model} can be relied on for ${agent.language}. Choose another model or language for the agent.`, { param });
}
