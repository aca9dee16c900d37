import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { Clock } from '../clock.ts';
import type { Database, Queryable } from '../db/database.ts';
import { newId } from '../db/id.ts';
import type { App } from './app-type.ts';
import { ApiError } from './errors.ts';
import { insertClaim, lockKey, markEffect, releaseClaim, storeAnswer, takeOver, type KeyPlace, type KeyRow } from './idempotency-store.ts';
import type { Recall } from './recall.ts';

export interface IdempotencyOptions {
  db: Database;
  clock: Clock;
  /** Names this process's place: at its next start its unfinished runs are free at once. */
  owner: string;
}

const KEPT_MS = 24 * 3_600_000;
/** A run that lasts longer may be taken over; it can then change nothing more. */
const LEASE_MS = 120_000;
const KEY = /^[\x20-\x7e]{1,255}$/;
/** Never kept, whatever the answer. */
const SHOWN_ONCE = new Set(['secret', 'client_secret', 'resume_token']);

interface Run { place: KeyPlace; claim: string; now: () => Date }
type Verdict = { kind: 'run'; run: Run; resourceId: string } | { kind: 'replay'; status: number; answer: string } | { kind: 'recall'; resourceId: string };

const current = new AsyncLocalStorage<Run>();
const runs = new WeakMap<FastifyRequest, Run>();

/** Every transaction of a request with an Idempotency-Key notes there that it had an effect: both are committed, or neither. */
export function withEffects(db: Database): Database {
  return {
    ...db,
    transaction: (work) => db.transaction(async (transaction) => {
      const result = await work(transaction);
      await noteEffect(transaction);
      return result;
    }),
  };
}

/** For an effect outside the database: call it first, so that a retry does not have it again. Throws ApiError when a retry took over. */
export async function noteEffect(db: Queryable): Promise<void> {
  const run = current.getStore();
  if (run && !(await markEffect(db, run.place, run.claim, run.now()))) throw new ApiError('idempotency_in_progress');
}

/** `Idempotency-Key` on every POST. After the plumbing: a request gets here with its principal and a valid body. */
export function installIdempotency(app: App, options: IdempotencyOptions): void {
  app.decorateRequest('resourceId', '');
  const before = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    const { id } = request.params as { id?: string };
    request.resourceId = (request.routeOptions.config.actsOnObject && id) || newId(options.clock.now());
    const key = request.headers['idempotency-key'];
    const { recall } = request.routeOptions.config;
    if (key === undefined || recall === undefined || recall === 'no_effect') return done();
    void hold(request, reply, { key, recall, options, done });
  };
  const after = async (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> => {
    const run = runs.get(request);
    if (run) await finish(run, reply.statusCode, payload, options);
    return payload;
  };
  app.addHook('onRoute', (route) => {
    if (![route.method].flat().includes('POST')) return;
    requireRecall(route);
    route.preHandler = [before, ...[route.preHandler ?? []].flat()];
    route.onSend = [...[route.onSend ?? []].flat(), after];
  });
}

function requireRecall(route: RouteOptions): void {
  if (route.url.startsWith('/v1/') && route.config?.recall === undefined) throw new Error(`The route POST ${route.url} does not say how a retry finds its effect (config.recall).`);
}

async function begin(request: FastifyRequest, key: string | string[], { db, clock, owner }: IdempotencyOptions): Promise<Verdict> {
  if (typeof key !== 'string' || !KEY.test(key)) throw new ApiError('invalid_parameter', 'Idempotency-Key must be 1 to 255 printable ASCII characters.', { param: 'Idempotency-Key' });
  const { accountId, livemode } = request.principal;
  const place = { accountId, livemode, route: request.routeOptions.url ?? '', key };
  const fingerprint = fingerprintOf(request);
  return db.transaction(async (transaction) => {
    const now = new Date(clock.now());
    const claim = { fingerprint, resourceId: request.resourceId, owner, claim: newId(clock.now()), leaseUntil: new Date(clock.now() + LEASE_MS), now };
    const run: Verdict = { kind: 'run', run: { place, claim: claim.claim, now: () => new Date(clock.now()) }, resourceId: claim.resourceId };
    const expiredBefore = new Date(clock.now() - KEPT_MS);
    if (await insertClaim(transaction, place, claim, expiredBefore)) return run;
    const row = await lockKey(transaction, place);
    const known = row && verdictOn(row, fingerprint, now);
    if (known) return known;
    await takeOver(transaction, place, claim);
    return { ...run, resourceId: row?.resource_id ?? claim.resourceId };
  });
}

