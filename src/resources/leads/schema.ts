import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { DateTime, Json, Nullable, NullableString, NullableTimestamp, OneOf, PhoneNumber, Timestamp } from '../../api/schemas.ts';

const closed = { additionalProperties: false };
export const MAX_IMPORTED = 5000;
const MAX_FIELDS = 100;
/** ASCII: a local part, an at sign and a domain with a dot; whether it exists only a message can tell. */
const EMAIL = "^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@(?:[A-Za-z0-9-]{1,63}\\.)+[A-Za-z0-9-]{2,63}$";

export const Lead = Type.Object({
  id: Type.String(),
  object: Type.Literal('lead'),
  livemode: Type.Boolean(),
  name: Type.String(),
  phone_number: Type.String(),
  tags: Type.Array(Type.String()),
  fields: Json,
  email: NullableString,
  timezone: NullableString,
  do_not_call: Type.Boolean(),
  qualified: Type.Boolean(),
  qualified_at: Nullable(Type.String({ description: 'When it was first marked qualified; stays when it no longer is.' })),
  qualification_notes: NullableString,
  last_call_at: NullableTimestamp,
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Lead = Static<typeof Lead>;
export const LeadList = listOf(Lead);

const name = () => Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });
const phoneNumber = () => PhoneNumber('E.164, such as +14155550100. One lead each in an account and mode.');

/** Fields that POST and PATCH take alike; null clears them. */
const OPTIONAL = {
  tags: Type.Optional(Nullable(Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 50, description: 'Replaced whole; a repeated tag counts once.' }))),
  fields: Type.Optional(Nullable(Type.Unsafe<Record<string, unknown>>({
    type: 'object', maxProperties: MAX_FIELDS, additionalProperties: true,
    description: 'Values of merge fields, any JSON: {{city}} or {{lead.fields.city}}. At most 16 KiB as JSON. Replaced whole.',
  }))),
  email: Type.Optional(Nullable(Type.String({ maxLength: 254, pattern: EMAIL }))),
  timezone: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 64, description: 'IANA name such as Europe/Berlin; what calling hours of `lead` mean.' }))),
  do_not_call: Type.Optional(Nullable(Type.Boolean({ description: 'Campaigns skip it.' }))),
};
export const CreateLead = Type.Object({ name: name(), phone_number: phoneNumber(), ...OPTIONAL }, closed);
export type CreateLead = Static<typeof CreateLead>;

export const UpdateLead = Type.Object({
  name: Type.Optional(name()),
  phone_number: Type.Optional(phoneNumber()),
  ...OPTIONAL,
  qualified: Type.Optional(Nullable(Type.Boolean({ description: 'The first true fires leadQualified; once in a lead\'s life, whatever comes after.' }))),
  qualification_notes: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
}, closed);
export type UpdateLead = Static<typeof UpdateLead>;

export const ListLeads = Type.Object({
  ...PAGE_PARAMETERS,
  tag: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Leads that carry this tag.' })),
  phone_number: Type.Optional(PhoneNumber('The lead with this number; the plus is written %2B.')),
  qualified: Type.Optional(Type.Boolean()),
  created_after: Type.Optional(DateTime('Created at or after.')),
  created_before: Type.Optional(DateTime('Created before.')),
  q: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Leads whose name, phone number or email hold every word of it, whatever the case and accents.' })),
}, closed);
export type ListLeads = Static<typeof ListLeads>;

const ON_DUPLICATE = ['skip', 'update', 'error'] as const;
export type OnDuplicate = (typeof ON_DUPLICATE)[number];
const onDuplicate = () => Type.Optional(OneOf(ON_DUPLICATE, { description: 'What becomes of a row whose phone number a lead, or an earlier row, has: skip (the default), update the fields it sends, or an error of its own.' }));

/** What an import takes, as it is documented. Its rows are checked one by one, so that a bad one is an error of its own. */
export const ImportLeads = Type.Object({ leads: Type.Array(CreateLead, { maxItems: MAX_IMPORTED }), on_duplicate: onDuplicate() }, closed);
/** What is checked of it as a whole. */
export const ImportEnvelope = Type.Object({ leads: Type.Array(Type.Unknown(), { maxItems: MAX_IMPORTED }), on_duplicate: onDuplicate() }, closed);
export type ImportEnvelope = Static<typeof ImportEnvelope>;
export const ImportQuery = Type.Object({ on_duplicate: onDuplicate() }, closed);

export const LeadImport = Type.Object({
  id: Type.String(),
  object: Type.Literal('lead_import'),
  livemode: Type.Boolean(),
  created: Type.Integer(),
  updated: Type.Integer(),
  skipped: Type.Integer(),
  errors: Type.Array(Type.Object({
    row: Type.Integer({ description: 'Position in `leads`, or among the rows under the header: the first is 0, the same number as in `param`.' }),
    code: Type.String(),
    param: NullableString,
    message: Type.String(),
  })),
  created_at: Timestamp,
});
export type LeadImport = Static<typeof LeadImport>;
