import type { HealthFigures } from './health.ts';

/** What agents and clients can choose from. Owned here; `src/engine-catalogue.ts` builds it from the engines of the installation. */

export type ModelComponent = 'stt' | 'llm' | 'tts' | 'realtime' | 'voice_clone' | 'telephony';

export interface OfferedModel {
  component: ModelComponent;
  /** `<vendor>/<model>`. */
  model: string;
  /** What it costs where the price book has no line for it. */
  price?: { unit: string; priceMicros: number };
  /** BCP 47 primary languages; every one when absent. */
  languages?: readonly string[];
  /** Of a TTS model: those it has besides cloned ones. */
  voices?: readonly string[];
}

/** A setting's range at an engine; what lies outside is clamped to it. */
export interface Range { min: number; max: number; default: number }

export interface OfferedEngine {
  id: string;
  name: string;
  kind: 'composed' | 'realtime';
  /** Whether its credentials are configured. */
  available: boolean;
  models: OfferedModel[];
  /** BCP 47 primary languages it can both hear and speak. */
  languages: string[];
  sampleRates: number[];
  limits: Readonly<Record<string, Range>>;
  health: HealthFigures;
}

export interface EngineModels { stt?: string; llm?: string; tts?: string; realtime?: string }

export interface EngineOffer {
  /** What can be served now: without engines that are degraded, and without degraded models in those that are listed. */
  offered(): OfferedEngine[];
  /** The engine that serves these models, whatever its health. */
  engineOf(models: EngineModels): string;
}
