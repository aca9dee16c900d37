import cookie from '@fastify/cookie';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { LogController, type FastifyBaseLogger } from 'fastify';
import type { App } from './api/app-type.ts';
import { answerClientError } from './api/client-errors.ts';
import { healthRoutes } from './api/health.ts';
import { installIdempotency, withEffects } from './api/idempotency.ts';
import { installMultipart } from './api/multipart.ts';
import { answerError, headersOfAll, installPlumbing, newRequestId } from './api/plumbing.ts';
import { compileSerializer } from './api/serialization.ts';
import { compileValidator } from './api/validation.ts';
import { installVersions } from './api/versions/install.ts';
import type { AppContext } from './context.ts';
import { docsRoutes } from './docs/routes.ts';
import { findSessionAccount } from './resources/accounts/actions.ts';
import { accountRoutes } from './resources/accounts/routes.ts';
import { agentRoutes } from './resources/agents/routes.ts';
import { apiKeyRoutes } from './resources/api-keys/routes.ts';
import { appointmentRoutes } from './resources/appointments/routes.ts';
import { billingRoutes } from './resources/billing/routes.ts';
import { callRoutes } from './resources/calls/routes.ts';
import { campaignRoutes } from './resources/campaigns/routes.ts';
import { engineRoutes } from './resources/engines/routes.ts';
import { knowledgeBaseRoutes } from './resources/knowledge-bases/routes.ts';
import { leadRoutes } from './resources/leads/routes.ts';
import { mcpServerRoutes } from './resources/mcp-servers/routes.ts';
import { phoneNumberRoutes } from './resources/phone-numbers/routes.ts';
import { realtimeSessionRoutes } from './resources/realtime-sessions/routes.ts';
import { sipTrunkRoutes } from './resources/sip-trunks/routes.ts';
import { usageRoutes } from './resources/usage/routes.ts';
import { voiceRoutes } from './resources/voices/routes.ts';
import { webhookRoutes } from './resources/webhook/routes.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_TIMEOUT_MS = 30_000;
/** 55 MiB in five minutes: recordings over a slow line. */
const REQUEST_TIMEOUT_MS = 300_000;

/** A resource each. */
const ROUTES: readonly ((app: App, context: AppContext) => void)[] = [
  accountRoutes, agentRoutes, apiKeyRoutes, appointmentRoutes, billingRoutes, callRoutes, campaignRoutes, engineRoutes, knowledgeBaseRoutes,
  leadRoutes, mcpServerRoutes, phoneNumberRoutes, realtimeSessionRoutes, sipTrunkRoutes, usageRoutes, voiceRoutes, webhookRoutes,
];

/** Adds routes that are not the API's own, such as the console's pages. Each route must declare its scope. */
export type Extension = (app: App) => void | Promise<void>;

/** The HTTP side, ready to listen. Throws when a route declares no scope. */
export async function buildApp(context: AppContext, extensions: Extension[] = []): Promise<App> {
  const { db, keyring, clock, log } = context;
  const failing = { log, docsUrl: `${context.options.publicUrl}/docs` };
  const app: App = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: newRequestId,
    // Lines name their request by id: a logger of its own for each would cost more than the line.
    childLoggerFactory: (logger) => logger,
    requestIdHeader: false,
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_TIMEOUT_MS },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, headersOfAll(newRequestId(), context.versions), failing.docsUrl),
    exposeHeadRoutes: true,
    // Malformed addresses fail before any hook runs.
    frameworkErrors: (error, request, reply) => {
      reply.headers(headersOfAll(request.id, context.versions));
      answerError(error, request, reply, failing);
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(compileSerializer);
  await app.register(cookie);
  installPlumbing(app, {
    ...failing,
    keyring,
    clock,
    rateLimits: context.options.rateLimits,
    versions: context.versions,
    principals: {
      byApiKey: (secret) => context.keys.find(secret),
      bySession: (digest) => findSessionAccount(db, digest, clock.now()),
    },
  });
  await installMultipart(app);
  installIdempotency(app, { db, clock, owner: context.nodeId });
  installVersions(app, context.versions);
  healthRoutes(app, context);
  const noting = { ...context, db: withEffects(db) };
  for (const routes of ROUTES) routes(app, noting);
  docsRoutes(app, context);
  for (const extend of extensions) await extend(app);
  await app.ready();
  return app;
}
