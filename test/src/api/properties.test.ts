import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import t from 'tap';
import { ERROR_CATALOGUE, type ErrorCode } from '../../../src/api/errors.ts';
import type { OpenApiDocument, Operation, Schema } from '../../../src/docs/open-api.ts';
import { startApiHarness, type ApiHarness } from '../../support/api-harness.ts';
import { allExamples } from '../../support/examples/all.ts';
import { randomRequest, type Ground, type RandomRequest } from '../../support/random-requests.ts';

const REQUESTS = 10_000;
/** Fixed, so that a fault found once is found again; another one finds others: `FUZZ_SEED=… npm test -- test/src/api/properties`. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
/** Operations at once: while one waits for the database, another is checked. */
const LANES = 6;
const OBJECTS_EACH = 6;
const MAX_KNOWN = 40;
/** What no operation can say of itself: a path that is another one or none, and a body where none is read. */
const ANYWHERE = new Set<string>(['route_not_found', 'method_not_allowed', 'invalid_id', 'unsupported_media_type', 'invalid_json']);

interface Entry { path: string; method: string; operation: Operation }
type Headers = Record<string, string | number | string[] | undefined>;
interface Known { ids: Map<string, Record<string, string>[]>; bodies: Map<string, unknown> }

const inCurlies = (url: string): string => url.replaceAll(/:(\w+)/g, '{$1}');

t.setTimeout(300_000);

t.test(`${REQUESTS} requests made from the document, seed ${SEED}`, { timeout: 300_000 }, async (t) => {
  t.comment(`seed ${SEED}`);
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const { body: document } = await api.call('GET', '/openapi.json', { key: null }) as { body: OpenApiDocument };
  const known = await knownObjects(api);
  const ground: Ground = {
    document,
    idsFor: (path) => [...known.ids].filter(([base]) => path === base || path.startsWith(`${base}/`)).toSorted(([a], [b]) => b.length - a.length)[0]?.[1] ?? [],
    cursors: await someCursors(api, document),
    keys: { live: api.account.live, test: api.account.test },
    bodyOf: (method, path) => known.bodies.get(`${method} ${path}`),
  };
  const entries = Object.entries(document.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })));
  const judge = makeJudge(document);
  const faults: string[] = [];
  const statuses = new Map<number, number>();
  const slowest: [number, string][] = [];
  let sent = 0;

  const check = async (entry: Entry): Promise<void> => {
    const startedAt = performance.now();
    const verdict = await fc.check(fc.asyncProperty(randomRequest(ground, entry.path, entry.method, entry.operation), async (request) => {
      const answer = await api.app.inject(request as never);
      sent++;
      statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1);
      const fault = judge(entry, { status: answer.statusCode, headers: answer.headers, text: answer.body });
      if (fault !== undefined) throw new Error(`${answer.statusCode} ${fault} ${answer.statusCode === 500 ? loggedFor(api, answer.headers['request-id']) : ''}`);
      remember(entry, answer.statusCode, answer.body, known);
    }), { numRuns: Math.ceil(REQUESTS / entries.length), seed: SEED, endOnFailure: true });
    slowest.push([Math.round(performance.now() - startedAt), entry.operation.operationId]);
    if (verdict.failed) faults.push(`${entry.operation.operationId}: ${verdict.errorInstance instanceof Error ? verdict.errorInstance.message : String(verdict.errorInstance)} ${shown(verdict.counterexample?.[0])}`);
  };
  const waiting = [...entries];
  await Promise.all(Array.from({ length: LANES }, async () => {
    for (let entry = waiting.shift(); entry; entry = waiting.shift()) await check(entry);
  }));

  t.comment(`${sent} requests; answers ${[...statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`).join(', ')}`);
  t.comment(`slowest, ms: ${slowest.toSorted(([a], [b]) => b - a).slice(0, 5).map(([ms, id]) => `${id} ${ms}`).join(', ')}`);
  t.same(faults.toSorted(), [], 'no fault of ours, and no answer that the document does not describe');
  t.ok(faults.length > 0 || sent >= REQUESTS, `${sent} requests were sent`);
  for (const status of [200, 201, 400, 401, 403, 404, 409]) t.ok((statuses.get(status) ?? 0) > 20, `${status} was among the answers`);
});

/** What is wrong with an answer; undefined: nothing. */
function makeJudge(document: OpenApiDocument): (entry: Entry, answer: { status: number; headers: Headers; text: string }) => string | undefined {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false });
  ajv.addSchema(closed(document) as object, 'api');
  const error = ajv.compile({ $ref: 'api#/components/schemas/Error' });
  const answers = new Map<string, ValidateFunction>();
  const validatorOf = (path: string, method: string, status: number, media: string): ValidateFunction => {
    const pointer = ['paths', path, method.toLowerCase(), 'responses', String(status), 'content', media, 'schema'].map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
    const validate = answers.get(pointer) ?? ajv.compile({ $ref: `api#/${pointer}` });
    answers.set(pointer, validate);
    return validate;
  };
  return ({ path, method, operation }, { status, headers, text }) => {
    const media = String(headers['content-type'] ?? '').split(';', 1)[0] ?? '';
    if (!/^req_[0-9a-f]{24}$/.test(String(headers['request-id']))) return 'has no Request-Id';
    if (status < 300) {
      const content = operation.responses[status]?.content;
      if (!content?.[media]) return `is not documented with ${media}`;
      const validate = media === 'application/json' ? validatorOf(path, method, status, media) : undefined;
      return validate === undefined || validate(JSON.parse(text)) ? undefined : `${JSON.stringify(validate.errors?.[0])} ${text.slice(0, 500)}`;
    }
    const body: unknown = media === 'application/json' ? JSON.parse(text) : undefined;
    if (!error(body)) return `is no error body: ${text.slice(0, 300)}`;
    return faultOfError(body as ErrorBody, status, headers, operation);
  };
}

