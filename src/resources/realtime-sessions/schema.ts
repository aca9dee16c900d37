import Type, { type Static } from 'typebox';
import { Id, Metadata, Nullable, OneOf, Timestamp, Variables } from '../../api/schemas.ts';
import { CallOverrides } from '../calls/overrides.ts';

const ENCODINGS = ['pcm16', 'pcmu', 'pcma'] as const;

const Format = Type.Object({
  encoding: OneOf(ENCODINGS),
  sample_rate: Type.Integer({ enum: [8000, 16_000, 24_000, 48_000], description: 'Hz; 8000 for pcmu and pcma.' }),
}, { additionalProperties: false });

export const NewRealtimeSession = Type.Object({
  agent_id: Id('Who talks.'),
  variables: Type.Optional(Variables),
  metadata: Type.Optional(Metadata),
  overrides: Type.Optional(CallOverrides),
  audio: Type.Optional(Type.Object({ input: Type.Optional(Format), output: Type.Optional(Format) }, { additionalProperties: false })),
  max_duration_seconds: Type.Optional(Type.Integer({ minimum: 30, maximum: 14_400, description: 'Shortens the agent\'s own limit.' })),
}, { additionalProperties: false });
export type NewRealtimeSession = Static<typeof NewRealtimeSession>;

export const RealtimeSession = Type.Object({
  id: Type.String(),
  object: Type.Literal('realtime_session'),
  livemode: Type.Boolean(),
  call_id: Type.String(),
  client_secret: Nullable(Type.Object({ value: Type.String({ description: 'Joins the session, once. A browser may hold it.' }), expires_at: Timestamp })),
  secret_already_shown: Type.Optional(Type.Literal(true, { description: 'A replay: the secret was in the first answer, and is kept nowhere.' })),
  url: Type.String(),
  expires_at: Timestamp,
  agent_id: Type.String(),
  audio: Type.Object({ input: Format, output: Format }),
  created_at: Timestamp,
});
export type RealtimeSession = Static<typeof RealtimeSession>;
