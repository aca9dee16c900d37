import type { MessagePort } from 'node:worker_threads';
import { configuredLlmId, type EngineComponent, knownModels } from './catalogue.ts';
import { EngineError, type LlmEngine, type SttEngine, type TtsEngine, type VadEngine } from './engine.ts';
import { OpenAiCompatibleLlm } from './llm/openai-compatible.ts';
import { FliteTts } from './local/flite-tts.ts';
import { MoonshineStt } from './local/moonshine-stt.ts';
import { OfflineAgent } from './local/offline-agent.ts';
import { SileroVadEngine } from './local/silero-vad.ts';

/** The engines of one media worker. Each function gives the engine of that model id or throws EngineError `invalid`. */
export interface Engines {
  stt(model: string): SttEngine;
  llm(model: string): LlmEngine;
  tts(model: string): TtsEngine;
  readonly vad: VadEngine;
  /** Lets go of the model threads and of open connections to vendors. */
  close(): Promise<void>;
}

/**
 * Builds every engine this worker can offer. `modelPorts` come from `SpeechPool.connect()`; `llm` is the configured
 * OpenAI-compatible endpoint; without it the offline agent is the only language model there is.
 */
export function createEngines(options: {
  modelPorts: { vad: MessagePort; stt: MessagePort[]; tts: MessagePort[] };
  llm?: { baseUrl: string; apiKey: string; model: string };
}): Engines {
  const vad = new SileroVadEngine(options.modelPorts.vad);
  const stt = new MoonshineStt(options.modelPorts.stt);
  const tts = new FliteTts(options.modelPorts.tts);
  const endpoint = options.llm && new OpenAiCompatibleLlm({ ...options.llm, id: configuredLlmId(options.llm.model) });
  const llms: LlmEngine[] = endpoint ? [new OfflineAgent(), endpoint] : [new OfflineAgent()];
  return {
    stt: (model) => find('stt', [stt], model, options.llm?.model),
    llm: (model) => find('llm', llms, model, options.llm?.model),
    tts: (model) => find('tts', [tts], model, options.llm?.model),
    vad,
    close: async () => {
      vad.close();
      stt.close();
      tts.close();
      await endpoint?.close();
    },
  };
}

function find<Engine extends { model: string }>(component: EngineComponent, engines: Engine[], model: string, configuredLlm: string | undefined): Engine {
  const engine = engines.find((candidate) => candidate.model === model);
  if (engine) return engine;
  const known = knownModels(component, configuredLlm).join(', ');
  throw new EngineError('invalid', `There is no ${component} model "${model}" here; known: ${known}`, { retry: false });
}
