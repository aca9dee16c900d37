import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { Nullable, NullableInteger, OneOf, Timestamp } from '../../api/schemas.ts';

const closed = { additionalProperties: false };
const DIRECTIONS = ['inbound', 'outbound', 'both'] as const;
/** In the order they are preferred. */
export const CODECS = ['PCMU', 'PCMA'] as const;
const DTMF_MODES = ['rfc4733', 'auto'] as const;

export const SipTrunk = Type.Object({
  id: Type.String(),
  object: Type.Literal('sip_trunk'),
  livemode: Type.Boolean(),
  name: Type.String(),
  direction: OneOf(DIRECTIONS),
  allowed_addresses: Type.Array(Type.String()),
  codecs: Type.Array(OneOf(CODECS)),
  dtmf_mode: OneOf(DTMF_MODES),
  media_encryption: OneOf(['disabled']),
  max_concurrent_calls: NullableInteger,
  status: OneOf(['ok', 'disabled']),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type SipTrunk = Static<typeof SipTrunk>;
export const SipTrunkList = listOf(SipTrunk);

const Addresses = Type.Array(Type.String({ minLength: 2, maxLength: 64 }), { minItems: 1, maxItems: 100, description: 'CIDR ranges or addresses that calls may come from.' });
const OPTIONAL = {
  direction: Type.Optional(OneOf(['inbound'], { description: 'Only inbound trunks in this version.' })),
  codecs: Type.Optional(Nullable(Type.Array(OneOf(CODECS), { minItems: 1, maxItems: CODECS.length, uniqueItems: true, description: 'Ordered by preference.' }))),
  dtmf_mode: Type.Optional(OneOf(DTMF_MODES)),
  max_concurrent_calls: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 100_000 }))),
  enabled: Type.Optional(Type.Boolean({ description: 'false: status `disabled`, calls are refused as if the trunk did not exist.' })),
};
const name = () => Type.String({ minLength: 1, maxLength: 200 });

export const CreateSipTrunk = Type.Object({ name: name(), allowed_addresses: Addresses, ...OPTIONAL }, closed);
export type CreateSipTrunk = Static<typeof CreateSipTrunk>;
export const UpdateSipTrunk = Type.Object({ name: Type.Optional(name()), allowed_addresses: Type.Optional(Addresses), ...OPTIONAL }, closed);
export type UpdateSipTrunk = Static<typeof UpdateSipTrunk>;
export const ListSipTrunks = Type.Object({ ...PAGE_PARAMETERS }, closed);
