/** The models this installation knows and what they cost: data only, for the control side as much as for the workers. */

export type EngineComponent = 'stt' | 'llm' | 'tts';

export interface EngineModel {
  component: EngineComponent;
  /** Vendor and model: `local/...` runs on this machine. */
  model: string;
  /** What `priceMicros` buys one of. */
  unit: 'minute' | '1k_output_tokens' | '1k_characters';
  /** Micro-USD; the embedded models cost nothing. */
  priceMicros: number;
  /** BCP 47 primary languages. */
  languages: readonly string[];
  /** TTS only: the voices it has. */
  voices?: readonly string[];
}

export const ENGINE_MODELS: readonly EngineModel[] = [
  { component: 'stt', model: 'local/moonshine-tiny-en', unit: 'minute', priceMicros: 0, languages: ['en'] },
  { component: 'llm', model: 'local/offline-agent', unit: '1k_output_tokens', priceMicros: 0, languages: ['en'] },
  { component: 'tts', model: 'local/flite', unit: '1k_characters', priceMicros: 0, languages: ['en'], voices: ['rms', 'slt', 'awb', 'kal16'] },
];

/** What an agent that chooses nothing gets; `llm` is the configured endpoint's model where there is one. */
export const DEFAULT_VOICE = {
  stt: { model: 'local/moonshine-tiny-en', language: 'en-US' },
  llm: { model: 'local/offline-agent' },
  tts: { model: 'local/flite', voice: 'rms' },
} as const;

/** Model id of a configured OpenAI-compatible endpoint's model, as agents name it. */
export function configuredLlmId(model: string): string {
  return `openai-compatible/${model}`;
}

/** Every model id that can serve as `component`; `configuredLlm` is the bare model name of the OpenAI-compatible endpoint, if any. */
export function knownModels(component: EngineComponent, configuredLlm?: string): string[] {
  const known = ENGINE_MODELS.filter((entry) => entry.component === component).map((entry) => entry.model);
  if (component === 'llm' && configuredLlm !== undefined) known.push(configuredLlmId(configuredLlm));
  return known;
}
