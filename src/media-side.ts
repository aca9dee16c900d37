import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { WorkerPool } from './calls/worker-pool.ts';
import { SpeechPool } from './engines/local/speech-pool.ts';
import type { GatewaySettings } from './gateway-settings.ts';

type Step = () => unknown;

const PROCESS_SPEECH = { sttThreads: Math.max(1, availableParallelism()), ttsThreads: 1 };

/** The embedded models, on threads of their own; they load while the rest starts. */
export function openSpeech(settings: GatewaySettings, log: Logger, stops: Step[]): SpeechPool {
  const speech = SpeechPool.open({ ...PROCESS_SPEECH, cacheDir: join(settings.dataDir, 'models'), log: (level, event, detail) => log[level](detail, event) });
  stops.push(() => speech.close());
  return speech;
}

/** The media workers, each with its share of the RTP ports. */
export function startPool(settings: GatewaySettings, speech: SpeechPool, log: Logger): Promise<WorkerPool> {
  const size = settings.mediaWorkers || Math.max(1, availableParallelism() - 1);
  const share = Math.floor((settings.rtpPorts.to - settings.rtpPorts.from + 1) / size);
  return WorkerPool.start({
    entry: new URL('./worker.ts', import.meta.url),
    size,
    workerData: (index) => ({
      index,
      host: settings.host,
      rtpPorts: { from: settings.rtpPorts.from + index * share, to: settings.rtpPorts.from + (index + 1) * share - 1 },
      browserPort: settings.browserPorts === 0 ? 0 : settings.browserPorts + index,
      modelPorts: speech.connect(),
      ...(settings.llmBaseUrl === '' ? {} : { llm: { baseUrl: settings.llmBaseUrl, apiKey: settings.llmApiKey, model: settings.llmModel } }),
      mediaTimeoutMs: settings.mediaTimeoutSeconds * 1000,
      realtimePriority: true,
    }),
    log,
  });
}
