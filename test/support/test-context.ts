import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeKeyring } from '../../src/api/keyring.ts';
import { createLog } from '../../src/api/log.ts';
import { RATES_PER_SECOND, type RateLimits } from '../../src/api/rate-limit.ts';
import { PUBLISHED_VERSIONS, type VersionHistory } from '../../src/api/versions/history.ts';
import type { Extension } from '../../src/app.ts';
import type { AppContext } from '../../src/context.ts';
import type { Database } from '../../src/db/database.ts';
import { engineCatalogue } from '../../src/engine-catalogue.ts';
import { AddressGuard } from '../../src/events/address-guard.ts';
import type { AccountEvent } from '../../src/events/event.ts';
import { Webhooks } from '../../src/events/webhooks.ts';
import { Jobs } from '../../src/jobs/jobs.ts';
import { KeyCache } from '../../src/resources/api-keys/key-cache.ts';
import type { Payments } from '../../src/resources/billing/payments.ts';
import { CallFeed } from '../../src/resources/calls/call-feed.ts';
import type { RequireCredit } from '../../src/resources/calls/credit.ts';
import { FileRecordings } from '../../src/resources/calls/recording-storage.ts';
import { TrunkChanges } from '../../src/resources/sip-trunks/trunk-changes.ts';
import type { Cloning } from '../../src/resources/voices/cloning.ts';
import { cloning, SimulatedCloner } from '../../src/resources/voices/simulated-cloner.ts';
import { FakeLiveCalls } from './fake-live-calls.ts';
import { NOBODY_PAYS } from './fake-payments.ts';
import { TestClock, WallClock } from './test-clock.ts';
import { createTestDatabase } from './test-database.ts';

/** Rates that no test meets by accident. */
const GENEROUS: RateLimits = Object.fromEntries(Object.keys(RATES_PER_SECOND).map((name) => [name, { perSecond: 1e6, burst: 1e6 }])) as unknown as RateLimits;

export interface HarnessOptions {
  /** Another harness's store, which this one shares; it closes its own connections only. */
  store?: { db: Database; masterKey: Buffer };
  /** Real time instead of a clock that moves when told. */
  realTime?: boolean;
  /** `trace` when absent. */
  logLevel?: string;
  /** Calls an account may have at once; more than any test makes by accident. */
  accountConcurrency?: number;
  requireCredit?: RequireCredit;
  rateLimits?: RateLimits;
  versions?: VersionHistory;
  extensions?: Extension[];
  allowPrivateAddresses?: string[];
  /** Null: no provider is configured. */
  payments?: Payments | null;
  /** Test mode is simulated, and live mode has no provider, when absent. */
  cloning?: Cloning;
}

function paymentsOf({ payments = NOBODY_PAYS }: HarnessOptions): Payments | undefined {
  return payments ?? undefined;
}

function appOptions({ rateLimits = GENEROUS, accountConcurrency = 1000 }: HarnessOptions): AppContext['options'] {
  return {
    publicUrl: 'http://localhost:8080', rateLimits, maxVoicesPerAccount: 50, allowedOrigins: ['http://localhost:8080'], accountConcurrency, blockedDestinations: ['+881', '+1900'],
  };
}

/** What the API works with, and what a test sees of it. */
export interface TestContext {
  context: AppContext;
  clock: TestClock;
  liveCalls: FakeLiveCalls;
  events: AccountEvent[];
  /** Ids of objects that events were told to forget. */
  forgotten: string[];
  /** Everything logged, as lines of JSON. */
  logged: string[];
  close(): Promise<void>;
}

/** A real store, address rules and webhooks; calls, payments and time are the test's own. */
export async function testContext(options: HarnessOptions): Promise<TestContext> {
  const database = options.store ? { db: options.store.db, close: () => Promise.resolve() } : await createTestDatabase();
  const { db } = database;
  const dataDir = mkdtempSync(join(tmpdir(), 'wv-api-'));
  const clock = options.realTime ? new WallClock() : new TestClock();
  const seen = { events: [] as AccountEvent[], forgotten: [] as string[], logged: [] as string[] };
  const log = createLog({ level: options.logLevel ?? 'trace', destination: { write: (line: string) => { seen.logged.push(line); } } });
  const keyring = makeKeyring(options.store?.masterKey ?? randomBytes(32));
  const guard = new AddressGuard({ allowed: options.allowPrivateAddresses ?? [] });
  const versions = options.versions ?? PUBLISHED_VERSIONS;
  const webhooks = new Webhooks({ db, keyring, guard, log, versions });
  const keys = new KeyCache(db, keyring, clock);
  const liveCalls = new FakeLiveCalls();
  const context: AppContext = {
    db, log, keyring, clock, versions, liveCalls, webhooks, guard, keys, jobs: new Jobs({ db, clock, log }),
    events: { emit: (event) => { seen.events.push(event); }, forget: (objectId) => { seen.forgotten.push(objectId); } },
    cloning: options.cloning ?? cloning(new SimulatedCloner()),
    engines: {
      ...engineCatalogue(),
      isKnownModel: (component, model) => model.startsWith('local/') && component !== 'realtime',
      speaks: (_component, _model, language) => language.startsWith('en'),
      defaults: { stt: 'local/ear', llm: 'local/mind', tts: 'local/mouth', ttsVoice: 'plain' },
    },
    recordings: new FileRecordings(join(dataDir, 'recordings')), trunkChanges: new TrunkChanges(), payments: paymentsOf(options), nodeId: 'node_test',
    callFeed: new CallFeed(), requireCredit: options.requireCredit, checks: [], options: appOptions(options),
  };
  return {
    context, clock, liveCalls, ...seen,
    close: async () => {
      await keys.close();
      await webhooks.close();
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
