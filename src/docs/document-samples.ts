import type { OpenApiDocument, Operation, Schema } from './open-api.ts';
import { resolve, sampleOf } from './samples.ts';

/** Optional fields that an example is better for. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  createVoice: ['audio_urls'], createLead: ['tags'], createAgent: ['language'], createCampaign: ['lead_ids'], createKnowledgeBaseDocument: ['title', 'text'],
  updateAgent: ['opening_message'], updateLead: ['tags'], updateAppointment: ['date_time'], updateWebhook: ['url', 'enabled'],
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

/** What must be sent; where nothing must, the first field. */
function exampleOf({ operationId }: Operation, schema: Schema, schemas: Readonly<Record<string, Schema>>): unknown {
  const sample = sampleOf(schema, schemas, false);
  const fields = Object.entries(schema.properties ?? {});
  const also = ALSO[operationId] ?? (typeof sample === 'object' && Object.keys(sample ?? {}).length === 0 ? fields.slice(0, 1).map(([name]) => name) : []);
  if (also.length === 0 || schema.properties === undefined) return sample;
  return { ...(sample as object), ...Object.fromEntries(fields.filter(([name]) => also.includes(name)).map(([name, field]) => [name, sampleOf(field, schemas, false, name)])) };
}
