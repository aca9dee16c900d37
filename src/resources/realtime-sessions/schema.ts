import Type, { type Static } from 'typebox';
import { Id, Metadata, OneOf, Timestamp, Variables } from '../../api/schemas.ts';

const ENCODINGS = ['pcm16', 'pcmu', 'pcma'] as const;

const Format = Type.Object({
  encoding: OneOf(ENCODINGS),
  sample_rate: Type.Integer({ enum: [8000, 16_000, 24_000, 48_000], description: 'Hz; 8000 for pcmu and pcma.' }),
}, { additionalProperties: false });

export const NewRealtimeSession = Type.Object({
  agent_id: Id('Who talks.'),
  variables: Type.Optional(Variables),
  metadata: Type.Optional(Metadata),
  overrides: Type.Optional(Type.Object({
    opening_message: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })),
    system_prompt: Type.Optional(Type.String({ minLength: 1, maxLength: 20_000 })),
    language: Type.Optional(Type.String({ pattern: '^[a-z]{2}-[A-Z]{2}$' })),
  }, { additionalProperties: false })),
  audio: Type.Optional(Type.Object({ input: Type.Optional(Format), output: Type.Optional(Format) }, { additionalProperties: false })),
  max_duration_seconds: Type.Optional(Type.Integer({ minimum: 30, maximum: 14_400 })),
}, { additionalProperties: false });
export type NewRealtimeSession = Static<typeof NewRealtimeSession>;

export const RealtimeSession = Type.Object({
  id: Type.String(),
  object: Type.Literal('realtime_session'),
  livemode: Type.Boolean(),
  call_id: Type.String(),
  client_secret: Type.Object({ value: Type.String(), expires_at: Timestamp }),
  url: Type.String(),
  expires_at: Timestamp,
  agent_id: Type.String(),
  audio: Type.Object({ input: Format, output: Format }),
  created_at: Timestamp,
});
