import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import t from 'tap';
import { compileValidator } from '../../../src/api/validation.ts';
import { Components } from '../../../src/docs/components.ts';
import type { OpenApiDocument, Operation, Schema } from '../../../src/docs/open-api.ts';
import { operationId } from '../../../src/docs/operation-ids.ts';
import { EVENT_IDS, payloadOf } from '../../../src/events/event.ts';
import { startApiHarness, type ApiHarness } from '../../support/api-harness.ts';

const JSON_TYPE = 'application/json';

interface Entry { method: string; path: string; name: string; operation: Operation }

const operationsOf = ({ paths }: OpenApiDocument): Entry[] => Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, name: `${method.toUpperCase()} ${path}`, operation })));

const documentOf = async (api: ApiHarness): Promise<OpenApiDocument> => {
  const answer = await api.call('GET', '/openapi.json', { key: null });
  if (answer.status !== 200) throw new Error(api.logged.filter((line) => line.includes('a request failed')).at(-1));
  return answer.body as OpenApiDocument;
};

t.test('the OpenAPI document', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const document = await documentOf(api);
  const operations = operationsOf(document);
  const byId = new Map(operations.map((entry) => [entry.operation.operationId, entry]));
  const routes = api.app.knownRoutes.all().filter(({ method, url }) => method !== 'HEAD' && url.startsWith('/v1/'));
  const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false });
  ajv.addSchema(document, 'api');
  const validatorOf = (pointer: string): ValidateFunction => ajv.compile({ $ref: `api#${pointer}` });

  t.test('it has every route of the API, and names its version, its server and its key', (t) => {
    t.same(operations.map(({ name }) => name).toSorted(), routes.map(({ method, url }) => `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`).toSorted());
    t.match(document, { openapi: '3.1.0', info: { title: 'Wirevoice API', version: '2026-09-01', license: { identifier: 'MIT' } }, servers: [{ url: 'http://localhost:8080' }] });
    t.match(document, { security: [{ apiKey: [] }], components: { securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } } });
    t.end();
  });

  t.test('every operation has a name of its own, a summary, a group and its scope', (t) => {
    t.equal(byId.size, operations.length, 'ids are unique');
    for (const { name, operation } of operations) {
      t.match(operation.operationId, /^[a-z]+(?:[A-Z][a-z]+)*$/, name);
      t.ok(operation.summary.length > 3 && document.tags.some((tag) => operation.tags[0] === tag.name && tag.description.length > 20 && tag.name !== 'Other'), name);
    }
    for (const route of routes) {
      const operation = document.paths[route.url.replaceAll(/:(\w+)/g, '{$1}')]?.[route.method.toLowerCase()];
      if (route.scope === 'public') t.same(operation?.security, [], route.url);
      else t.equal(operation?.['x-scope'], route.scope, route.url);
      if (route.scope.includes(':')) t.match(operation?.description, `\`${route.scope}\``, route.url);
      t.ok(route.schema['summary'], `${route.method} ${route.url} has a summary of its own`);
    }
    for (const id of ['createAgent', 'listAgents', 'getAgent', 'updateAgent', 'deleteAgent', 'listLeads', 'importLeads', 'pauseCampaign', 'rotateApiKey', 'rotateWebhookSecret', 'createRealtimeSession', 'hangUpCall']) t.ok(byId.has(id), id);
    t.end();
  });

  t.test('400, 401, 403 and 429 everywhere, 404 where the path has an id, the rest under default', (t) => {
    for (const { name, path, operation } of operations.filter(({ operation: { security }, name: each }) => security?.length !== 0 && each !== 'POST /v1/voices')) {
      const errors = Object.keys(operation.responses).filter((status) => !status.startsWith('2'));
      t.same(errors.toSorted(), [...(path.includes('{') ? ['400', '401', '403', '404', '429'] : ['400', '401', '403', '429']), 'default'], name);
    }
    const stated = (id: string): number => Object.keys(byId.get(id)?.operation.responses ?? {}).filter((status) => status.startsWith('4')).length;
    t.equal(stated('createAgent'), 4);
    t.equal(stated('updateLead'), 5);
    t.end();
  });

  t.test('cloning a voice answers what its table says, and nothing else', (t) => {
    t.same(Object.keys(byId.get('createVoice')?.operation.responses ?? {}), ['201', '400', '401', '402', '403', '409', '413', '429', '503']);
    t.same(Object.keys(byId.get('createVoice')?.operation.requestBody?.content ?? {}), [JSON_TYPE, 'multipart/form-data']);
    t.end();
  });

  t.test('codes that a route declares are named where they belong', (t) => {
    for (const { method, url, config } of routes) {
      const { responses = {} } = document.paths[url.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()] ?? {};
      const unnamed = (config.errors ?? []).filter((code) => !Object.values(responses).some((response) => response['x-error-codes']?.includes(code) && response.description.includes(code)));
      t.same(unnamed, [], `${method} ${url}`);
    }
    t.end();
  });

  t.test('headers, both ways', (t) => {
    const base = ['Request-Id', 'Service-Version'];
    for (const { name, method, operation } of operations.filter(({ operation: { security } }) => security?.length !== 0)) {
      const sent = JSON.stringify(operation.parameters);
      t.same([sent.includes('ServiceVersion'), sent.includes('IdempotencyKey')], [true, method === 'POST'], name);
      const odd = Object.entries(operation.responses).filter(([status, { headers = {} }]) => {
        const expected = [...base, 'RateLimit', 'RateLimit-Policy', ...(['429', '503', 'default'].includes(status) ? ['Retry-After'] : [])];
        return Object.keys(headers).filter((header) => header !== 'Idempotent-Replayed').join() !== expected.join();
      });
      t.same(odd, [], name);
    }
    t.ok(byId.get('createAgent')?.operation.responses['201']?.headers?.['Idempotent-Replayed']);
    t.end();
  });

  t.test('each resource stands once, and everything else refers to it', (t) => {
    const { schemas } = document.components;
    const of = (id: string, status: string): Schema | undefined => byId.get(id)?.operation.responses[status]?.content?.[JSON_TYPE]?.schema;
    for (const [id, status] of [['createAgent', '201'], ['getAgent', '200'], ['updateAgent', '200']] as const) t.same(of(id, status), { $ref: '#/components/schemas/Agent' });
    t.same(schemas['AgentList']?.properties?.['data'], { type: 'array', items: { $ref: '#/components/schemas/Agent' } });
    t.match(Object.keys(schemas['AgentList']?.properties ?? {}), ['object', 'data', 'has_more', 'next_cursor', 'previous_cursor']);
    const tags = Object.values(schemas).filter(({ title }) => title === undefined).map((schema) => schema.properties?.['object']?.const).filter((tag) => tag !== undefined && tag !== 'list');
    t.equal(new Set(tags).size, tags.length);
    for (const name of new Set([...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/([^"]+)"/g)].map(([, found = '']) => found))) {
      t.ok(name.split('/').reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], document.components), name);
    }
    t.throws(() => { const components = new Components(); components.showAs('A', { type: 'string' }); components.showAs('A', { type: 'null' }); }, /give one of them a title/);
    t.end();
  });

  t.test('lists share their parameters', (t) => {
    const shared = ['Limit', 'StartingAfter', 'EndingBefore'].map((name) => ({ $ref: `#/components/parameters/${name}` }));
    for (const { name, operation } of operations.filter(({ operation: { operationId: id } }) => ['listAgents', 'listLeads', 'listCampaigns', 'listCalls', 'listAppointments'].includes(id))) t.match(operation.parameters.slice(0, 3), shared, name);
    t.match(document.components.parameters['Limit'], { schema: { minimum: 1, maximum: 100, default: 20 } });
    t.match(document.components.parameters['StartingAfter'], { schema: { minLength: 1, maxLength: 512 } });
    t.end();
  });

  t.test('every answer and every body says what it is, and nothing of ours leaks', (t) => {
    for (const { name, operation } of operations) {
      const bare = Object.entries(operation.responses).filter(([, { content }]) => Object.keys(content ?? {}).length === 0).map(([status]) => status);
      t.same(bare, [], `${name} describes its bodies`);
    }
    const text = JSON.stringify(document);
    t.notMatch(text, /"errorCode"|"~|"\$id"|"recall"/);
    t.match(text, '"x-error-code":"invalid_id"');
    const media = (id: string, status: string): string[] => Object.keys(byId.get(id)?.operation.responses[status]?.content ?? {});
    t.ok(media('getCallRecording', '200').includes('audio/wav') && media('getCallRecording', '206').includes('audio/wav'));
    t.ok(media('streamCampaignEvents', '200').includes('text/event-stream'));
    t.ok(byId.get('importLeads')?.operation.requestBody?.content['text/csv']);
    t.ok(byId.get('createKnowledgeBaseDocument')?.operation.requestBody?.content['multipart/form-data']);
    t.end();
  });

  t.test('every example is one that the route takes', (t) => {
    for (const { method, url, schema } of routes) {
      const path = url.replaceAll(/:(\w+)/g, '{$1}');
      const example = document.paths[path]?.[method.toLowerCase()]?.requestBody?.content[JSON_TYPE]?.example;
      if (example === undefined) continue;
      const verdict = compileValidator({ schema: schema['body'] as object, method, url, httpPart: 'body' })(example) as { error?: Error };
      t.equal(verdict.error?.message, undefined, `${method} ${url} ${JSON.stringify(example)}`);
    }
    for (const [event, { post }] of Object.entries(document.webhooks)) {
      const valid = validatorOf(`/components/schemas/${event.charAt(0).toUpperCase()}${event.slice(1)}Event`);
      t.ok(valid(post.requestBody?.content[JSON_TYPE]?.example), `${event}: ${JSON.stringify(valid.errors)}`);
    }
    t.end();
  });

  t.test('the ten events, as they are sent', async (t) => {
    t.same(Object.keys(document.webhooks), [...EVENT_IDS]);
    api.events.length = 0;
    const { body: lead } = await api.call('POST', '/v1/leads', { body: { name: 'Ada', phone_number: '+14155550177' } });
    await api.call('PATCH', `/v1/leads/${lead.id}`, { body: { qualified: true } });
    const { body: appointment } = await api.call('POST', '/v1/appointments', { body: { client_name: 'Ada', phone_number: '+14155550177', date_time: '2026-12-01T10:00:00Z', lead_id: lead.id } });
    await api.call('DELETE', `/v1/appointments/${appointment.id}`);
    t.same(api.events.map(({ event }) => event), ['leadCreated', 'leadQualified', 'appointmentBooked', 'appointmentCanceled']);
    for (const event of api.events) {
      const valid = validatorOf(`/components/schemas/${event.event.charAt(0).toUpperCase()}${event.event.slice(1)}Event`);
      const payload: unknown = JSON.parse(payloadOf(event, new Date(0)));
      t.ok(valid(payload), `${event.event}: ${JSON.stringify(valid.errors)}`);
      t.notOk(valid({ ...payload as object, event: 'inboundCall' }));
    }
  });

  t.test('a schema that names an event or a resource refuses what is none', (t) => {
    t.notOk(validatorOf('/components/schemas/Agent')({}));
    t.ok(validatorOf('/components/schemas/Error')({ error: { type: 'api_error', code: 'x', message: 'y', request_id: 'z' } }));
    t.notOk(validatorOf('/components/schemas/Error')({ error: { type: 'api_error', code: 'x', message: 'y' } }));
    t.end();
  });
});

t.test('operation ids are made from method and path', (t) => {
  const idOf = (method: string, url: string, lists = false, creates = false): string => operationId({ method, url, lists, creates });
  t.equal(idOf('POST', '/v1/knowledge-bases/:id/documents', false, true), 'createKnowledgeBaseDocument');
  t.equal(idOf('GET', '/v1/knowledge-bases/:id/documents/:document_id'), 'getKnowledgeBaseDocument');
  t.equal(idOf('POST', '/v1/knowledge-bases/:id/documents/:document_id/retry'), 'retryKnowledgeBaseDocument');
  t.equal(idOf('GET', '/v1/campaigns/:id/leads', true), 'listCampaignLeads');
  t.equal(idOf('POST', '/v1/webhook/rotate-secret'), 'rotateWebhookSecret');
  t.equal(idOf('POST', '/v1/mcp-servers/:id/refresh'), 'refreshMcpServer');
  t.end();
});
