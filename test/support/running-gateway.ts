import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PRICE_BOOK } from '../../config/price-book.ts';
import { createLog } from '../../src/api/log.ts';
import { startGateway, type Gateway } from '../../src/gateway.ts';
import type { GatewaySettings } from '../../src/gateway-settings.ts';
import { apiClient, type ApiClient } from './api-client.ts';
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts';

/** The whole service in this process: embedded PostgreSQL and speech, real sockets on free ports, a data directory of its own. */
export interface RunningGateway {
  readonly gateway: Gateway;
  readonly httpUrl: string;
  readonly sipPort: number;
  /** The demo agent's number in live mode, and its SIP address. */
  readonly number: string;
  readonly sipUri: string;
  readonly liveKey: string;
  readonly api: ApiClient;
  readonly webhooks: WebhookReceiver;
  /** Log lines from `warn` up, parsed. */
  readonly complaints: Record<string, unknown>[];
  /** Ends live calls at once unless told how long to wait for them; removes the data directory. Safe to call twice. */
  stop(drainMs?: number): Promise<void>;
}

/** Below the ports that the system hands out itself; the pool passes over those in use. */
const RTP_PORTS = { from: 21_000, to: 21_399 };

export async function startRunningGateway(settings: Partial<GatewaySettings> = {}): Promise<RunningGateway> {
  const dataDir = mkdtempSync(join(tmpdir(), 'wv-scenario-'));
  const webhooks = await startWebhookReceiver();
  const complaints: Record<string, unknown>[] = [];
  const log = createLog({ level: 'warn', destination: { write: (line: string) => { complaints.push(JSON.parse(line) as Record<string, unknown>); } } });
  const remove = async (): Promise<void> => {
    await webhooks.close();
    rmSync(dataDir, { recursive: true, force: true });
  };
  let gateway: Gateway;
  try {
    gateway = await startGateway({ ...defaults(dataDir, webhooks), ...settings }, log);
  } catch (error) {
    await remove();
    throw error;
  }
  const liveKey = gateway.firstStart.apiKeys?.live ?? '';
  const httpUrl = `http://127.0.0.1:${gateway.httpPort}`;
  const api = apiClient(httpUrl, liveKey);
  const subscribed = await api.request('PATCH', '/v1/webhook', { url: webhooks.url });
  webhooks.secret = String(subscribed.body['secret']);
  const stop = async (drainMs: number): Promise<void> => {
    await gateway.stop(drainMs);
    await remove();
  };
  let stopping: Promise<void> | undefined;
  return {
    gateway, httpUrl, liveKey, api, webhooks, complaints,
    sipPort: gateway.sipPort,
    number: gateway.firstStart.numbers.live,
    sipUri: `sip:${gateway.firstStart.numbers.live}@127.0.0.1:${gateway.sipPort}`,
    stop: (drainMs = 0) => (stopping ??= stop(drainMs)),
  };
}

function defaults(dataDir: string, webhooks: WebhookReceiver): GatewaySettings {
  return {
    port: 0, host: '127.0.0.1', publicUrl: 'http://localhost:8080', sipPort: 0, publicAddress: '127.0.0.1', rtpPorts: RTP_PORTS, browserPorts: 0,
    dataDir, databaseUrl: '', masterKey: '', mediaWorkers: 0, drainSeconds: 0, allowPrivateAddresses: [webhooks.hostPort],
    llmBaseUrl: '', llmApiKey: '', llmModel: '', maxCallsPerCore: 6, accountConcurrency: 20, blockedDestinations: [], maxVoicesPerAccount: 50, mediaTimeoutSeconds: 30, rateLimits: {},
    priceBook: PRICE_BOOK, stripeSecretKey: '', stripeWebhookSecret: '', stripeApiBase: 'https://api.stripe.com',
  };
}
