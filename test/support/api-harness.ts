import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import type { App } from '../../src/api/app-type.ts';
import { ApiError } from '../../src/api/errors.ts';
import { makeKeyring } from '../../src/api/keyring.ts';
import { createLog } from '../../src/api/log.ts';
import { RATES_PER_SECOND, type RateLimits } from '../../src/api/rate-limit.ts';
import { Jobs } from '../../src/jobs/jobs.ts';
import { PUBLISHED_VERSIONS, type VersionHistory } from '../../src/api/versions/history.ts';
import { SCOPES, type Scope } from '../../src/api/scopes.ts';
import { buildApp, type Extension } from '../../src/app.ts';
import type { Clock } from '../../src/clock.ts';
import type { AppContext } from '../../src/context.ts';
import { engineCatalogue } from '../../src/engine-catalogue.ts';
import { AddressGuard } from '../../src/events/address-guard.ts';
import type { AccountEvent } from '../../src/events/event.ts';
import { Webhooks } from '../../src/events/webhooks.ts';
import { PRICE_BOOK } from '../../config/price-book.ts';
import { insertAccount } from '../../src/resources/accounts/store.ts';
import { KeyCache } from '../../src/resources/api-keys/key-cache.ts';
import { makeApiKey } from '../../src/resources/api-keys/actions.ts';
import type { Payments } from '../../src/resources/billing/payments.ts';
import { loadPriceBook } from '../../src/resources/billing/prices.ts';
import { FileRecordings } from '../../src/resources/calls/recording-storage.ts';
import { CallFeed } from '../../src/resources/calls/call-feed.ts';
import type { CallCommand, CommandOutcome, LiveCalls, PlaceRequest, RealtimeRequest, TransferRequest } from '../../src/resources/calls/live-calls.ts';
import type { RequireCredit } from '../../src/resources/calls/credit.ts';
import type { Cloning } from '../../src/resources/voices/cloning.ts';
import { cloning, SimulatedCloner } from '../../src/resources/voices/simulated-cloner.ts';
import { TrunkChanges } from '../../src/resources/sip-trunks/trunk-changes.ts';
import type { Database } from '../../src/db/database.ts';
import { newId } from '../../src/db/id.ts';
import { NOBODY_PAYS } from './fake-payments.ts';
import { createTestDatabase } from './test-database.ts';

/** Rates that no test meets by accident. */
const GENEROUS: RateLimits = Object.fromEntries(Object.keys(RATES_PER_SECOND).map((name) => [name, { perSecond: 1e6, burst: 1e6 }])) as unknown as RateLimits;

/** Wall clock that moves only when told. */
export class TestClock implements Clock {
  #nowMs = Date.parse('2026-11-21T12:00:00.000Z');
  #timers = new Set<{ atMs: number; work: () => void }>();

  now(): number {
    return this.#nowMs;
  }

  after(delayMs: number, work: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, work };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    for (const timer of [...this.#timers]) {
      if (timer.atMs > this.#nowMs) continue;
      this.#timers.delete(timer);
      timer.work();
    }
  }
}

/** Time as it passes, for processes that outlive a test's patience. */
class WallClock extends TestClock {
  override now(): number {
    return Date.now();
  }
}

/** Live calls that exist in a test's imagination only. */
export class FakeLiveCalls implements LiveCalls {
  readonly opened: RealtimeRequest[] = [];
  readonly hungUp: string[] = [];
  full = false;
  readonly placed: PlaceRequest[] = [];
  readonly commands: { callId: string; command: CallCommand }[] = [];
  readonly transfers: ({ callId: string } & TransferRequest)[] = [];
  /** What stands in the way of dialling and of transfers. */
  refusal: ApiError | undefined;
  /** What becomes of a dialling. */
  onPlace: (request: PlaceRequest) => Promise<void> = () => Promise.resolve();
  outcome: CommandOutcome = 'done';
  /** What a hang-up does to the call's row. */
  onHangUp: (callId: string) => Promise<void> = () => Promise.resolve();

  async hangUp(callId: string): Promise<boolean> {
    this.hungUp.push(callId);
    await this.onHangUp(callId);
    return true;
  }

  mayPlace(): void {
    if (this.refusal) throw this.refusal;
  }

  async place(request: PlaceRequest): Promise<void> {
    this.placed.push(request);
    await this.onPlace(request);
  }

  command(callId: string, command: CallCommand): Promise<CommandOutcome> {
    if (this.outcome === 'done') this.commands.push({ callId, command });
    return Promise.resolve(this.outcome);
  }

  mayTransfer(): void {
    if (this.refusal) throw this.refusal;
  }

  transfer(callId: string, request: TransferRequest): Promise<void> {
    this.transfers.push({ callId, ...request });
    return Promise.resolve();
  }

