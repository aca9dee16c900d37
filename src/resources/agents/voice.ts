import { ApiError } from '../../api/errors.ts';
import type { EngineCatalogue } from './engine-catalogue.ts';
import type { Fallbacks, FallbacksInput, Voice, VoiceInput } from './voice-schema.ts';

type Component = 'stt' | 'llm' | 'tts' | 'realtime';
type VoiceParts = Omit<Voice, 'turn_taking'>;
type VoiceModels = Partial<Record<Component, { model: string } | undefined>>;
const COMPOSED = ['stt', 'llm', 'tts'] as const;
const COMPONENTS = [...COMPOSED, 'realtime'] as const;

/**
 * Fills a voice in: nothing or parts of a pipeline become the whole pipeline.
 * Throws ApiError `conflicting_voice`, `unknown_model`.
 */
export function fillVoice(input: VoiceInput | null | undefined, language: string, engines: EngineCatalogue): Voice {
  const voice = input ?? {};
  const turn_taking = { interrupt_sensitivity: voice.turn_taking?.interrupt_sensitivity ?? 'normal', silence_wait_ms: voice.turn_taking?.silence_wait_ms ?? 500 };
  const filled = voice.realtime ? realtimeVoice(voice, voice.realtime) : composedVoice(voice, language, engines);
  for (const component of COMPONENTS) requireModel(component, filled[component]?.model, engines, `voice.${component}.model`);
  return { ...filled, turn_taking };
}

/** Throws ApiError `unknown_model`. */
export function fillFallbacks({ stt = [], llm = [], tts = [], realtime = [] }: FallbacksInput, engines: EngineCatalogue): Fallbacks {
  const filled = { stt, llm, tts: tts.map(withVoice), realtime: realtime.map(withVoice) };
  for (const component of COMPONENTS) {
    for (const [index, { model }] of filled[component].entries()) requireModel(component, model, engines, `fallbacks.${component}[${index}].model`);
  }
  return filled;
}

function withVoice({ model, voice }: { model: string; voice?: string | null }): { model: string; voice: string | null } {
  return { model, voice: voice ?? null };
}

function realtimeVoice(voice: VoiceInput, realtime: NonNullable<VoiceInput['realtime']>): VoiceParts {
  const also = COMPOSED.find((component) => voice[component] !== undefined);
  if (also) throw new ApiError('conflicting_voice', undefined, { param: `voice.${also}` });
  return { realtime: { model: realtime.model, voice: realtime.voice ?? null, language: realtime.language ?? 'auto' } };
}

function composedVoice({ stt, llm, tts }: VoiceInput, language: string, { defaults }: EngineCatalogue): VoiceParts {
  return {
    stt: { model: defaults.stt, language, endpointing_ms: 300, ...stt },
    llm: { model: defaults.llm, temperature: 0.6, max_tokens: 300, ...llm },
    tts: { model: defaults.tts, voice: defaults.ttsVoice, stability: 0.5, similarity_boost: 0.75, speed: 1, ...tts },
  };
}

function requireModel(component: Component, model: string | undefined, engines: EngineCatalogue, param: string): void {
  if (model === undefined || engines.isKnownModel(component, model)) return;
  throw new ApiError('unknown_model', `No engine here has the ${component} model ${model}. GET /v1/engines lists those there are.`, { param });
}

/** The models of a voice, by component. */
export function modelsOf({ stt, llm, tts, realtime }: VoiceModels): Partial<Record<Component, string>> {
  return { ...(stt && { stt: stt.model }), ...(llm && { llm: llm.model }), ...(tts && { tts: tts.model }), ...(realtime && { realtime: realtime.model }) };
}

/** What is odd about an agent that is accepted all the same. */
export function voiceWarnings(voice: Voice, language: string, engines: EngineCatalogue): string[] {
  const parts = [['stt', voice.stt?.model, voice.stt?.language ?? language], ['tts', voice.tts?.model, language], ['realtime', voice.realtime?.model, language]] as const;
  return parts.flatMap(([component, model, spoken]) =>
    model === undefined || engines.speaks(component, model, spoken) ? [] : [`The ${component} model ${model} does not speak ${spoken}: calls with this agent are refused with unsupported_language.`]);
}