interface ErrorBody { error: { type: string; code: string; request_id: string; doc_url: string; message: string } }

function faultOfError({ error: { type, code, request_id, doc_url } }: ErrorBody, status: number, headers: Headers, { responses }: Operation): string | undefined {
  const entry = ERROR_CATALOGUE[code as ErrorCode] as { type: string; status: number } | undefined;
  if (entry?.type !== type || entry.status !== status) return `${code} is not what the catalogue says`;
  if (code === 'internal_error') return 'a fault of ours';
  if (request_id !== headers['request-id'] || !doc_url.endsWith(`/docs/errors#${code}`)) return `${code} names another request or page`;
  if ((status === 429 || status === 503) && headers['retry-after'] === undefined) return `${code} has no Retry-After`;
  const documented = responses[status] ?? responses['default'];
  return ANYWHERE.has(code) || documented?.['x-error-codes']?.includes(code) === true ? undefined : `${code} is not documented`;
}

/** The document with every object closed that does not say otherwise: an answer has no field that it does not describe. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, below]) => [name, closed(below)])) as Schema;
  return copy.properties !== undefined && copy.additionalProperties === undefined ? { ...copy, additionalProperties: false } : copy;
}

async function knownObjects(api: ApiHarness): Promise<Known> {
  const known: Known = { ids: new Map(), bodies: new Map() };
  for (const example of await allExamples()) {
    for (const [name, body] of Object.entries(example.bodies ?? {})) known.bodies.set(inCurlies(name), body);
    const made: Record<string, string>[] = [];
    for (let count = 0; count < OBJECTS_EACH; count++) {
      const ids = await example.make(api, api.account.live).catch(() => undefined);
      if (ids !== undefined && ids !== '') made.push(typeof ids === 'string' ? { id: ids } : ids);
    }
    if (made.length > 0) known.ids.set(inCurlies(example.path), made);
  }
  return known;
}

/** Keeps the id of what a request made. */
function remember({ path }: Entry, status: number, text: string, { ids }: Known): void {
  const here = status === 201 ? ids.get(path) : undefined;
  if (!here || here.length >= MAX_KNOWN) return;
  const { id } = JSON.parse(text) as { id?: string };
  if (id !== undefined) here.push({ ...here[0], id });
}

async function someCursors(api: ApiHarness, document: OpenApiDocument): Promise<string[]> {
  const lists = Object.entries(document.paths).filter(([path, { get }]) => !path.includes('{') && get?.operationId.startsWith('list') === true).map(([path]) => path);
  const pages = await Promise.all(lists.map((path) => api.call('GET', `${path}?limit=1`)));
  return pages.flatMap(({ body }) => [body.next_cursor, body.previous_cursor]).filter((cursor) => typeof cursor === 'string');
}

/** What the log knows of a failed request. */
function loggedFor(api: ApiHarness, requestId: unknown): string {
  return api.logged.findLast((line) => line.includes(String(requestId)) && line.includes('a request failed'))?.slice(0, 1000) ?? '';
}

function shown(request: RandomRequest | undefined): string {
  const text = JSON.stringify(request) ?? '';
  return text.length > 1500 ? `${text.slice(0, 1500)}…` : text;
}
