import Type, { type Static } from 'typebox';
import { DateTime, Id, Json, Metadata, Nullable, NullableInteger, NullableString, NullableTimestamp, OneOf, Timestamp, Variables } from '../../api/schemas.ts';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { END_REASONS } from '../../end-reason.ts';

export const DIRECTIONS = ['inbound', 'outbound', 'realtime'] as const;
export const STATUSES = ['queued', 'dialing', 'ringing', 'in_progress', 'transferring', 'completed', 'busy', 'no_answer', 'failed', 'canceled'] as const;
export const OUTCOMES = ['conversation', 'voicemail', 'transferred', 'appointment_booked', 'no_conversation', 'not_connected'] as const;
/** A call in one of these has not ended. */
export const LIVE_STATUSES = ['queued', 'dialing', 'ringing', 'in_progress', 'transferring'] as const;

const Percentiles = Type.Object({ p50: Type.Number(), p95: Type.Number(), max: Type.Number(), count: Type.Integer() });
const Latency = Type.Object({
  voice_to_voice: Percentiles, endpointing: Percentiles, stt: Percentiles, llm: Percentiles, tts: Percentiles,
  answer_to_first_audio_ms: Type.Union([Type.Number(), Type.Null()]),
});
const Quality = Type.Object({
  codec: Type.String(), packets_lost_pct: Type.Number(), jitter_ms: Type.Number(), rtt_ms: Type.Union([Type.Number(), Type.Null()]), mos: Type.Number(),
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
  test: Type.Boolean(),
  created_at: Timestamp,
  ringing_at: NullableTimestamp,
  answered_at: NullableTimestamp,
  ended_at: NullableTimestamp,
  duration_ms: NullableInteger,
  billable_seconds: NullableInteger,
  answered_by: NullableString,
  recording: Type.Object({ available: Type.Boolean(), channels: NullableString, duration_ms: NullableInteger }),
  transcript_available: Type.Boolean(),
  latency: Nullable(Latency),
  quality: Nullable(Quality),
  interruptions: Type.Object({ by_caller: Type.Integer(), false_alarms: Type.Integer() }),
  cost_micros: Type.Integer(),
  sip: Nullable(Type.Object({ call_id: Type.String(), response_code: NullableInteger, reason: NullableString })),
});
export type Call = Static<typeof Call>;
export const CallList = listOf(Call);

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
  tool: Type.Optional(Type.Object({ name: Type.String(), arguments: Json, result: Type.String() })),
});
export type TranscriptItem = Static<typeof TranscriptItem>;
export const Transcript = Type.Object({ object: Type.Literal('call_transcript'), call_id: Type.String(), items: Type.Array(TranscriptItem) });

export const LogEntry = Type.Object({ at: Timestamp, source: Type.String(), event: Type.String(), detail: Type.Optional(Json) });
export type LogEntry = Static<typeof LogEntry>;
export const CallLog = Type.Object({ object: Type.Literal('call_log'), call_id: Type.String(), entries: Type.Array(LogEntry) });

export const RecordingQuery = Type.Object({
  format: Type.Optional(OneOf(['wav'], { description: 'The recording as it was written: 16 kHz PCM16 stereo, caller left, agent right.' })),
}, { additionalProperties: false });
