import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { repairWav } from '../media/wav.ts';
import { UserAgent } from '../sip/user-agent.ts';
import { endLeasesOf } from './api/idempotency-store.ts';
import { makeKeyring, readMasterKey } from './api/keyring.ts';
import { ApiError } from './api/errors.ts';
import { rateLimits } from './api/rate-limit.ts';
import { PUBLISHED_VERSIONS } from './api/versions/history.ts';
import { buildApp } from './app.ts';
import { Admission } from './calls/admission.ts';
import { CallControl } from './calls/call-control.ts';
import { Dialler } from './calls/dialler.ts';
import { PhoneGateway } from './calls/phone-gateway.ts';
import { relayUpgrades } from './calls/upgrade-relay.ts';
import type { WorkerPool } from './calls/worker-pool.ts';
import { systemClock } from './clock.ts';
import { talkPage } from './console/talk-page.ts';
import type { AppContext } from './context.ts';
import { openDatabase, type Database } from './db/database.ts';
import { startEmbeddedPostgres } from './db/embedded-postgres.ts';
import { migrate } from './db/migrate.ts';
import { embeddedSpeak } from './embedded-speak.ts';
import { engineCatalogue } from './engine-catalogue.ts';
import { openAddressGuard } from './events/address-guard.ts';
import { Webhooks } from './events/webhooks.ts';
import { firstStart, type FirstStart } from './first-start.ts';
import type { GatewaySettings } from './gateway-settings.ts';
import { routeInboundCall } from './inbound-calls.ts';
import { Jobs } from './jobs/jobs.ts';
import { keepOnlySoLong } from './jobs/retention.ts';
import { openSpeech, startPool } from './media-side.ts';
import { RETENTIONS } from './retention.ts';
import { serverSessions } from './server-sessions.ts';
import { KeyCache } from './resources/api-keys/key-cache.ts';
import type { Payments } from './resources/billing/payments.ts';
import { callCredit, callSettlement } from './resources/billing/call-credit.ts';
import { loadPriceBook } from './resources/billing/prices.ts';
import { appendLog, appendTranscript, endCall, endLostCalls, markAnswered, markProgress, type CallsContext } from './resources/calls/actions.ts';
import { CallFeed } from './resources/calls/call-feed.ts';
import { FileRecordings } from './resources/calls/recording-storage.ts';
import { handleCampaignJobs } from './resources/campaigns/jobs.ts';
import { handleDocumentJobs } from './resources/knowledge-bases/processing.ts';
import { listAllowedAddresses } from './resources/sip-trunks/actions.ts';
import { handleVoiceJobs } from './resources/voices/clone-run.ts';
import { cloning, SimulatedCloner } from './resources/voices/simulated-cloner.ts';
import { TrunkChanges } from './resources/sip-trunks/trunk-changes.ts';

/** A running gateway. */
export interface Gateway {
  readonly httpPort: number;
  readonly sipPort: number;
  readonly firstStart: FirstStart;
  readonly context: AppContext;
  readonly pool: WorkerPool;
  /** Takes no new calls, lets live ones end within `drainMs`, then stops everything in reverse. */
  stop(drainMs?: number): Promise<void>;
}

type Step = () => unknown;

/**
 * Starts everything, each part after what it needs, and stops what was started when a later part fails.
 * Throws an Error that says what to do.
 */
export async function startGateway(settings: GatewaySettings, log: Logger): Promise<Gateway> {
  const stops: Step[] = [];
  try {
    return await start(settings, log, stops);
  } catch (error) {
    await stopAll(stops, log);
    throw error;
  }
}

