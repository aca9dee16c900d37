import type { OpenApiDocument, Operation, Schema } from './open-api.ts';
import { resolve, sampleOf } from './samples.ts';

/** What an example is better for, beside what must be sent. */
const CHOSEN: Readonly<Record<string, object>> = {
  createAgent: { language: 'en-US' },
  updateAgent: { opening_message: 'Good morning, how can I help?' },
  createCall: { metadata: { order: 'A-1001' } },
  createRealtimeSession: { variables: { name: 'Ada' } },
  createLead: { tags: ['warm'], fields: { city: 'London' } },
  updateLead: { qualified: true },
  importLeads: { leads: [{ name: 'Ada Lovelace', phone_number: '+14155550100' }], on_duplicate: 'update' },
  createCampaign: { name: 'Spring offers', lead_ids: ['6741c2a09be24c3a8d10e6f2'] },
  updateCampaign: { max_concurrent_calls: 10 },
  createKnowledgeBase: { name: 'Handbook' },
  updateKnowledgeBase: { description: 'Hours, prices and how to find us.' },
  createKnowledgeBaseDocument: { title: 'Opening hours', text: 'We are open from nine to five.' },
  createSipTrunk: { name: 'Carrier', allowed_addresses: ['203.0.113.0/24'] },
  updateSipTrunk: { max_concurrent_calls: 10 },
  createAppointment: { duration_minutes: 30 },
  updateAppointment: { date_time: '2026-12-01T10:00:00Z' },
  createApiKey: { name: 'Back office' },
  createVoice: { name: 'Ada', audio_urls: ['https://example.com/ada.wav'] },
  updateWebhook: { url: 'https://example.com/wirevoice', enabled: true },
  createMcpServer: { name: 'Calendar', url: 'https://example.com/mcp' },
  updateMcpServer: { enabled: false },
};

/** Gives every JSON body of the document an example that its schema allows. */
export function addExamples(document: OpenApiDocument): void {
  const { schemas } = document.components;
  for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods))) {
    const json = operation.requestBody?.content['application/json'];
    if (json) json.example ??= exampleOf(operation, resolve(json.schema, schemas), schemas);
  }
  for (const { post } of Object.values(document.webhooks)) {
    const json = post.requestBody?.content['application/json'];
    if (json) json.example = withoutTest(sampleOf(json.schema, schemas, true) as Payload);
  }
}

interface Payload { test?: boolean; data: { test?: boolean } }

/** An event that really happened. */
function withoutTest({ test: _test, data, ...payload }: Payload): Payload {
  return { ...payload, data: { ...data, ...('test' in data ? { test: false } : {}) } };
}

/** What must be sent and what was chosen; where nothing must, the first field. */
function exampleOf({ operationId }: Operation, schema: Schema, schemas: Readonly<Record<string, Schema>>): unknown {
  const sample = { ...sampleOf(schema, schemas, false) as object, ...CHOSEN[operationId] };
  const [first] = Object.entries(schema.properties ?? {});
  return Object.keys(sample).length > 0 || first === undefined ? sample : { [first[0]]: sampleOf(first[1], schemas, false, first[0]) };
}