  openRealtime(request: RealtimeRequest): Promise<{ url: string }> {
    if (this.full) return Promise.reject(new ApiError('concurrency_limit'));
    this.opened.push(request);
    return Promise.resolve({ url: `ws://localhost:1/v1/realtime?session=${request.sessionId}` });
  }
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever JSON came: the tests say what it must be
  body: any;
}

/** An account with a key of each mode. */
export interface TestAccount { id: string; live: string; test: string }

export interface ApiHarness {
  app: App;
  context: AppContext;
  clock: TestClock;
  liveCalls: FakeLiveCalls;
  events: AccountEvent[];
  /** Ids of objects that events were told to forget. */
  forgotten: string[];
  /** Everything logged, as lines of JSON. */
  logged: string[];
  account: TestAccount;
  newAccount(): Promise<TestAccount>;
  newKey(account: TestAccount, scopes: Scope[], livemode?: boolean): Promise<string>;
  /** One request with the account's live key; `key: null` sends none. */
  call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT' | 'HEAD', url: string, options?: { key?: string | null; body?: unknown; headers?: Record<string, string>; raw?: string }): Promise<Answer>;
  close(): Promise<void>;
}

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

/** The whole HTTP side on a real PostgreSQL; only the calls are fakes. */
export async function startApiHarness(options: HarnessOptions = {}): Promise<ApiHarness> {
  const database = options.store ? { db: options.store.db, close: () => Promise.resolve() } : await createTestDatabase();
  const dataDir = mkdtempSync(join(tmpdir(), 'wv-api-'));
  const clock = options.realTime ? new WallClock() : new TestClock();
  const liveCalls = new FakeLiveCalls();
  const events: AccountEvent[] = [];
  const forgotten: string[] = [];
  const logged: string[] = [];
  const log = createLog({ level: options.logLevel ?? 'trace', destination: { write: (line: string) => { logged.push(line); } } });
  const keyring = makeKeyring(options.store?.masterKey ?? randomBytes(32));
  const guard = new AddressGuard({ allowed: options.allowPrivateAddresses ?? [] });
  const webhooks = new Webhooks({ db: database.db, keyring, guard, log, ...(options.versions ? { versions: options.versions } : {}) });
  const keys = new KeyCache(database.db, keyring, clock);
  const context: AppContext = {
    db: database.db, log, keyring, clock, versions: options.versions ?? PUBLISHED_VERSIONS, liveCalls, webhooks, guard, jobs: new Jobs({ db: database.db, clock, log }), keys, events: { emit: (event) => { events.push(event); }, forget: (objectId) => { forgotten.push(objectId); } },
    cloning: options.cloning ?? cloning(new SimulatedCloner()),
    engines: {
      ...engineCatalogue(),
      isKnownModel: (component, model) => model.startsWith('local/') && component !== 'realtime',
      speaks: (_component, _model, language) => language.startsWith('en'),
      defaults: { stt: 'local/ear', llm: 'local/mind', tts: 'local/mouth', ttsVoice: 'plain' },
    },
    recordings: new FileRecordings(join(dataDir, 'recordings')), trunkChanges: new TrunkChanges(), payments: options.payments === null ? undefined : (options.payments ?? NOBODY_PAYS), nodeId: 'node_test', callFeed: new CallFeed(), requireCredit: options.requireCredit, checks: [],
    options: { publicUrl: 'http://localhost:8080', rateLimits: options.rateLimits ?? GENEROUS, maxVoicesPerAccount: 50, allowedOrigins: ['http://localhost:8080'], accountConcurrency: options.accountConcurrency ?? 1000, blockedDestinations: ['+881', '+1900'] },
  };
  await loadPriceBook(database.db, PRICE_BOOK, clock.now());
  const app = await buildApp(context, options.extensions ?? []);
  const newKey: ApiHarness['newKey'] = async (account, scopes, livemode = true) =>
    (await makeApiKey(database.db, keyring, { accountId: account.id, livemode, name: 'a key', scopes }, clock.now())).secret;
  const newAccount = async (): Promise<TestAccount> => {
    const account = { id: newId(), live: '', test: '' };
    await insertAccount(database.db, { id: account.id, name: 'An account', createdAt: new Date(clock.now()) });
    return { ...account, live: await newKey(account, [...SCOPES]), test: await newKey(account, [...SCOPES], false) };
  };
  const account = await newAccount();
  return {
    app, context, clock, liveCalls, events, forgotten, logged, account, newAccount, newKey,
    async call(method, url, { key = account.live, body, headers = {}, raw } = {}) {
      const answer = await app.inject({
        method, url,
        headers: { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...(body === undefined && raw === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(raw === undefined ? {} : { payload: raw }), ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
      });
      const isJson = String(answer.headers['content-type'] ?? '').includes('json');
      return { status: answer.statusCode, headers: answer.headers, body: isJson && answer.body !== '' ? JSON.parse(answer.body) : answer.body };
    },
    async close() {
      await app.close();
      await keys.close();
      await webhooks.close();
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
