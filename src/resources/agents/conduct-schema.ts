import Type, { type Static } from 'typebox';
import { Json, Nullable, NullableString, OneOf } from '../../api/schemas.ts';

/** How an agent behaves in a call besides what it says: hand-over, machines, silence, recording, afterwards. */

const closed = { additionalProperties: false };

export const SilenceInput = Type.Object({
  reminder_after_ms: Type.Optional(Type.Integer({ minimum: 1000, maximum: 600_000 })),
  reminder_text: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
  max_reminders: Type.Optional(Type.Integer({ minimum: 0, maximum: 10 })),
  hang_up_after_ms: Type.Optional(Type.Integer({ minimum: 1000, maximum: 600_000 })),
}, closed);
export const Silence = Type.Object({ reminder_after_ms: Type.Integer(), reminder_text: Type.String(), max_reminders: Type.Integer(), hang_up_after_ms: Type.Integer() });

export const RecordingInput = Type.Object({
  enabled: Type.Optional(Type.Boolean()),
  channels: Type.Optional(OneOf(['stereo', 'mono'])),
  consent_message: Type.Optional(Nullable(Type.String({ maxLength: 500, description: 'Said before the opening message.' }))),
}, closed);
export const Recording = Type.Object({ enabled: Type.Boolean(), channels: OneOf(['stereo', 'mono']), consent_message: NullableString });

const TRANSFER_MODES = ['cold', 'warm'] as const;
const DestinationInput = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100, description: 'How the agent and its prompt call it; unlike any other destination\'s.' }),
  to: Type.String({
    pattern: '^(\\+[1-9][0-9]{1,14}|sips?:[^\\s@<>"]{1,64}@[^\\s@<>"]{1,180}|[A-Za-z0-9._-]{1,64})$',
    description: 'A number in E.164, a sip: address, or the user of a trunk that registers here.',
  }),
  mode: Type.Optional(OneOf(TRANSFER_MODES, { description: 'cold (default): handed over at once. warm: the agent speaks to the human first.' })),
  whisper: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 500, description: 'Said to the human before a warm transfer; merge fields.' }))),
}, closed);
export const TransferInput = Type.Object({ destinations: Type.Optional(Type.Array(DestinationInput, { maxItems: 20 })) }, closed);
export type TransferInput = Static<typeof TransferInput>;
export const Transfer = Type.Object({
  destinations: Type.Array(Type.Object({ name: Type.String(), to: Type.String(), mode: OneOf(TRANSFER_MODES), whisper: NullableString })),
});
export type Transfer = Static<typeof Transfer>;

const VOICEMAIL_ACTIONS = ['hang_up', 'leave_message', 'continue'] as const;
export const VoicemailInput = Type.Object({
  action: Type.Optional(OneOf(VOICEMAIL_ACTIONS, { description: 'What to do when a machine answers; hang_up when absent.' })),
  message: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 1000, description: 'Required for leave_message; merge fields.' }))),
}, closed);
export type VoicemailInput = Static<typeof VoicemailInput>;
export const Voicemail = Type.Object({ action: OneOf(VOICEMAIL_ACTIONS), message: NullableString });
export type Voicemail = Static<typeof Voicemail>;

export const BACKGROUND_SOUNDS = ['office', 'call_center', 'cafe', 'street'] as const;
export const PII_KINDS = ['name', 'phone_number', 'email', 'address', 'date_of_birth', 'card_number', 'bank_account', 'national_id'] as const;
export const Redaction = Type.Object({
  pii: Type.Array(OneOf(PII_KINDS), { uniqueItems: true, description: 'What is struck out of transcripts before they are kept.' }),
}, closed);

export const Pronunciation = Type.Object({
  text: Type.String({ minLength: 1, maxLength: 100, description: 'As it is written; whole words, whatever their case.' }),
  say_as: Type.String({ minLength: 1, maxLength: 200, description: 'What is said instead.' }),
}, closed);

export const AnalysisInput = Type.Object({
  summary: Type.Optional(Type.Boolean({ description: 'true when absent.' })),
  success_criteria: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 2000, description: 'What a successful call is, in words.' }))),
  schema: Type.Optional(Nullable(Type.Unsafe<Record<string, unknown>>({ ...Json, description: 'JSON Schema of what is to be drawn from the call, an object; at most 8 KiB and 10 levels.' }))),
}, { ...closed, description: 'Run after the call; null: none.' });
export type AnalysisInput = Static<typeof AnalysisInput>;
export const Analysis = Type.Object({ summary: Type.Boolean(), success_criteria: NullableString, schema: Nullable(Json) });
export type Analysis = Static<typeof Analysis>;
