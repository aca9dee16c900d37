import type { KnownRoute } from '../api/routes-known.ts';
import { ERROR_CATALOGUE, type ErrorCode } from '../api/errors.ts';
import { errorCodesIn } from './components.ts';
import { headers } from './headers.ts';
import type { Response, Schema } from './open-api.ts';
import { singular } from './operation-ids.ts';

/** Stated for every operation, 404 for those with an id in the path; other statuses stand under `default`. */
const STATED = ['400', '401', '403', '429'];
/** Operations whose contract is a closed table: every status of theirs is stated, and there is no `default`. */
const CLOSED = ['POST /v1/voices'];

const MEANINGS: Readonly<Record<string, string>> = {
  400: 'The request is not valid; `param` names the field at fault.',
  401: 'The API key is missing or not valid.',
  402: 'Not enough credit.',
  403: 'The key may not do this.',
  404: 'What the request names does not exist in this account.',
  409: 'The state of things does not allow this.',
  413: 'The body, or a file in it, is too large.',
  429: 'Too many requests; retry after `Retry-After` seconds.',
  503: 'Temporarily unavailable; nothing was done.',
  default: 'Any other error.',
};
const UNAUTHORIZED: ErrorCode[] = ['missing_api_key', 'invalid_api_key', 'revoked_api_key', 'expired_api_key'];

/** The error responses of a route. */
export function errorResponses(route: KnownRoute): Record<string, Response> {
  const closed = CLOSED.includes(`${route.method} ${route.url}`);
  const codes = codesOf(route);
  const withId = route.url.includes('/:');
  const stated = [...STATED, ...(withId ? ['404'] : [])];
  const statuses = closed ? [...new Set([...STATED, ...(route.config.errors ?? []).map((code) => String(ERROR_CATALOGUE[code].status))])] : [...stated, 'default'];
  const responses = statuses.toSorted().map((status) => {
    const here = codes.filter((code) => {
      const own = String(ERROR_CATALOGUE[code].status);
      return status === 'default' ? !stated.includes(own) : own === status;
    });
    return [status, response(status, here)] as const;
  });
  return Object.fromEntries(responses);
}

function response(status: string, codes: ErrorCode[]): Response {
  const listed = codes.length === 0 ? '' : ` Codes: ${codes.map((code) => `\`${code}\`${status === 'default' ? ` (${ERROR_CATALOGUE[code].status})` : ''}`).join(', ')}.`;
  const retry = ['429', '503', 'default'].includes(status) ? (['Retry-After'] as const) : [];
  return {
    description: `${MEANINGS[status] ?? MEANINGS['default']}${listed}`,
    headers: headers(['Request-Id', 'Service-Version', 'RateLimit', 'RateLimit-Policy', ...retry]),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    'x-error-codes': codes,
  };
}

/** Every code that the route can answer: what all routes share, what its schemas name, and what it declares. */
function codesOf({ method, url, scope, schema, config }: KnownRoute): ErrorCode[] {
  const lists = JSON.stringify(schema['querystring'] ?? {}).includes('starting_after');
  const hasBody = hasFields(schema['body']) || config.multipart !== undefined;
  const annotated = [schema['body'], schema['querystring'], schema['params']].flatMap(errorCodesIn) as ErrorCode[];
  const groups: [boolean, ErrorCode[]][] = [
    [hasBody || (schema['querystring'] as Schema | undefined)?.required !== undefined, ['missing_parameter']],
    [true, ['invalid_parameter', 'unknown_parameter', ...annotated]],
    [lists, ['invalid_cursor', 'conflicting_cursors']],
    [hasBody, ['invalid_json']],
    [true, ['invalid_version']],
    [scope !== 'public', UNAUTHORIZED],
    [scope.includes(':'), ['missing_scope']],
    [annotated.includes('invalid_id'), ['key_mode_mismatch']],
    [true, missingIn(url)],
    [true, ['rate_limited', ...(config.errors ?? [])]],
    [hasBody, ['body_too_large', 'unsupported_media_type']],
    [method === 'POST' && config.recall !== 'no_effect', ['idempotency_key_reused', 'idempotency_in_progress']],
    [true, ['internal_error', 'service_unavailable']],
  ];
  return [...new Set(groups.flatMap(([applies, codes]) => (applies ? codes : [])))];
}

/** `campaign_not_found` of `/v1/campaigns/:id/pause`: what each id in the path may not find. */
function missingIn(url: string): ErrorCode[] {
  const nouns = [...url.matchAll(/\/([\w-]+)\/:/g)].map(([, noun = '']) => singular(noun).replaceAll('-', '_'));
  return nouns.flatMap((noun) => [`${noun}_not_found`, `knowledge_${noun}_not_found`]).filter((code) => Object.hasOwn(ERROR_CATALOGUE, code)) as ErrorCode[];
}

/** Whether a body's schema asks for anything. */
export function hasFields(body: unknown): boolean {
  return body !== undefined && Object.keys(body as object).length > 0;
}
