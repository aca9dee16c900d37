import { PAGE_PARAMETERS } from '../api/pagination.ts';
import type { Parameter, Reference, Schema } from './open-api.ts';

const text = (description: string, example: string): { description: string; schema: Schema } => ({ description, schema: { type: 'string', examples: [example] } });

/** Headers of answers. */
export const HEADERS = {
  'Request-Id': text('Names the request; quote it when something is wrong. Errors repeat it as `request_id`.', 'req_5f1d7a0c9be24c3a8d10e6f2'),
  'Service-Version': text('The dated version that answered.', '2026-09-01'),
  'RateLimit': text('What is left of the bucket (`r`) and the seconds until it is full again (`t`).', '"read";r=199;t=1'),
  'RateLimit-Policy': text('The bucket this request drew from: its size (`q`) and the seconds in which it fills (`w`).', '"read";q=200;w=2'),
  'Retry-After': { description: 'Seconds to wait before the next try.', schema: { type: 'integer', minimum: 0 } },
  'Idempotent-Replayed': { description: '`true`: the answer of an earlier request with this Idempotency-Key. Nothing was done again.', schema: { type: 'string', const: 'true' } },
};

/** Parameters that many operations share. `versions`: newest first. */
export function parameters(versions: readonly string[]): Record<string, Parameter> {
  const description = 'A dated version for this request. Without it, the version that was current when the key was made.';
  return { ServiceVersion: { name: 'Service-Version', in: 'header', schema: { type: 'string', enum: [...versions] }, description }, ...PARAMETERS };
}

const PARAMETERS: Readonly<Record<string, Parameter>> = {
  IdempotencyKey: {
    name: 'Idempotency-Key', in: 'header', schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' },
    description: 'Makes a retry safe: for 24 hours the same key with the same body is answered with what the first request made.',
  },
  Limit: pageParameter('limit'),
  StartingAfter: pageParameter('starting_after'),
  EndingBefore: pageParameter('ending_before'),
};

/** The shared parameter that a list's query takes over, if it is one. */
export function sharedParameter(name: string): Reference | undefined {
  const found = Object.entries(PARAMETERS).find(([, parameter]) => parameter.in === 'query' && parameter.name === name);
  return found && { $ref: `#/components/parameters/${found[0]}` };
}

/** References to headers of these names. */
export function headers(names: readonly (keyof typeof HEADERS)[]): Record<string, Reference> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function pageParameter(name: keyof typeof PAGE_PARAMETERS): Parameter {
  const { description = '', ...schema } = PAGE_PARAMETERS[name] as object as Schema;
  return { name, in: 'query', description, schema: name === 'limit' ? { ...schema, default: 20 } : schema };
}
