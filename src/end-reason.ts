/** Why a call ended. The one list, on both sides of the thread boundary and in the API (`end_reason`). */
export const END_REASONS = [
  'caller_hangup', 'agent_hangup', 'api_hangup', 'campaign_paused', 'transferred', 'voicemail', 'silence_timeout',
  'max_duration', 'busy', 'no_answer', 'declined', 'invalid_destination', 'trunk_unavailable', 'trunk_auth_failed',
  'sip_error', 'media_timeout', 'stt_failed', 'llm_failed', 'tts_failed', 'realtime_failed', 'insufficient_credits',
  'cost_limit', 'concurrency_limit', 'session_not_joined', 'service_shutdown', 'node_lost', 'internal_error',
] as const;

export type EndReason = (typeof END_REASONS)[number];
