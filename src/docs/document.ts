import type { KnownRoute } from '../api/routes-known.ts';
import { ERROR_CATALOGUE } from '../api/errors.ts';
import { Components } from './components.ts';
import { addExamples } from './document-samples.ts';
import { webhooksOf } from './event-schemas.ts';
import { HEADERS, parameters } from './headers.ts';
import type { OpenApiDocument, Operation, Schema } from './open-api.ts';
import { operationId } from './operation-ids.ts';
import { lists, operationOf } from './operation.ts';
import { rankOf, tagOf } from './tags.ts';

const DESCRIPTION = `The control plane of a realtime voice gateway: agents that call, answer and talk in a browser.

- Every request carries \`Authorization: Bearer <API key>\`. A key is live (\`wv_live_…\`) or test (\`wv_test_…\`), and sees and makes objects of its own mode only.
- Ids are 24 lowercase hexadecimal characters. Timestamps are ISO 8601, UTC, with milliseconds. Money is an integer in micro-USD: 1 000 000 is one dollar.
- Lists are newest first, in pages of \`limit\` (1–100, default 20). Follow \`next_cursor\` with \`starting_after\` until \`has_more\` is false.
- Every POST takes an \`Idempotency-Key\`: a retry with the same key and body is answered with what the first request made.
- PATCH changes only the top-level fields that are sent; objects and arrays are replaced whole; \`null\` clears an optional field.
- Errors have one shape. Match on \`code\`; every code is explained at [errors](/docs/errors).
- A breaking change ships behind a dated \`Service-Version\`; a key keeps the version it was made with.`;

/** What the document is made from. */
export interface DocumentSource {
  routes: KnownRoute[];
  publicUrl: string;
  /** Newest first. */
  versions: readonly string[];
}

/** The OpenAPI document of the API's routes, from the very schemas that validate and serialise. Throws when a route describes too little. */
export function openApiDocument({ routes, publicUrl, versions }: DocumentSource): OpenApiDocument {
  const shown = routes.filter(({ method, url }) => method !== 'HEAD' && url.startsWith('/v1/'));
  const components = new Components();
  components.showAs('Error', errorSchema());
  const ordered = shown.toSorted((a, b) => rankOf(tagOf(a.url)) - rankOf(tagOf(b.url)));
  const listPaths = new Set(shown.filter((route) => route.method === 'GET' && lists(route)).map(({ url }) => url));
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of ordered) {
    const id = operationId({ method: route.method, url: route.url, lists: lists(route), creates: listPaths.has(route.url) });
    const operations = (paths[route.url.replaceAll(/:(\w+)/g, '{$1}')] ??= {});
    operations[route.method.toLowerCase()] = operationOf(route, id, components);
  }
  const webhooks = webhooksOf(components.schemas);
  const document: OpenApiDocument = {
    openapi: '3.1.0',
    info: { title: 'Wirevoice API', version: versions[0] ?? '', summary: 'AI telephone agents over SIP and WebSocket.', description: DESCRIPTION, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: publicUrl, description: 'This installation.' }],
    security: [{ apiKey: [] }],
    tags: [...new Map(ordered.map(({ url }) => [tagOf(url).name, tagOf(url)])).values()],
    paths,
    webhooks,
    components: {
      schemas: Object.fromEntries(Object.entries(components.schemas).toSorted(([a], [b]) => (a < b ? -1 : 1))),
      parameters: parameters(versions),
      headers: HEADERS,
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `wv_live_…` or `wv_test_…`. Each operation names the scope that the key must hold (`x-scope`).' } },
    },
  };
  addExamples(document);
  return document;
}

function errorSchema(): Schema {
  const types = [...new Set(Object.values(ERROR_CATALOGUE).map(({ type }) => type))].toSorted();
  return {
    type: 'object',
    required: ['error'],
    additionalProperties: false,
    properties: {
      error: {
        type: 'object',
        required: ['type', 'code', 'message', 'request_id'],
        additionalProperties: false,
        properties: {
          type: { type: 'string', enum: types, description: 'The kind of error.' },
          code: { type: 'string', description: 'Stable; match on it.', examples: ['agent_not_found'] },
          message: { type: 'string', description: 'For people. May change.' },
          param: { type: 'string', description: 'The field at fault: dotted, arrays with brackets, such as `leads[3].phone_number`.' },
          doc_url: { type: 'string', description: 'Where this code is explained.' },
          request_id: { type: 'string', description: 'The request, as in the header Request-Id.' },
        },
      },
    },
  };
}
