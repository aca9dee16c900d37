import type { EngineOffer } from './engine-offer.ts';

interface ChosenModel { model: string }
/** The models of an agent's voice: a composed pipeline or a realtime model. */
export interface ChosenVoice { stt?: ChosenModel; llm?: ChosenModel; tts?: ChosenModel; realtime?: ChosenModel }

/** The id of the engine that a voice runs on: an agent's read-only `engine`. */
export function engineOf({ stt, llm, tts, realtime }: ChosenVoice, engines: Pick<EngineOffer, 'engineOf'>): string {
  return engines.engineOf({
    ...(stt && { stt: stt.model }), ...(llm && { llm: llm.model }), ...(tts && { tts: tts.model }), ...(realtime && { realtime: realtime.model }),
  });
}
