import { configuredLlmId, DEFAULT_VOICE, ENGINE_MODELS } from './engines/catalogue.ts';
import type { EngineCatalogue } from './resources/agents/engine-catalogue.ts';
import type { EngineModels, EngineOffer, ModelComponent, OfferedEngine, OfferedModel, Range } from './resources/engines/engine-offer.ts';
import type { EngineHealth, HealthFigures } from './resources/engines/health.ts';
import { CLONE_MODELS } from './resources/voices/voice-provider.ts';

/** What the engines of an installation stand on. */
export interface InstalledEngines {
  /** Model of the configured OpenAI-compatible endpoint, if any. */
  llm?: string | undefined;
  /** Everything is healthy when absent. */
  health?: EngineHealth;
  /** Vendor engines whose credentials are configured. */
  configured?: readonly string[];
}

interface Definition {
  id: string;
  name: string;
  /** Models of its own, besides those of this machine. */
  models: OfferedModel[];
  /** What of this machine's models it can be composed with. */
  embedded: readonly ModelComponent[];
  sampleRates: number[];
  limits: Readonly<Record<string, Range>>;
}

const COMPOSED = ['stt', 'llm', 'tts'] as const;
const INDIAN = ['bn', 'en', 'gu', 'hi', 'kn', 'ml', 'mr', 'or', 'pa', 'ta', 'te'];
const HEALTHY: HealthFigures = { state: 'healthy', errorRate: 0, p95Ms: null };
const SPEED: Range = { min: 0.5, max: 2, default: 1 };

/** Engine ids are neutral words; models carry their vendors' names. */
const DEFINITIONS: readonly Definition[] = [
  {
    id: 'classic', name: 'Classic', embedded: COMPOSED, sampleRates: [8000, 16_000],
    models: [{ component: 'voice_clone', model: CLONE_MODELS.vendor_a }, { component: 'telephony', model: 'sip/trunk' }],
    limits: { endpointing_ms: { min: 10, max: 5000, default: 300 }, speed: SPEED },
  },
  {
    id: 'vendor_c_agent', name: 'Managed agent', embedded: [], sampleRates: [8000, 16_000, 24_000],
    models: [
      { component: 'stt', model: 'deepgram/flux-general-en', languages: ['en'] }, { component: 'stt', model: 'deepgram/nova-3', languages: ['en'] },
      { component: 'tts', model: 'deepgram/aura-2', languages: ['en'] }, { component: 'voice_clone', model: CLONE_MODELS.vendor_a },
    ],
    limits: { endpointing_ms: { min: 500, max: 5000, default: 500 } },
  },
  {
    id: 'vendor_b', name: 'Indian languages', embedded: ['llm'], sampleRates: [8000, 16_000],
    models: [
      { component: 'stt', model: 'sarvam/saaras:v3', languages: INDIAN }, { component: 'tts', model: 'sarvam/bulbul:v3', languages: INDIAN },
      { component: 'voice_clone', model: CLONE_MODELS.vendor_b },
    ],
    limits: { endpointing_ms: { min: 100, max: 2000, default: 300 }, speed: SPEED },
  },
];
/** Whose models an agent's are: a managed agent when it has all three, any composition last. */
const BY_PRECEDENCE = ['vendor_c_agent', 'vendor_b', 'classic'];

/** The one source of what agents may name and of what GET /v1/engines lists. */
export function engineCatalogue(installed: InstalledEngines = {}): EngineCatalogue & EngineOffer {
  const { llm, health, configured = [] } = installed;
  const own = modelsHere(llm);
  const engines = DEFINITIONS.map((definition) => {
    const available = definition.id === 'classic' || configured.includes(definition.id);
    const composed = available ? own.filter(({ component }) => definition.embedded.includes(component)) : [];
    return { definition, available, models: [...composed, ...definition.models] };
  });
  const usable = engines.filter(({ available }) => available);
  const find = (models: OfferedModel[], component: string, model: string): OfferedModel | undefined => models.find((entry) => entry.component === component && entry.model === model);
  const anywhere = (component: string, model: string): OfferedModel | undefined => find(usable.flatMap(({ models }) => models), component, model);
  return {
    isKnownModel: (component, model) => anywhere(component, model) !== undefined,
    speaks: (component, model, language) => anywhere(component, model)?.languages?.includes(primary(language)) ?? true,
    defaults: { stt: DEFAULT_VOICE.stt.model, llm: llm === undefined ? DEFAULT_VOICE.llm.model : configuredLlmId(llm), tts: DEFAULT_VOICE.tts.model, ttsVoice: DEFAULT_VOICE.tts.voice },
    offered: () => engines.flatMap(({ definition, available, models }) => offer(definition, available, models, health)),
    engineOf: (wanted: EngineModels) => {
      const serves = (id: string): boolean => usable.some(({ definition, models }) => definition.id === id && Object.entries(wanted).every(([component, model]) => find(models, component, model as string)));
      return BY_PRECEDENCE.find(serves) ?? 'classic';
    },
  };
}

/** The embedded models, and that of the configured endpoint. */
function modelsHere(llm: string | undefined): OfferedModel[] {
  const local = ENGINE_MODELS.map(({ component, model, unit, priceMicros, languages, voices }) => ({ component, model, price: { unit, priceMicros }, languages, ...(voices && { voices }) }));
  return llm === undefined ? local : [...local, { component: 'llm', model: configuredLlmId(llm), price: { unit: '1k_output_tokens', priceMicros: 0 } }];
}

/** Nothing when a component that the engine cannot do without has no healthy model left. */
function offer({ id, name, sampleRates, limits }: Definition, available: boolean, all: OfferedModel[], health: EngineHealth | undefined): OfferedEngine[] {
  const figuresOf = ({ model }: OfferedModel): HealthFigures => health?.of(model) ?? HEALTHY;
  const models = all.filter((model) => figuresOf(model).state === 'healthy');
  if (available && !COMPOSED.every((component) => models.some((model) => model.component === component))) return [];
  return [{ id, name, kind: 'composed', available, models, languages: languagesOf(models), sampleRates, limits, health: worstOf(models.map(figuresOf)) }];
}

/** What both an STT and a TTS model speak. */
function languagesOf(models: OfferedModel[]): string[] {
  const of = (component: ModelComponent): Set<string> => new Set(models.filter((model) => model.component === component).flatMap((model) => model.languages ?? []));
  const [heard, spoken] = [of('stt'), of('tts')];
  return [...heard].filter((language) => spoken.has(language)).sort();
}

function worstOf(figures: HealthFigures[]): HealthFigures {
  const times = figures.flatMap(({ p95Ms }) => (p95Ms === null ? [] : [p95Ms]));
  return { state: 'healthy', errorRate: Math.max(0, ...figures.map(({ errorRate }) => errorRate)), p95Ms: times.length === 0 ? null : Math.max(...times) };
}

function primary(language: string): string {
  return language.split('-', 1)[0] ?? language;
}