async function start(settings: GatewaySettings, log: Logger, stops: Step[]): Promise<Gateway> {
  mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 });
  const speech = openSpeech(settings, log, stops);
  const pooling = startPool(settings, speech, log);
  stops.push(async () => (await pooling.catch(() => undefined))?.close());
  const db = await openStore(settings, log, stops);
  const keyring = makeKeyring(readMasterKey(settings.masterKey, settings.dataDir));
  const guard = openAddressGuard(settings.allowPrivateAddresses, log);
  const webhooks = new Webhooks({ db, keyring, guard, log });
  stops.push(() => webhooks.close());
  const recordings = new FileRecordings(join(settings.dataDir, 'recordings'));
  const calls: CallsContext = { db, events: webhooks, recordings, nodeId: nodeId(settings.dataDir), callFeed: new CallFeed(), settleCall: callSettlement(systemClock) };
  const lost = await endLostCalls(calls, repairWav);
  if (lost > 0) log.warn({ calls: lost }, 'calls that a killed process had were ended with node_lost');

  const pool = await pooling;
  log.info({ priorities: pool.priorities }, 'media workers are up');
  const control = callControl(settings, pool, calls, log);
  const spoken = embeddedSpeak(speech);
  stops.push(() => spoken.close());
  const context: AppContext = {
    db, log, keyring, clock: systemClock, versions: PUBLISHED_VERSIONS, jobs: new Jobs({ db, clock: systemClock, log }), keys: new KeyCache(db, keyring, systemClock), liveCalls: control, events: webhooks, webhooks, guard, recordings,
    engines: engineCatalogue({ llm: settings.llmModel === '' ? undefined : settings.llmModel }),
    cloning: cloning(new SimulatedCloner(spoken.speak)),
    checks: healthChecks(db, pool, control),
    trunkChanges: new TrunkChanges(),
    payments: await openPayments(settings),
    nodeId: calls.nodeId,
    callFeed: calls.callFeed,
    requireCredit: callCredit(systemClock),
    settleCall: calls.settleCall,
    options: {
      publicUrl: settings.publicUrl, rateLimits: rateLimits(settings.rateLimits), maxVoicesPerAccount: settings.maxVoicesPerAccount, allowedOrigins: originsOf(settings.publicUrl),
      accountConcurrency: settings.accountConcurrency, blockedDestinations: settings.blockedDestinations,
    },
  };
  await endLeasesOf(db, context.nodeId, new Date());
  const first = await firstStart(context);
  const listen = await prepareHttp(settings, context, control, stops);
  stops.push(() => context.jobs.close(), () => context.keys.close());
  await keepOnlySoLong(context, RETENTIONS);
  context.keys.start();
  handleCampaignJobs(context);
  handleDocumentJobs(context);
  handleVoiceJobs(context);
  context.jobs.start();
  await speech.ready();
  const agent = await startSip(settings, context, control, pool, stops);
  const httpPort = await listen();
  return {
    httpPort, sipPort: agent.port, firstStart: first, context, pool,
    stop: async (drainMs = settings.drainSeconds * 1000) => {
      await control.drain(drainMs);
      await stopAll(stops, log);
    },
  };
}

async function openStore(settings: GatewaySettings, log: Logger, stops: Step[]): Promise<Database> {
  const embedded = settings.databaseUrl === '' ? await startEmbeddedPostgres({ dataDir: settings.dataDir, log }) : undefined;
  if (embedded) stops.push(() => embedded.stop());
  const db = openDatabase({ connection: embedded ? { socketDir: embedded.host } : { url: settings.databaseUrl }, log });
  stops.push(() => db.close());
  await migrate(db);
  await loadPriceBook(db, settings.priceBook, systemClock.now());
  return db;
}

/** Stripe's library is large: only who takes payments loads it. */
async function openPayments({ stripeSecretKey: secretKey, stripeWebhookSecret: webhookSecret, stripeApiBase: apiBase }: GatewaySettings): Promise<Payments | undefined> {
  if (secretKey === '') return undefined;
  const { stripePayments } = await import('./resources/billing/stripe-payments.ts');
  return stripePayments({ secretKey, webhookSecret, apiBase });
}

function callControl(settings: GatewaySettings, pool: WorkerPool, calls: CallsContext, log: Logger): CallControl {
  const direct = new URL(settings.publicUrl).hostname === 'localhost';
  return new CallControl({
    pool,
    log,
    capacity: settings.maxCallsPerCore * availableParallelism(),
    records: {
      progress: (callId, progress) => markProgress(calls, callId, progress),
      answered: (callId, at) => markAnswered(calls, callId, at),
      transcript: (callId, item) => appendTranscript(calls, callId, item),
      log: (callId, entry) => appendLog(calls, callId, entry),
      end: (callId, end) => endCall(calls, callId, end),
    },
    // Behind a public address only one port is known to be reachable; on this machine the worker's own saves a relay.
    browserUrl: (sessionId, browserPort) => {
      const base = direct ? `ws://localhost:${browserPort}` : settings.publicUrl.replace(/^http/, 'ws');
      return `${base}/v1/realtime?session=${sessionId}`;
    },
    refuse: (code, message) => new ApiError(code, message),
  });
}

