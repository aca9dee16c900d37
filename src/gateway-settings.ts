import type { BookPrice } from './resources/billing/prices.ts';

/** What the gateway is told; main.ts reads it from the environment, a test writes it down. */
export interface GatewaySettings {
  port: number;
  host: string;
  publicUrl: string;
  sipPort: number;
  publicAddress: string;
  rtpPorts: { from: number; to: number };
  browserPorts: number;
  dataDir: string;
  databaseUrl: string;
  masterKey: string;
  mediaWorkers: number;
  drainSeconds: number;
  allowPrivateAddresses: string[];
  llmBaseUrl: string;
  llmApiKey: string;
  llmModel: string;
  maxCallsPerCore: number;
  accountConcurrency: number;
  blockedDestinations: string[];
  maxVoicesPerAccount: number;
  rateLimits: Readonly<Record<string, number>>;
  mediaTimeoutSeconds: number;
  priceBook: readonly BookPrice[];
  stripeSecretKey: string;
  stripeWebhookSecret: string;
  stripeApiBase: string;
}
