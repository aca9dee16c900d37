import Type, { type Static } from 'typebox';
import { DateTime, Id, Json, Metadata, Nullable, NullableInteger, NullableString, NullableTimestamp, OneOf, PhoneNumber, Timestamp, Variables } from '../../api/schemas.ts';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { END_REASONS } from '../../end-reason.ts';
import { CallOverrides } from './overrides.ts';

const closed = { additionalProperties: false };

export const DIRECTIONS = ['inbound', 'outbound', 'realtime'] as const;
export const STATUSES = ['queued', 'dialing', 'ringing', 'in_progress', 'transferring', 'completed', 'busy', 'no_answer', 'failed', 'canceled'] as const;
export const OUTCOMES = ['conversation', 'voicemail', 'transferred', 'appointment_booked', 'no_conversation', 'not_connected'] as const;
export const TRANSFER_MODES = ['cold', 'warm'] as const;

const Percentiles = Type.Object({ p50: Type.Number(), p95: Type.Number(), max: Type.Number(), count: Type.Integer() });
const Latency = Type.Object({
  voice_to_voice: Percentiles, endpointing: Percentiles, stt: Percentiles, llm: Percentiles, tts: Percentiles,
  answer_to_first_audio_ms: Type.Union([Type.Number(), Type.Null()]),
});
const Quality = Type.Object({
  codec: Type.String(), packets_lost_pct: Type.Number(), jitter_ms: Type.Number(), rtt_ms: Type.Union([Type.Number(), Type.Null()]), mos: Type.Number(),
});

const Transfer = Type.Object({
  destination: Type.String(), mode: OneOf(TRANSFER_MODES), status: OneOf(['in_progress', 'completed', 'failed']), started_at: Timestamp, ended_at: NullableTimestamp,
});

export const Call = Type.Object({
  id: Type.String(),
  object: Type.Literal('call'),
  livemode: Type.Boolean(),
  direction: OneOf(DIRECTIONS),
  transport: OneOf(['sip', 'websocket', 'webrtc']),
  status: OneOf(STATUSES),
  end_reason: Nullable(OneOf(END_REASONS)),
  end_detail: NullableString,
  outcome: Nullable(OneOf(OUTCOMES)),
  agent_id: Type.String(),
  agent_version: Type.Integer(),
  lead_id: NullableString,
  campaign_id: NullableString,
  phone_number_id: NullableString,
  sip_trunk_id: NullableString,
  realtime_session_id: NullableString,
  from: NullableString,
  to: NullableString,
  metadata: Metadata,
  variables: Variables,
  overrides: Nullable(Json),
  ring_timeout_ms: NullableInteger,
  max_duration_seconds: NullableInteger,
  max_cost_micros: NullableInteger,
  test: Type.Boolean({ description: 'Placed by POST /v1/agents/{id}/test-call.' }),
  created_at: Timestamp,
  ringing_at: NullableTimestamp,
  answered_at: NullableTimestamp,
  ended_at: NullableTimestamp,
  duration_ms: NullableInteger,
  billable_seconds: NullableInteger,
  answered_by: Nullable(OneOf(['human', 'voicemail', 'unknown'])),
  transfer: Nullable(Transfer),
  recording: Type.Object({ available: Type.Boolean(), channels: NullableString, duration_ms: NullableInteger }),
  transcript_available: Type.Boolean(),
  analysis: Nullable(Json),
  latency: Nullable(Latency),
  quality: Nullable(Quality),
  interruptions: Type.Object({ by_caller: Type.Integer(), false_alarms: Type.Integer() }),
  cost_micros: Type.Integer(),
  sip: Nullable(Type.Object({ call_id: Type.String(), response_code: NullableInteger, reason: NullableString })),
});
export type Call = Static<typeof Call>;
export const CallList = listOf(Call);

/** What POST /v1/calls takes. */
export const PlaceCall = Type.Object({
  to: PhoneNumber('Whom to call, E.164. In test mode magic numbers choose how the callee behaves.'),
  agent_id: Id('Who talks.'),
  metadata: Type.Optional(Metadata),
  from_phone_number_id: Type.Optional(Id('The number to show; the agent\'s when absent.')),
  lead_id: Type.Optional(Id('The lead that is called; its fields are merge fields.')),
  variables: Type.Optional(Variables),
  overrides: Type.Optional(CallOverrides),
  ring_timeout_ms: Type.Optional(Type.Integer({ minimum: 5000, maximum: 120_000, description: 'How long it may ring; 30000 when absent.' })),
  max_duration_seconds: Type.Optional(Type.Integer({ minimum: 30, maximum: 14_400, description: 'Shortens the agent\'s own limit.' })),
  max_cost_micros: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000_000, description: 'The call ends with cost_limit when it would cost more, micro-USD.' })),
}, closed);
export type PlaceCall = Static<typeof PlaceCall>;

