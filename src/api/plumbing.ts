import { randomFillSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { isUnavailable } from '../db/database.ts';
import type { App } from './app-type.ts';
import { authenticate, requireScope, type AuthenticationOptions } from './authentication.ts';
import { ApiError, errorBody, type ErrorCode } from './errors.ts';
import { networkOf, rateLimitHeaders, RateLimiter, type RateLimits } from './rate-limit.ts';
import { watchRoutes } from './routes-known.ts';
import type { VersionHistory } from './versions/history.ts';

export interface PlumbingOptions extends AuthenticationOptions {
  log: Logger;
  rateLimits: RateLimits;
  versions: VersionHistory;
  /** Where `doc_url` points. */
  docsUrl: string;
}

const REQUEST_ID_BYTES = 12;
/** Random bytes are drawn for many ids at once: the system call costs more than they do. */
const pool = Buffer.alloc(REQUEST_ID_BYTES * 256);
let drawn = pool.length;
const SECURITY_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': 'default-src \'none\'; frame-ancestors \'none\'',
};
/** Asked by whoever watches the service, as often as they like. */
const PROBES = new Set(['/healthz', '/readyz']);
const READS = new Set(['GET', 'HEAD', 'OPTIONS']);
/** What of a refused body is still coming passes by unread, so that its sender hears the answer; after this the connection is cut. */
const REST_PASSES_MS = 10_000;

/** Headers of every answer, whoever asked for whatever. */
export function headersOfAll(requestId: string, versions: VersionHistory): Record<string, string> {
  return { 'Request-Id': requestId, 'Service-Version': versions.current, ...SECURITY_HEADERS };
}

/** A fresh request id; a client's own is never taken over. */
export function newRequestId(): string {
  if (drawn === pool.length) {
    randomFillSync(pool);
    drawn = 0;
  }
  drawn += REQUEST_ID_BYTES;
  return `req_${pool.toString('hex', drawn - REQUEST_ID_BYTES, drawn)}`;
}

/**
 * What every request goes through, in this order: path 404, method 405, key 401, rate 429, scope 403, then (by Fastify)
 * media type 415, size 413, JSON and fields 400.
 */
export function installPlumbing(app: App, options: PlumbingOptions): void {
  const limiter = new RateLimiter(options.clock);
  const routes = watchRoutes(app);
  app.decorate('knownRoutes', routes);
  app.decorateRequest('principal', null as never);
  app.decorateRequest('serviceVersion', options.versions.current);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(headersOfAll(request.id, options.versions));
    if (request.is404) {
      draw(limiter, reply, { policy: 'public', of: networkOf(request.ip) }, options.rateLimits);
      throw notFound(request, routes.methodsOf(request.url));
    }
    await admit(request, reply, options, limiter);
  });
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const type = request.headers['content-type'];
    // Fastify answers 415 for other types; without a body and a type there is nothing to refuse.
    done(type !== undefined && hasBody(request) && !takes(request, type) ? new ApiError('unsupported_media_type') : null, payload);
  });
  app.setNotFoundHandler(() => { throw new ApiError('route_not_found'); });
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply, options));
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions, id } = request;
    // A read that went well decides nothing.
    const level = READS.has(method) && reply.statusCode < 400 ? 'debug' : 'info';
    if (request.raw.complete === false) cutLater(request.raw);
    options.log[level]({ request_id: id, method, route: routeOptions.url ?? 'none', status: reply.statusCode, ms: Math.round(reply.elapsedTime), account: request.principal?.accountId }, 'request');
    done();
  });
}

