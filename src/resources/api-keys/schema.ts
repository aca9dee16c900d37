import Type, { type Static } from 'typebox';
import { NullableString, NullableTimestamp, OneOf, Timestamp } from '../../api/schemas.ts';
import { PAGE_PARAMETERS } from '../../api/pagination.ts';
import { SCOPES } from '../../api/scopes.ts';

const Scopes = Type.Array(OneOf(SCOPES, { errorCode: 'unknown_scope' }), { minItems: 1, maxItems: SCOPES.length, uniqueItems: true });

const FIELDS = {
  id: Type.String(),
  object: Type.Literal('api_key'),
  name: Type.String(),
  mode: OneOf(['live', 'test']),
  livemode: Type.Boolean(),
  prefix: Type.String({ description: 'The first 12 characters of the secret.' }),
  scopes: Type.Array(Type.String()),
  service_version: Type.String(),
  created_at: Timestamp,
  last_used_at: NullableTimestamp,
  expires_at: NullableTimestamp,
  revoked_at: NullableTimestamp,
  rotated_from: NullableString,
};

export const ApiKey = Type.Object(FIELDS);
export type ApiKey = Static<typeof ApiKey>;

export const ApiKeyWithSecret = Type.Object({ ...FIELDS, secret: Type.Union([Type.String(), Type.Null()], { description: 'Shown this once; null in an idempotent replay.' }), secret_already_shown: Type.Optional(Type.Boolean({ description: 'true in an idempotent replay.' })) }, { title: 'ApiKeyWithSecret' });

export const CreateApiKey = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  scopes: Scopes,
  mode: Type.Optional(OneOf(['live', 'test'], { description: 'Must be the calling key\'s own, which is the default.' })),
  expires_at: Type.Optional(Type.Union([Type.String({ format: 'date-time' }), Type.Null()])),
}, { additionalProperties: false });
export type CreateApiKey = Static<typeof CreateApiKey>;

export const ListApiKeys = Type.Object({ ...PAGE_PARAMETERS }, { additionalProperties: false });
