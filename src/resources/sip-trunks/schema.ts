import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { Nullable, NullableInteger, NullableString, NullableTimestamp, OneOf, Timestamp } from '../../api/schemas.ts';

const closed = { additionalProperties: false };
const DIRECTIONS = ['inbound', 'outbound', 'both'] as const;
/** In the order they are preferred where a trunk names none. */
export const CODECS = ['PCMU', 'PCMA', 'G722', 'opus'] as const;
export const DEFAULT_CODECS = ['PCMU', 'PCMA'] as const;
const DTMF_MODES = ['rfc4733', 'info', 'inband', 'auto'] as const;
const TRANSPORTS = ['udp', 'tcp', 'tls'] as const;
const CALLER_ID_MODES = ['from', 'pai', 'rpid'] as const;
const ENCRYPTION = ['disabled', 'optional', 'required'] as const;
const NUMBER_FORMATS = ['e164', 'national', 'strip_plus'] as const;
const HOST = '^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\\[?[0-9A-Fa-f:.]{2,45}\\]?)$';
/** No control characters: what goes into a SIP header stays one line. */
const ONE_LINE = '^[^\\x00-\\x1f\\x7f]*$';

/** How the peer is reached and spoken to: what the `settings` column holds. */
const SETTINGS = {
  host: NullableString,
  port: NullableInteger,
  transport: OneOf(TRANSPORTS),
  outbound_proxy: NullableString,
  username: NullableString,
  realm: NullableString,
  from_domain: NullableString,
  caller_id_mode: OneOf(CALLER_ID_MODES),
  register: Type.Object({ enabled: Type.Boolean(), expires_seconds: Type.Integer() }),
  media_encryption: OneOf(ENCRYPTION),
  session_timer_seconds: Type.Integer({ description: '0: no session timer (RFC 4028).' }),
  options_interval_seconds: Type.Integer({ description: '0: the peer is not asked whether it is well.' }),
  calls_per_second: Nullable(Type.Number()),
  number_format: OneOf(NUMBER_FORMATS),
  headers: Type.Record(Type.String(), Type.String(), { description: 'Added to every INVITE.' }),
};
const TrunkSettings = Type.Object(SETTINGS);
export type TrunkSettings = Static<typeof TrunkSettings>;

const Registration = Type.Object({
  state: OneOf(['unregistered', 'registering', 'registered', 'failed']), last_error: NullableString, expires_at: NullableTimestamp,
});
export type Registration = Static<typeof Registration>;

export const SipTrunk = Type.Object({
  id: Type.String(),
  object: Type.Literal('sip_trunk'),
  livemode: Type.Boolean(),
  name: Type.String(),
  direction: OneOf(DIRECTIONS),
  ...SETTINGS,
  password_set: Type.Boolean({ description: 'The password itself is never shown.' }),
  registration: Nullable(Registration),
  allowed_addresses: Type.Array(Type.String(), { description: 'CIDR ranges that calls may come from.' }),
  codecs: Type.Array(OneOf(CODECS), { description: 'Ordered by preference.' }),
  dtmf_mode: OneOf(DTMF_MODES),
  max_concurrent_calls: NullableInteger,
  status: OneOf(['ok', 'unreachable', 'auth_failed', 'disabled']),
  last_ok_at: NullableTimestamp,
  rtt_ms: NullableInteger,
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type SipTrunk = Static<typeof SipTrunk>;
export const SipTrunkList = listOf(SipTrunk);

const host = (description: string) => Type.Optional(Nullable(Type.String({ pattern: HOST, maxLength: 253, description })));
const word = (maxLength: number, description: string) => Type.Optional(Nullable(Type.String({ minLength: 1, maxLength, pattern: ONE_LINE, description })));
/** 0 switches off; else between the bounds. */
const secondsOrOff = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Nullable(Type.Integer({ anyOf: [{ const: 0 }, { minimum }], minimum: 0, maximum, description: `0 (off) or ${minimum} to ${maximum}. ${description}` })));

const OPTIONAL = {
  direction: Type.Optional(OneOf(DIRECTIONS, { description: 'Absent: outbound with a host, inbound with addresses or credentials, both with both.' })),
  host: host('Name or address of the peer. Absent with credentials: the peer registers with us.'),
  port: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 65_535, description: 'Absent: found by DNS, else 5060, or 5061 for tls.' }))),
  transport: Type.Optional(OneOf(TRANSPORTS)),
  outbound_proxy: Type.Optional(Nullable(Type.String({ maxLength: 300, pattern: '^(?:sips?:)?[A-Za-z0-9.\\-\\[\\]:]+(?:;[\\w=.;-]+)?$', description: 'Host, host:port or a sip: URI that every request goes to first.' }))),
  username: word(128, 'For digest authentication, in either direction.'),
  password: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 256, pattern: ONE_LINE, description: 'Write-only.' }))),
  realm: word(128, 'Answer challenges of this realm only.'),
  from_domain: host('Domain of the From header; the host when absent.'),
  caller_id_mode: Type.Optional(OneOf(CALLER_ID_MODES, { description: 'Where the caller\'s number goes: From, P-Asserted-Identity (RFC 3325) or Remote-Party-ID.' })),
  register: Type.Optional(Nullable(Type.Object({ enabled: Type.Boolean(), expires_seconds: Type.Optional(Type.Integer({ minimum: 60, maximum: 86_400 })) }, closed))),
  allowed_addresses: Type.Optional(Nullable(Type.Array(Type.String({ minLength: 2, maxLength: 64 }), { maxItems: 100, description: 'CIDR ranges or addresses that calls may come from; required for inbound without credentials.' }))),
  codecs: Type.Optional(Nullable(Type.Array(OneOf(CODECS), { minItems: 1, maxItems: CODECS.length, uniqueItems: true, description: 'Ordered by preference; PCMU, PCMA when absent.' }))),
  dtmf_mode: Type.Optional(OneOf(DTMF_MODES)),
  media_encryption: Type.Optional(OneOf(ENCRYPTION, { description: 'SRTP. required: a call without it is refused.' })),
  session_timer_seconds: secondsOrOff(90, 86_400, 'RFC 4028; 1800 when absent.'),
  options_interval_seconds: secondsOrOff(10, 3600, 'How often the peer is asked by OPTIONS; 60 when absent.'),
  max_concurrent_calls: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 100_000 }))),
  calls_per_second: Type.Optional(Nullable(Type.Number({ exclusiveMinimum: 0, maximum: 1000 }))),
  number_format: Type.Optional(OneOf(NUMBER_FORMATS, { description: 'How numbers are written to the peer.' })),
  headers: Type.Optional(Nullable(Type.Unsafe<Record<string, string>>({
    type: 'object', maxProperties: 20, propertyNames: { pattern: '^[A-Za-z0-9-]{1,64}$' }, additionalProperties: { type: 'string', maxLength: 512, pattern: ONE_LINE },
    description: 'Added to every INVITE; none that SIP itself writes.',
  }))),
  enabled: Type.Optional(Type.Boolean({ description: 'false: status `disabled`, calls are refused as if the trunk did not exist.' })),
};
const name = () => Type.String({ minLength: 1, maxLength: 200 });

export const CreateSipTrunk = Type.Object({ name: name(), ...OPTIONAL }, closed);
export type CreateSipTrunk = Static<typeof CreateSipTrunk>;
export const UpdateSipTrunk = Type.Object({ name: Type.Optional(name()), ...OPTIONAL }, closed);
export type UpdateSipTrunk = Static<typeof UpdateSipTrunk>;
export const ListSipTrunks = Type.Object({ ...PAGE_PARAMETERS }, closed);
