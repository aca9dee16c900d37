import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { Id, Nullable, NullableInteger, NullableString, OneOf, Timestamp, Variables } from '../../api/schemas.ts';
import { Booking, BookingInput } from './booking-schema.ts';
import {
  Analysis, AnalysisInput, BACKGROUND_SOUNDS, Pronunciation, Recording, RecordingInput, Redaction, Silence, SilenceInput, Transfer, TransferInput, Voicemail, VoicemailInput,
} from './conduct-schema.ts';
import { MAX_TOOLS, Tool, ToolInput } from './tools-schema.ts';
import { Fallbacks, FallbacksInput, language, Voice, VoiceInput } from './voice-schema.ts';

export { VoiceInput, type Voice } from './voice-schema.ts';

const closed = { additionalProperties: false };
const MAX_MCP_SERVERS = 10;

/** An agent's body: what its `definition` column holds. */
const BODY = {
  name: Type.String(),
  system_prompt: Type.String(),
  opening_message: Type.String(),
  description: NullableString,
  voice: Voice,
  fallbacks: Fallbacks,
  latency_budget_ms: NullableInteger,
  language: Type.String(),
  timezone: Type.String(),
  knowledge_base_id: NullableString,
  mcp_server_ids: Type.Array(Type.String()),
  tools: Type.Array(Tool),
  outbound_phone_number_id: NullableString,
  transfer: Transfer,
  voicemail: Voicemail,
  appointment_booking_enabled: Type.Boolean(),
  booking: Booking,
  protect_opening: Type.Boolean(),
  silence: Silence,
  max_duration_seconds: Type.Integer(),
  recording: Recording,
  redaction: Redaction,
  keyterms: Type.Array(Type.String()),
  pronunciations: Type.Array(Pronunciation),
  background_sound: Nullable(OneOf(BACKGROUND_SOUNDS)),
  variables: Variables,
  analysis: Nullable(Analysis),
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
  fallbacks: Type.Optional(Nullable(FallbacksInput)),
  latency_budget_ms: Type.Optional(Nullable(Type.Integer({ minimum: 300, maximum: 10_000, description: 'How long an answer may take before the call\'s log notes it; null (default): no budget.' }))),
  language: Type.Optional(Nullable(language('BCP 47 such as en-US, the default.'))),
  timezone: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 64, description: 'IANA name; UTC when absent. What {{date}} means.' }))),
  knowledge_base_id: Type.Optional(Nullable(Id('Facts the agent can draw on.'))),
  mcp_server_ids: Type.Optional(Nullable(Type.Array(Id('MCP server whose tools the agent can use.'), { maxItems: MAX_MCP_SERVERS, uniqueItems: true }))),
  tools: Type.Optional(Nullable(Type.Array(ToolInput, {
    maxItems: MAX_TOOLS,
    description: 'Built-in tools to switch on or off, and http tools. Without an entry a call has end_call, transfer_call where there are destinations, search_knowledge where there is a knowledge base, and the booking tools where booking is enabled.',
  }))),
  outbound_phone_number_id: Type.Optional(Nullable(Id('Number its calls show.'))),
  transfer: Type.Optional(Nullable(TransferInput)),
  voicemail: Type.Optional(Nullable(VoicemailInput)),
  appointment_booking_enabled: Type.Optional(Nullable(Type.Boolean({ description: 'false (default) removes the booking tools from its calls whatever `tools` says.' }))),
  booking: Type.Optional(Nullable(BookingInput)),
  protect_opening: Type.Optional(Nullable(Type.Boolean({ description: 'The opening message cannot be interrupted.' }))),
  silence: Type.Optional(Nullable(SilenceInput)),
  max_duration_seconds: Type.Optional(Nullable(Type.Integer({ minimum: 30, maximum: 14_400 }))),
  recording: Type.Optional(Nullable(RecordingInput)),
  redaction: Type.Optional(Nullable(Redaction)),
  keyterms: Type.Optional(Nullable(Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 100, uniqueItems: true, description: 'Words the speech recognition is to expect.' }))),
  pronunciations: Type.Optional(Nullable(Type.Array(Pronunciation, { maxItems: 200 }))),
  background_sound: Type.Optional(Nullable(OneOf(BACKGROUND_SOUNDS, { description: 'Played softly behind the agent; null (default): none.' }))),
  variables: Type.Optional(Nullable(Variables)),
  analysis: Type.Optional(Nullable(AnalysisInput)),
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
export const AgentVersionList = listOf(AgentVersion);

/** What a call may change of its agent's words, for itself. */
export const Overrides = Type.Object({
  opening_message: Type.Optional(openingMessage()),
  system_prompt: Type.Optional(systemPrompt()),
  language: Type.Optional(language('BCP 47.')),
}, closed);
export type Overrides = Static<typeof Overrides>;
