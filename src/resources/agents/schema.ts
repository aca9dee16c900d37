import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { Id, Nullable, NullableString, OneOf, Timestamp, Variables } from '../../api/schemas.ts';

const closed = { additionalProperties: false };
const model = () => Type.String({ minLength: 3, maxLength: 200, description: '<vendor>/<model>, one that GET /v1/engines lists.' });
const language = (description: string) => Type.String({ pattern: '^[a-z]{2,3}-[A-Z]{2}$', description });

const TurnTaking = Type.Object({
  interrupt_sensitivity: Type.Optional(OneOf(['off', 'low', 'normal', 'high'])),
  silence_wait_ms: Type.Optional(Type.Integer({ minimum: 100, maximum: 5000 })),
}, closed);

/** A voice as a client sends it: what is missing is filled in. */
export const VoiceInput = Type.Object({
  stt: Type.Optional(Type.Object({
    model: Type.Optional(model()),
    language: Type.Optional(language('Defaults to the agent\'s.')),
    endpointing_ms: Type.Optional(Type.Integer({ minimum: 10, maximum: 5000 })),
  }, closed)),
  llm: Type.Optional(Type.Object({
    model: Type.Optional(model()),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
    max_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: 4096 })),
  }, closed)),
  tts: Type.Optional(Type.Object({
    model: Type.Optional(model()),
    voice: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    stability: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    similarity_boost: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    speed: Type.Optional(Type.Number({ minimum: 0.5, maximum: 2 })),
  }, closed)),
  realtime: Type.Optional(Type.Object({
    model: model(),
    voice: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 200 }))),
    language: Type.Optional(Type.String({ pattern: '^(auto|[a-z]{2,3}-[A-Z]{2})$' })),
  }, closed)),
  turn_taking: Type.Optional(TurnTaking),
}, { ...closed, description: 'A composed pipeline (stt, llm, tts) or one realtime model.' });
export type VoiceInput = Static<typeof VoiceInput>;

const TurnTakingFilled = Type.Object({ interrupt_sensitivity: OneOf(['off', 'low', 'normal', 'high']), silence_wait_ms: Type.Integer() });

/** A voice with everything filled in: either the three of a pipeline, or `realtime`. */
export const Voice = Type.Object({
  stt: Type.Optional(Type.Object({ model: Type.String(), language: Type.String(), endpointing_ms: Type.Integer() })),
  llm: Type.Optional(Type.Object({ model: Type.String(), temperature: Type.Number(), max_tokens: Type.Integer() })),
  tts: Type.Optional(Type.Object({ model: Type.String(), voice: Type.String(), stability: Type.Number(), similarity_boost: Type.Number(), speed: Type.Number() })),
  realtime: Type.Optional(Type.Object({ model: Type.String(), voice: NullableString, language: Type.String() })),
  turn_taking: TurnTakingFilled,
});
export type Voice = Static<typeof Voice>;

const Silence = Type.Object({ reminder_after_ms: Type.Integer(), reminder_text: Type.String(), max_reminders: Type.Integer(), hang_up_after_ms: Type.Integer() });
const Recording = Type.Object({ enabled: Type.Boolean(), channels: OneOf(['stereo', 'mono']), consent_message: NullableString });

/** An agent's body: what its `definition` column holds. */
const BODY = {
  name: Type.String(),
  system_prompt: Type.String(),
  opening_message: Type.String(),
  description: NullableString,
  voice: Voice,
  language: Type.String(),
  timezone: Type.String(),
  knowledge_base_id: NullableString,
  outbound_phone_number_id: NullableString,
  appointment_booking_enabled: Type.Boolean(),
  protect_opening: Type.Boolean(),
  silence: Silence,
  max_duration_seconds: Type.Integer(),
  recording: Recording,
  variables: Variables,
};
export const AgentDefinition = Type.Object(BODY);
export type AgentDefinition = Static<typeof AgentDefinition>;

export const Agent = Type.Object({
  id: Type.String(),
  object: Type.Literal('agent'),
  livemode: Type.Boolean(),
  version: Type.Integer({ description: 'Grows with each change; a call records the one it used.' }),
  ...BODY,
  engine: Type.String({ description: 'Which engine of GET /v1/engines the voice runs on.' }),
  warnings: Type.Optional(Type.Array(Type.String())),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Agent = Static<typeof Agent>;
export const AgentList = listOf(Agent);

/** Fields that POST and PATCH take alike; null means the default. */
const OPTIONAL = {
  description: Type.Optional(Nullable(Type.String({ maxLength: 1000 }))),
  voice: Type.Optional(Nullable(VoiceInput)),
  language: Type.Optional(Nullable(language('BCP 47 such as en-US, the default.'))),
  timezone: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 64, description: 'IANA name; UTC when absent. What {{date}} means.' }))),
  knowledge_base_id: Type.Optional(Nullable(Id('Facts the agent can draw on.'))),
  outbound_phone_number_id: Type.Optional(Nullable(Id('Number its calls show.'))),
  appointment_booking_enabled: Type.Optional(Nullable(Type.Boolean())),
  protect_opening: Type.Optional(Nullable(Type.Boolean({ description: 'The opening message cannot be interrupted.' }))),
  silence: Type.Optional(Nullable(Type.Object({
    reminder_after_ms: Type.Optional(Type.Integer({ minimum: 1000, maximum: 600_000 })),
    reminder_text: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
    max_reminders: Type.Optional(Type.Integer({ minimum: 0, maximum: 10 })),
    hang_up_after_ms: Type.Optional(Type.Integer({ minimum: 1000, maximum: 600_000 })),
  }, closed))),
  max_duration_seconds: Type.Optional(Nullable(Type.Integer({ minimum: 30, maximum: 14_400 }))),
  recording: Type.Optional(Nullable(Type.Object({
    enabled: Type.Optional(Type.Boolean()),
    channels: Type.Optional(OneOf(['stereo', 'mono'])),
    consent_message: Type.Optional(Nullable(Type.String({ maxLength: 500 }))),
  }, closed))),
  variables: Type.Optional(Nullable(Variables)),
};
const name = () => Type.String({ minLength: 1, maxLength: 200 });
const systemPrompt = () => Type.String({ minLength: 1, maxLength: 20_000 });
const openingMessage = () => Type.String({ minLength: 1, maxLength: 1000, description: 'Spoken as soon as the call connects; {{name}} style merge fields.' });

export const CreateAgent = Type.Object({ name: name(), system_prompt: systemPrompt(), opening_message: openingMessage(), ...OPTIONAL }, closed);
export type CreateAgent = Static<typeof CreateAgent>;

export const UpdateAgent = Type.Object({
  name: Type.Optional(name()), system_prompt: Type.Optional(systemPrompt()), opening_message: Type.Optional(openingMessage()), ...OPTIONAL,
}, closed);
export type UpdateAgent = Static<typeof UpdateAgent>;

export const ListAgents = Type.Object({ ...PAGE_PARAMETERS }, closed);

export const AgentVersion = Type.Object({ object: Type.Literal('agent_version'), agent_id: Type.String(), version: Type.Integer(), ...BODY, created_at: Timestamp });
export type AgentVersion = Static<typeof AgentVersion>;

/** What a call may change of its agent, for itself. */
export const Overrides = Type.Object({
  opening_message: Type.Optional(openingMessage()),
  system_prompt: Type.Optional(systemPrompt()),
  language: Type.Optional(language('BCP 47.')),
}, closed);
export type Overrides = Static<typeof Overrides>;