/** Undefined: nobody runs it any more, and it had no effect. */
function verdictOn(row: KeyRow, fingerprint: Buffer, now: Date): Verdict | undefined {
  if (!row.fingerprint.equals(fingerprint)) throw new ApiError('idempotency_key_reused');
  if (row.status !== null && row.answer !== null) return { kind: 'replay', status: row.status, answer: row.answer };
  if (row.lease_until > now) throw new ApiError('idempotency_in_progress', undefined, { retryAfterSeconds: 1 });
  return row.effect_at === null ? undefined : { kind: 'recall', resourceId: row.resource_id };
}

interface Held { key: string | string[]; recall: Recall; options: IdempotencyOptions; done: (error?: Error) => void }

/** Lets the first request on, inside its run; answers a retry. */
async function hold(request: FastifyRequest, reply: FastifyReply, { key, recall, options, done }: Held): Promise<void> {
  let run: Run | undefined;
  try {
    const verdict = await begin(request, key, options);
    if (verdict.kind === 'run') {
      run = verdict.run;
      request.resourceId = verdict.resourceId;
      runs.set(request, run);
    } else {
      await replay(verdict, request, reply, recall);
    }
  } catch (error) {
    done(error as Error);
    return;
  }
  if (run) current.run(run, done);
}

async function replay(verdict: Exclude<Verdict, { kind: 'run' }>, request: FastifyRequest, reply: FastifyReply, recall: Recall): Promise<void> {
  const { params, principal } = request;
  const body = verdict.kind === 'recall' ? await recall({ principal, resourceId: verdict.resourceId, params: params as Record<string, string> }) : verdict.answer;
  reply.header('Idempotent-Replayed', 'true');
  if (verdict.kind === 'replay') reply.code(verdict.status).type('application/json; charset=utf-8').serializer((answer: unknown) => String(answer));
  else reply.code(successOf(request));
  await reply.send(body);
}

/** Only answers with an effect are kept; a refusal leaves the key free. */
async function finish(run: Run, status: number, payload: unknown, { db, clock }: IdempotencyOptions): Promise<void> {
  if (status < 300 && typeof payload === 'string') await storeAnswer(db, run.place, run.claim, status, withoutSecrets(payload));
  else await releaseClaim(db, run.place, run.claim, new Date(clock.now()));
}

function successOf(request: FastifyRequest): number {
  const { response } = (request.routeOptions.schema ?? {}) as { response?: Record<string, unknown> };
  return Number(Object.keys(response ?? {}).find((status) => status.startsWith('2')) ?? 200);
}

function fingerprintOf(request: FastifyRequest): Buffer {
  const hash = createHash('sha256').update(`${request.url}\0${JSON.stringify(request.body ?? null)}`);
  for (const { sha256 } of request.uploads ?? []) hash.update(`\0${sha256}`);
  return hash.digest();
}

/** Of the answer's own fields: what an account calls by such a name inside of metadata or a lead is its own. */
function withoutSecrets(payload: string): string {
  const body = JSON.parse(payload) as Record<string, unknown>;
  const shown = Object.keys(body).filter((name) => SHOWN_ONCE.has(name) && body[name] !== null);
  if (shown.length === 0) return payload;
  return JSON.stringify({ ...body, ...Object.fromEntries(shown.map((name) => [name, null])), secret_already_shown: true });
}
