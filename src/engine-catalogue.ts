import { configuredLlmId, DEFAULT_VOICE, ENGINE_MODELS, isKnownModel } from './engines/catalogue.ts';
import type { EngineCatalogue } from './resources/agents/engine-catalogue.ts';

/** What agents may name, as the engines of this installation stand. `llm`: the configured endpoint's model, if any. */
export function engineCatalogue(llm: string | undefined): EngineCatalogue {
  return {
    isKnownModel: (component, model) => component !== 'realtime' && isKnownModel(component, model, llm),
    speaks: (component, model, language) => {
      const known = ENGINE_MODELS.find((entry) => entry.component === component && entry.model === model);
      return known === undefined || known.languages.includes(language.split('-')[0] ?? language);
    },
    defaults: {
      stt: DEFAULT_VOICE.stt.model,
      llm: llm === undefined ? DEFAULT_VOICE.llm.model : configuredLlmId(llm),
      tts: DEFAULT_VOICE.tts.model,
      ttsVoice: DEFAULT_VOICE.tts.voice,
    },
  };
}
