import type { OpenApiDocument, Operation } from './open-api.ts';
import { sampleOf } from './samples.ts';

/** Gives every JSON body of the document an example that its schema allows. */
export function addExamples(document: OpenApiDocument): void {
  const operations: Operation[] = [...Object.values(document.paths).flatMap((methods) => Object.values(methods)), ...Object.values(document.webhooks).map(({ post }) => post)];
  const { schemas } = document.components;
  for (const { operationId, requestBody } of operations) {
    const json = requestBody?.content['application/json'];
    if (json) json.example ??= sampleOf(json.schema, schemas, operationId.startsWith('on'));
  }
}