async function admit(request: FastifyRequest, reply: FastifyReply, options: PlumbingOptions, limiter: RateLimiter): Promise<void> {
  const { scope } = request.routeOptions.config;
  const { rateLimits } = options;
  if (scope === undefined || scope === 'public') {
    if (!PROBES.has(request.routeOptions.url ?? '')) draw(limiter, reply, { policy: 'public', of: networkOf(request.ip) }, rateLimits);
    return;
  }
  try {
    request.principal = await authenticate(request, options);
  } catch (error) {
    if (error instanceof ApiError) draw(limiter, reply, { policy: 'unauthenticated', of: networkOf(request.ip) }, rateLimits);
    throw error;
  }
  const { principal } = request;
  const kind = request.routeOptions.config.rate ?? (READS.has(request.method) ? 'read' : 'write');
  draw(limiter, reply, { policy: kind, of: principal.bucket }, rateLimits);
  refuseIfFlooding(limiter.take(`account:${principal.accountId}:${kind}`, kind === 'read' ? rateLimits.accountRead : rateLimits.accountWrite));
  request.serviceVersion = options.versions.versionFor(request.headers['service-version'], principal.serviceVersion);
  reply.header('Service-Version', request.serviceVersion);
  requireScope(principal, scope);
}

/** Takes a token and tells of the bucket. Throws ApiError `rate_limited` when there is none. */
function draw(limiter: RateLimiter, reply: FastifyReply, { policy, of }: { policy: keyof RateLimits; of: string }, limits: RateLimits): void {
  const verdict = limiter.take(`${policy}:${of}`, limits[policy]);
  reply.headers(rateLimitHeaders(policy, limits[policy], verdict));
  refuseIfFlooding(verdict);
}

function refuseIfFlooding(verdict: { allowed: boolean; retryAfterSeconds: number }): void {
  if (!verdict.allowed) throw new ApiError('rate_limited', `Too many requests; wait ${verdict.retryAfterSeconds} s.`, { retryAfterSeconds: verdict.retryAfterSeconds });
}

function notFound(request: FastifyRequest, allowed: string[]): ApiError {
  if (allowed.length === 0) return new ApiError('route_not_found', 'No such path. See the API reference.');
  return new ApiError('method_not_allowed', `This path has ${allowed.join(', ')}, not ${request.method}.`, { headers: { Allow: allowed.join(', ') } });
}

function takes({ routeOptions: { config } }: FastifyRequest, type: string): boolean {
  const media = type.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return media === 'application/json' || (config.multipart !== undefined && media === 'multipart/form-data') || (config.textBodies?.includes(media) ?? false);
}

function cutLater(request: IncomingMessage): void {
  const timer = setTimeout(() => request.destroy(), REST_PASSES_MS).unref();
  request.once('close', () => clearTimeout(timer));
}

function hasBody(request: FastifyRequest): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/** Answers with the error body; faults of ours are logged, the caller sees none of their detail. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply, options: Pick<PlumbingOptions, 'log' | 'docsUrl'>): void {
  const answer = toApiError(error);
  if (answer.code === 'internal_error') options.log.error({ request_id: request.id, error: error instanceof Error ? error.stack : String(error) }, 'a request failed');
  if (answer.code === 'service_unavailable') options.log.warn({ request_id: request.id, error: String(error) }, 'a request was answered 503');
  // A reply schema was chosen for success only.
  reply.code(answer.status).headers(answer.headers).type('application/json; charset=utf-8')
    .serializer(JSON.stringify).send(errorBody(answer, request.id, options.docsUrl));
}

/** Fastify's own errors by their code. */
const FASTIFY_CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid_json',
  FST_ERR_CTP_INVALID_JSON_BODY: 'invalid_json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_json',
  // Every parameter in a path is an id.
  FST_ERR_MAX_PARAM_LENGTH: 'invalid_id',
};

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isUnavailable(error)) return new ApiError('service_unavailable', 'The database cannot be reached right now. Try again.', { cause: error });
  const { code, statusCode } = (error ?? {}) as { code?: string; statusCode?: number };
  const known = FASTIFY_CODES[code ?? ''];
  if (known) return new ApiError(known, undefined, known === 'invalid_id' ? { param: 'id' } : {});
  if (error instanceof SyntaxError && statusCode === 400) return new ApiError('invalid_json', 'The body is not JSON.');
  if (statusCode === 400) return new ApiError('invalid_parameter', 'The request is malformed.');
  return new ApiError('internal_error', undefined, { cause: error });
}
