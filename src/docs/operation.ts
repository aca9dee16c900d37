import type { KnownRoute } from '../api/routes-known.ts';
import type { Components } from './components.ts';
import { errorResponses, hasFields } from './error-responses.ts';
import { headers, sharedParameter } from './headers.ts';
import { pascal, type Content, type Operation, type Parameter, type Reference, type Response, type Schema } from './open-api.ts';
import { tagOf } from './tags.ts';

const BINARY: Schema = { type: 'string', format: 'binary' };
const JSON_TYPE = 'application/json';

/** One route as an operation. */
export function operationOf(route: KnownRoute, id: string, components: Components): Operation {
  const { scope, schema } = route;
  const body = requestBody(route, id, components);
  const needs = scope === 'public' ? 'Needs no API key.' : scope === 'any_key' ? 'Any valid API key.' : `Needs the scope \`${scope}\`.`;
  return {
    operationId: id,
    summary: textOf(schema['summary']) ?? sentence(id),
    description: [textOf(schema['description']), needs].filter((part) => part !== undefined).join('\n\n'),
    tags: [tagOf(route.url).name],
    ...(scope === 'public' ? { security: [] } : { 'x-scope': scope }),
    parameters: parametersOf(route, components),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: { ...successes(route, components), ...errorResponses(route) },
  };
}

/** Whether a route answers with a list. */
export function lists({ schema }: KnownRoute): boolean {
  const found = Object.entries((schema['response'] ?? {}) as Record<string, Schema>).find(([status]) => status.startsWith('2'));
  return found?.[1].properties?.['object']?.const === 'list';
}

function parametersOf({ method, schema, scope }: KnownRoute, components: Components): (Parameter | Reference)[] {
  const path = fieldsOf(schema['params']).map(([name, field]) => parameter('path', name, field, true, components));
  const { required = [] } = (schema['querystring'] ?? {}) as Schema;
  const query = fieldsOf(schema['querystring']).map(([name, field]) => sharedParameter(name) ?? parameter('query', name, field, required.includes(name), components));
  const version = scope === 'public' ? [] : [{ $ref: '#/components/parameters/ServiceVersion' }];
  return [...path, ...query, ...(method === 'POST' && scope !== 'public' ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []), ...version];
}

function parameter(place: 'path' | 'query', name: string, { description, ...schema }: Schema, required: boolean, components: Components): Parameter {
  return { name, in: place, ...(required ? { required } : {}), ...(description === undefined ? {} : { description }), schema: components.show(schema) };
}

function requestBody({ schema, config }: KnownRoute, id: string, components: Components): Operation['requestBody'] {
  const body = schema['body'] as Schema | undefined;
  if (body === undefined || !hasFields(body)) return undefined;
  const content: Content = { [JSON_TYPE]: { schema: components.showAs(body.title ?? `${pascal(id)}Request`, body) } };
  if (config.multipart) content['multipart/form-data'] = { schema: formOf(body, config.multipart, components) };
  for (const media of config.textBodies ?? []) content[media] = { schema: { type: 'string' } };
  return { required: (body.required ?? []).length > 0 || body.anyOf !== undefined, content };
}

/** The fields of the JSON body but those that stand for the files, and the files. */
function formOf(body: Schema, rules: NonNullable<KnownRoute['config']['multipart']>, components: Components): Schema {
  const { instead = [] } = rules;
  const fields = Object.entries(body.properties ?? {}).filter(([name]) => !instead.includes(name));
  const files: Schema = { type: 'array', minItems: 1, maxItems: rules.maxFiles, items: BINARY, description: `At most ${rules.maxFileBytes / 1024 / 1024} MiB each.` };
  return {
    type: 'object',
    properties: { ...Object.fromEntries(fields.map(([name, field]) => [name, components.show(field)])), [rules.files]: files },
    required: [...(body.required ?? []).filter((name) => !instead.includes(name)), rules.files],
    additionalProperties: false,
  };
}

function successes(route: KnownRoute, components: Components): Record<string, Response> {
  const { schema, config, method } = route;
  const declared = Object.entries((schema['response'] ?? {}) as Record<string, Schema>).filter(([status]) => status.startsWith('2'));
  const replayed = method === 'POST' && config.recall !== undefined && config.recall !== 'no_effect' ? (['Idempotent-Replayed'] as const) : [];
  const limited = route.scope === 'public' ? [] : (['RateLimit', 'RateLimit-Policy'] as const);
  const own = headers(['Request-Id', 'Service-Version', ...limited, ...replayed]);
  const raw = Object.fromEntries((config.produces ?? []).map((media) => [media, { schema: media.startsWith('text/') ? { type: 'string' } : BINARY }]));
  const shown = declared.map(([status, body]) => {
    const content = contentOf(body, components);
    return [status, { description: meaning(route, status), headers: own, content: status === '200' || declared.length === 1 ? { ...content, ...raw } : content }] as const;
  });
  if (shown.length > 0) return Object.fromEntries(shown);
  const partial = method === 'GET' && config.produces?.some((media) => media.startsWith('audio/')) ? { 206: { description: 'The range that was asked for.', headers: own, content: raw } } : {};
  return { 200: { description: meaning(route, '200'), headers: own, content: raw }, ...partial };
}

/** An answer is JSON, unless its schema is given for each media type (Fastify's `content`). */
function contentOf(body: Schema, components: Components): Content {
  const { content } = body as { content?: Content };
  if (content === undefined) return { [JSON_TYPE]: { schema: components.show(body) } };
  return Object.fromEntries(Object.entries(content).map(([media, { schema }]) => [media, { schema: components.show(schema) }]));
}

function meaning({ method, config }: KnownRoute, status: string): string {
  if (status === '201') return 'What was made.';
  if (config.produces?.includes('text/event-stream')) return 'Server-sent events, until the client hangs up or there is nothing more to tell.';
  return method === 'DELETE' ? 'What was deleted.' : method === 'PATCH' ? 'As it is after the change.' : 'Success.';
}

function fieldsOf(schema: unknown): [string, Schema][] {
  return Object.entries((schema as Schema | undefined)?.properties ?? {});
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** `List phone numbers` of `listPhoneNumbers`. */
function sentence(id: string): string {
  const words = id.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
