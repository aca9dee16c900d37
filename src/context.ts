import type { Logger } from 'pino';
import type { Keyring } from './api/keyring.ts';
import type { RateLimits } from './api/rate-limit.ts';
import type { VersionHistory } from './api/versions/history.ts';
import type { Clock } from './clock.ts';
import type { Database } from './db/database.ts';
import type { AddressGuard } from './events/address-guard.ts';
import type { EventSink } from './events/event.ts';
import type { Webhooks } from './events/webhooks.ts';
import type { Jobs } from './jobs/jobs.ts';
import type { EngineCatalogue } from './resources/agents/engine-catalogue.ts';
import type { KeyCache } from './resources/api-keys/key-cache.ts';
import type { EngineOffer } from './resources/engines/engine-offer.ts';
import type { Cloning } from './resources/voices/cloning.ts';
import type { CallFeed } from './resources/calls/call-feed.ts';
import type { RequireCredit, SettleCall } from './resources/calls/credit.ts';
import type { Payments } from './resources/billing/payments.ts';
import type { LiveCalls } from './resources/calls/live-calls.ts';
import type { RecordingEncoder } from './resources/calls/recording-encoder.ts';
import type { RecordingStorage } from './resources/calls/recording-storage.ts';
import type { TrunkChanges } from './resources/sip-trunks/trunk-changes.ts';

/** What the resources work with. Made once by main.ts (or a test) and handed to `buildApp`. */
export interface AppContext {
  db: Database;
  log: Logger;
  keyring: Keyring;
  clock: Clock;
  versions: VersionHistory;
  liveCalls: LiveCalls;
  events: EventSink;
  webhooks: Webhooks;
  guard: AddressGuard;
  jobs: Jobs;
  keys: KeyCache;
  engines: EngineCatalogue & EngineOffer;
  cloning: Cloning;
  recordings: RecordingStorage;
  /** Absent: the machine's ffmpeg, where there is one. */
  recordingEncoder?: RecordingEncoder;
  /** What followers of a live call hear. */
  callFeed: CallFeed;
  /** Asked before every call; absent: calls cost nothing. */
  requireCredit?: RequireCredit | undefined;
  /** Charges a call when it ends. */
  settleCall?: SettleCall | undefined;
  trunkChanges: TrunkChanges;
  /** Undefined: none is configured. */
  payments: Payments | undefined;
  /** Names this process in rows of live calls. */
  nodeId: string;
  /** Ready to take traffic? Each names itself and says why not. */
  checks: HealthCheck[];
  options: AppOptions;
}

export interface AppOptions {
  /** Without a trailing slash. */
  publicUrl: string;
  rateLimits: RateLimits;
  /** Browser origins that may join realtime sessions besides each account's own. */
  allowedOrigins: string[];
  /** Calls that an account may have at once. */
  accountConcurrency: number;
  /** Cloned voices that an account may have in each mode. */
  maxVoicesPerAccount: number;
  /** Beginnings of numbers (E.164) that are not called. */
  blockedDestinations: readonly string[];
}

export interface HealthCheck {
  name: string;
  /** Undefined: well. Otherwise the reason, for people. */
  run: () => Promise<string | undefined>;
}
