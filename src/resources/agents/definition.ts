import { ApiError } from '../../api/errors.ts';
import { DEFAULT_BOOKING, fillBooking } from './booking.ts';
import type { Analysis, AnalysisInput, Transfer, TransferInput, Voicemail, VoicemailInput } from './conduct-schema.ts';
import type { EngineCatalogue } from './engine-catalogue.ts';
import { requireObjectSchema } from './json-schema.ts';
import type { AgentDefinition, CreateAgent, UpdateAgent } from './schema.ts';
import { requireTimezone } from './timezone.ts';
import type { Tool } from './tools-schema.ts';
import { fillFallbacks, fillVoice } from './voice.ts';

type Required = 'name' | 'system_prompt' | 'opening_message' | 'voice';

const DEFAULTS: Omit<AgentDefinition, Required> = {
  description: null,
  fallbacks: { stt: [], llm: [], tts: [], realtime: [] },
  latency_budget_ms: null,
  language: 'en-US',
  timezone: 'UTC',
  knowledge_base_id: null,
  mcp_server_ids: [],
  tools: [],
  outbound_phone_number_id: null,
  transfer: { destinations: [] },
  voicemail: { action: 'hang_up', message: null },
  appointment_booking_enabled: false,
  booking: DEFAULT_BOOKING,
  protect_opening: false,
  silence: { reminder_after_ms: 10_000, reminder_text: 'Are you still there?', max_reminders: 1, hang_up_after_ms: 30_000 },
  max_duration_seconds: 3600,
  recording: { enabled: true, channels: 'stereo', consent_message: null },
  redaction: { pii: [] },
  keyterms: [],
  pronunciations: [],
  background_sound: null,
  variables: {},
  analysis: null,
};

/** An agent stored before a field existed has that field's default. */
export function withDefaults(stored: AgentDefinition): AgentDefinition {
  return { ...DEFAULTS, ...stored };
}

/** Fills in what a body leaves open. Throws ApiError as `changeDefinition` does. */
export function newDefinition(engines: EngineCatalogue, body: CreateAgent, tools: Tool[]): AgentDefinition {
  const { name, system_prompt, opening_message } = body;
  const language = body.language ?? DEFAULTS.language;
  const start = { ...DEFAULTS, name, system_prompt, opening_message, language, voice: fillVoice(body.voice, language, engines) };
  return changeDefinition(engines, start, body, tools);
}

/**
 * Puts what was sent in its place: objects whole, null as the default.
 * Throws ApiError `conflicting_voice`, `unknown_model`, `missing_parameter`, `invalid_parameter`.
 */
export function changeDefinition(engines: EngineCatalogue, before: AgentDefinition, body: UpdateAgent, tools: Tool[]): AgentDefinition {
  if (body.timezone) requireTimezone(body.timezone, 'timezone');
  const { language, voice, fallbacks, silence, recording, transfer, voicemail, booking, analysis, tools: _tools, ...plain } = body;
  const spoken = language === null ? DEFAULTS.language : (language ?? before.language);
  const fillings = {
    ...filled({ fallbacks }, (given) => fillFallbacks(given, engines)),
    ...filled({ silence }, (given) => ({ ...DEFAULTS.silence, ...given })),
    ...filled({ recording }, (given) => ({ ...DEFAULTS.recording, ...given })),
    ...filled({ transfer }, fillTransfer),
    ...filled({ voicemail }, fillVoicemail),
    ...filled({ booking }, fillBooking),
    ...filled({ analysis }, fillAnalysis),
  };
  return {
    ...before,
    ...withoutNulls(plain),
    ...fillings,
    tools,
    language: spoken,
    voice: voice === undefined ? followLanguage(before, spoken) : fillVoice(voice, spoken, engines),
  };
}

/** A field that was sent, filled in; null is the default. */
function filled<Name extends keyof typeof DEFAULTS, Input, Filled>(field: Partial<Record<Name, Input | null | undefined>>, fill: (given: Input) => Filled): Partial<Record<Name, Filled>> {
  const [[name, given] = []] = Object.entries(field) as [Name, Input | null | undefined][];
  if (name === undefined || given === undefined) return {};
  return { [name]: given === null ? DEFAULTS[name] : fill(given) } as Partial<Record<Name, Filled>>;
}

/** Null means the default, and an absent field changes nothing. */
function withoutNulls<Body extends object>(body: Body): { [Key in keyof Body]: Exclude<Body[Key], null> } {
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, value === null ? DEFAULTS[name as keyof typeof DEFAULTS] : value])) as { [Key in keyof Body]: Exclude<Body[Key], null> };
}

/** A voice that was filled in with the agent's language follows it. */
function followLanguage({ voice, language: before }: AgentDefinition, language: string): AgentDefinition['voice'] {
  return voice.stt?.language === before ? { ...voice, stt: { ...voice.stt, language } } : voice;
}

function fillTransfer({ destinations = [] }: TransferInput): Transfer {
  const repeated = destinations.findIndex(({ name }, index) => destinations.slice(0, index).some((other) => other.name === name));
  if (repeated !== -1) throw new ApiError('invalid_parameter', 'Each destination needs a name of its own.', { param: `transfer.destinations[${repeated}].name` });
  return { destinations: destinations.map(({ name, to, mode = 'cold', whisper = null }) => ({ name, to, mode, whisper })) };
}

function fillVoicemail({ action = 'hang_up', message = null }: VoicemailInput): Voicemail {
  if (action === 'leave_message' && message === null) throw new ApiError('missing_parameter', 'voicemail.message is required to leave a message.', { param: 'voicemail.message' });
  return { action, message };
}

function fillAnalysis({ summary = true, success_criteria = null, schema = null }: AnalysisInput): Analysis {
  if (schema !== null) requireObjectSchema(schema, 'analysis.schema');
  return { summary, success_criteria, schema };
}