export const TestCall = Type.Object({ to: PlaceCall.properties.to }, closed);

export const ListCallsQuery = Type.Object({
  ...PAGE_PARAMETERS,
  status: Type.Optional(OneOf(STATUSES)),
  direction: Type.Optional(OneOf(DIRECTIONS)),
  agent_id: Type.Optional(Id('Calls of this agent.')),
  lead_id: Type.Optional(Id('Calls of this lead.')),
  campaign_id: Type.Optional(Id('Calls of this campaign.')),
  from: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  to: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  created_after: Type.Optional(DateTime('Created at or after.')),
  created_before: Type.Optional(DateTime('Created before.')),
}, { additionalProperties: false });
export type ListCallsQuery = Static<typeof ListCallsQuery>;

export const TranscriptItem = Type.Object({
  role: OneOf(['agent', 'caller', 'tool']),
  text: Type.String(),
  heard_text: Type.Optional(Type.String()),
  interrupted: Type.Optional(Type.Boolean()),
  started_ms: Type.Integer(),
  ended_ms: Type.Integer(),
  words: Type.Optional(Type.Array(Type.Object({ text: Type.String(), started_ms: Type.Integer(), ended_ms: Type.Integer() }))),
  tool: Type.Optional(Type.Object({ name: Type.String(), arguments: Json, result: Type.String() })),
});
export type TranscriptItem = Static<typeof TranscriptItem>;
export const Transcript = Type.Object({ object: Type.Literal('call_transcript'), call_id: Type.String(), items: Type.Array(TranscriptItem) });

export const LogEntry = Type.Object({ at: Timestamp, source: Type.String(), event: Type.String(), detail: Type.Optional(Json) });
export type LogEntry = Static<typeof LogEntry>;
export const CallLog = Type.Object({ object: Type.Literal('call_log'), call_id: Type.String(), entries: Type.Array(LogEntry) });

export const LogQuery = Type.Object({
  format: Type.Optional(OneOf(['json', 'pcap'], { description: 'pcap: the SIP messages as a capture file, without credentials and media keys; addresses and transport of our side are made up.' })),
}, closed);

export const CHANNELS = ['caller', 'agent', 'mix'] as const;
export type Channel = (typeof CHANNELS)[number];
export const RECORDING_FORMATS = ['wav', 'mp3', 'ogg'] as const;
export type RecordingFormat = (typeof RECORDING_FORMATS)[number];
export const RecordingQuery = Type.Object({
  format: Type.Optional(OneOf(RECORDING_FORMATS, { description: 'wav (the default): 16 kHz PCM16, answers range requests. mp3 and ogg (Opus) are encoded as they are sent.' })),
  channel: Type.Optional(OneOf(CHANNELS, { description: 'One side alone, or both mixed into one channel. Absent: as the agent records, in stereo (the caller left, the agent right) or mono.' })),
}, closed);

export const Say = Type.Object({ text: Type.String({ minLength: 1, maxLength: 1000, pattern: '\\S', description: 'Spoken as it stands once neither side is speaking.' }) }, closed);
export const AddContext = Type.Object({ text: Type.String({ minLength: 1, maxLength: 4000, pattern: '\\S', description: 'What the model is to know from its next reply on; nobody hears it.' }) }, closed);
export const SendDtmf = Type.Object({ digits: Type.String({ pattern: '^[0-9*#A-Dw]{1,32}$', description: 'Keys 0-9, *, #, A-D; w waits half a second.' }) }, closed);
export const TransferCall = Type.Object({
  to: Type.String({ minLength: 1, maxLength: 256, pattern: '^(\\+[1-9][0-9]{1,14}|sips?:[^\\s<>"]{1,250}|[A-Za-z0-9._-]{1,64})$', errorCode: 'invalid_phone_number', description: 'An E.164 number, a sip: URI, or the user of a registered trunk.' }),
  mode: Type.Optional(OneOf(TRANSFER_MODES, { description: 'cold (the default): handed over at once. warm: announced first.' })),
}, closed);
export type TransferCall = Static<typeof TransferCall>;
