/** What agents need to know of the engines. Owned by its consumer; main.ts builds it from `src/engines`. */
export interface EngineCatalogue {
  /** Whether an engine for this component has the model. */
  isKnownModel(component: 'stt' | 'llm' | 'tts' | 'realtime', model: string): boolean;
  /** Whether a model speaks a language; models of unknown languages are taken to speak all. */
  speaks(component: 'stt' | 'tts' | 'realtime', model: string, language: string): boolean;
  /** What fills an agent's voice where it says nothing. */
  defaults: { stt: string; llm: string; tts: string; ttsVoice: string };
}