/** Builds the routes while the models load; the answer opens the port and says which it is. */
async function prepareHttp(settings: GatewaySettings, context: AppContext, control: CallControl, stops: Step[]): Promise<() => Promise<number>> {
  const app = await buildApp(context, [(extended) => talkPage(extended, { publicUrl: settings.publicUrl })]);
  const relay = relayUpgrades(app.server, (sessionId) => {
    const port = control.browserPortOf(sessionId);
    return port === undefined ? undefined : { host: '127.0.0.1', port };
  }, { open: serverSessions(context) });
  stops.push(() => app.close(), () => relay.close());
  return async () => {
    await app.listen({ host: settings.host, port: settings.port });
    const address = app.server.address();
    return typeof address === 'object' && address ? address.port : settings.port;
  };
}

async function startSip(settings: GatewaySettings, context: AppContext, control: CallControl, pool: WorkerPool, stops: Step[]): Promise<UserAgent> {
  const { db, log } = context;
  const admission = await Admission.start(() => listAllowedAddresses(db));
  stops.push(context.trunkChanges.onChanged(() => void admission.refresh().catch((error: unknown) => log.error({ error: String(error) }, 'the trunks\' addresses could not be read again'))));
  const phones = new PhoneGateway({ control, pool, mediaAddress: settings.publicAddress, log, route: (call) => routeInboundCall(context, call) });
  const agent = await UserAgent.start({
    host: settings.host,
    port: settings.sipPort,
    advertisedAddress: settings.publicAddress,
    userAgent: 'Wirevoice',
    admits: ({ address }) => admission.admits(address),
    onInvite: (invite) => phones.invite(invite),
    onTrace: (entry) => phones.trace(entry),
    onRefused: ({ source, reason }) => log.info({ source: source.address, reason }, 'SIP refused'),
    onFault: (error) => log.error({ error: String(error) }, 'a SIP callback failed'),
    draining: () => control.draining,
  });
  control.dialWith(new Dialler({ agent, control, pool, mediaAddress: settings.publicAddress, follow: (sipCallId, call) => phones.follow(sipCallId, call), log }));
  let listening = true;
  context.checks.push({ name: 'sip', run: async () => (listening ? undefined : 'the SIP port is closed') });
  const close = (): Promise<void> => {
    listening = false;
    return agent.close();
  };
  // Before the port closes: the workers end what is live, so that every peer gets its BYE.
  stops.push(close, () => control.endAll('service_shutdown'));
  return agent;
}

function healthChecks(db: Database, pool: WorkerPool, control: CallControl): AppContext['checks'] {
  return [
    { name: 'database', run: async () => void (await db.query('SELECT 1')) },
    { name: 'media', run: async () => (pool.ready ? undefined : 'no media worker is ready') },
    { name: 'draining', run: async () => (control.draining ? 'the service is shutting down' : undefined) },
  ];
}

/** Where /talk is served from: on this machine, by either of its names. */
function originsOf(publicUrl: string): string[] {
  const { origin } = new URL(publicUrl);
  return [...new Set([origin, origin.replace('//localhost', '//127.0.0.1')])];
}

/** Names this installation's one node in the rows of live calls, the same after every start. */
function nodeId(dataDir: string): string {
  const file = join(dataDir, 'node-id');
  if (!existsSync(file)) writeFileSync(file, `node_${randomBytes(6).toString('hex')}\n`, { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
}

async function stopAll(stops: Step[], log: Logger): Promise<void> {
  for (let stop = stops.pop(); stop; stop = stops.pop()) {
    try {
      await stop();
    } catch (error) {
      log.error({ error: String(error) }, 'a part did not stop cleanly');
    }
  }
}
