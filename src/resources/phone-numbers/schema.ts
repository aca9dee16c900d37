import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { Id, Nullable, NullableString, OneOf, PhoneNumber as E164, Timestamp } from '../../api/schemas.ts';

const closed = { additionalProperties: false };

export const PhoneNumber = Type.Object({
  id: Type.String(),
  object: Type.Literal('phone_number'),
  livemode: Type.Boolean(),
  phone_number: Type.String(),
  label: NullableString,
  sip_trunk_id: NullableString,
  agent_id: NullableString,
  outbound_enabled: Type.Boolean(),
  fallback_number: NullableString,
  status: OneOf(['active', 'no_trunk', 'no_agent']),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type PhoneNumber = Static<typeof PhoneNumber>;
export const PhoneNumberList = listOf(PhoneNumber);

const OPTIONAL = {
  label: Type.Optional(Nullable(Type.String({ maxLength: 200 }))),
  sip_trunk_id: Type.Optional(Nullable(Id('Trunk its calls come through.'))),
  agent_id: Type.Optional(Nullable(Id('Agent that answers; null refuses calls with 480.'))),
  outbound_enabled: Type.Optional(Nullable(Type.Boolean())),
  fallback_number: Type.Optional(Nullable(E164('Where calls go that the agent cannot take.'))),
};
export const CreatePhoneNumber = Type.Object({ phone_number: E164('E.164, such as +14155550100.'), ...OPTIONAL }, closed);
export type CreatePhoneNumber = Static<typeof CreatePhoneNumber>;
export const UpdatePhoneNumber = Type.Object(OPTIONAL, closed);
export type UpdatePhoneNumber = Static<typeof UpdatePhoneNumber>;
export const ListPhoneNumbers = Type.Object({ ...PAGE_PARAMETERS }, closed);
