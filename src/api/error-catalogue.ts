/** The one catalogue of errors: every `code` the API can answer, with its type, status and meaning. The documentation is made from it. */

export type ErrorType =
  | 'invalid_request_error' | 'authentication_error' | 'permission_error' | 'rate_limit_error'
  | 'insufficient_credits' | 'not_found_error' | 'conflict_error' | 'api_error';

export interface ErrorEntry { type: ErrorType; status: number; meaning: string }

export const CATALOGUE = {
  missing_parameter: invalid(400, 'A required field or query parameter is absent.'),
  invalid_parameter: invalid(400, 'A field or query parameter has a value outside its type or bounds.'),
  unknown_parameter: invalid(400, 'A field or query parameter that this route does not know.'),
  invalid_id: invalid(400, 'An id that is not 24 lowercase hexadecimal characters.'),
  invalid_json: invalid(400, 'The body is not JSON.'),
  invalid_cursor: invalid(400, 'A cursor that this list, with these filters, did not issue.'),
  conflicting_cursors: invalid(400, 'starting_after and ending_before together.'),
  invalid_version: invalid(400, 'A Service-Version that does not exist.'),
  invalid_metadata: invalid(400, 'metadata must be flat: string to string, at most 50 keys of 40 and values of 500 characters.'),
  invalid_phone_number: invalid(400, 'Not a phone number in E.164 form, such as +14155550100.'),
  unknown_model: invalid(400, 'A model that no configured engine has.'),
  conflicting_voice: invalid(400, 'A voice is either a composed pipeline (stt, llm, tts) or a realtime model, never both.'),
  unsupported_language: invalid(400, 'No configured engine speaks the agent\'s language.'),
  unknown_scope: invalid(400, 'A scope that does not exist.'),
  unknown_event: invalid(400, 'An event id that does not exist.'),
  unsafe_webhook_url: invalid(400, 'The address is loopback, link-local, private or reserved.'),
  unsafe_url: invalid(400, 'The address is loopback, link-local, private or reserved, or is no http(s) address.'),
  unsafe_audio_url: invalid(400, 'An audio address that is not public https.'),
  audio_fetch_failed: invalid(400, 'The recording could not be fetched from its address.'),
  unsupported_recording_format: invalid(400, 'A recording that is none of mp3, wav, m4a, ogg, webm and flac.'),
  recording_too_short: invalid(400, 'A recording with less speech than the provider needs.'),
  too_many_recordings: invalid(400, 'More recordings than the provider takes.'),
  consent_required: invalid(400, 'consent must be true: the speaker has agreed to the cloning.'),
  no_outbound_number: invalid(400, 'Neither the call nor its agent names a number to call from.'),
  invalid_csv: invalid(400, 'The CSV cannot be read: no header row, or a row that does not fit it.'),
  unsupported_document: invalid(400, 'A document that is none of txt, md, html, pdf, docx and csv.'),
  method_not_allowed: invalid(405, 'The path exists, but not with this method; Allow lists those it has.'),
  request_timeout: invalid(408, 'The request did not arrive in full in time.'),
  body_too_large: invalid(413, 'The body is larger than this route takes.'),
  recording_too_large: invalid(413, 'A recording is larger than 10 MB.'),
  unsupported_media_type: invalid(415, 'The body must be sent as application/json, or as another media type that the route names.'),
  range_not_satisfiable: invalid(416, 'The range lies outside the recording.'),
  headers_too_large: invalid(431, 'The headers are larger than 16 KiB.'),
  missing_api_key: entry('authentication_error', 401, 'No Authorization: Bearer header.'),
  invalid_api_key: entry('authentication_error', 401, 'The API key does not exist.'),
  revoked_api_key: entry('authentication_error', 401, 'The API key was revoked.'),
  expired_api_key: entry('authentication_error', 401, 'The API key has expired, or was rotated more than 24 hours ago.'),
  invalid_credentials: entry('authentication_error', 401, 'E-mail and password do not match.'),
  invalid_calendar_token: entry('authentication_error', 401, 'The address of the calendar feed is wrong, or was revoked.'),
  insufficient_credits: entry('insufficient_credits', 402, 'Not enough credit. Top up, or lower the amount.'),
  missing_scope: entry('permission_error', 403, 'The key lacks the scope that this route needs.'),
  scope_escalation: entry('permission_error', 403, 'A key cannot give scopes that it does not hold.'),
  key_mode_mismatch: entry('permission_error', 403, 'A live key named a test object, or the other way round.'),
  destination_not_allowed: entry('permission_error', 403, 'This installation does not call that destination.'),
  invalid_csrf_token: entry('permission_error', 403, 'A change made with a session cookie needs its X-CSRF-Token header.'),
  operator_only: entry('permission_error', 403, 'Only an operator of the installation does this.'),
  route_not_found: entry('not_found_error', 404, 'No such path.'),
  agent_not_found: missing('agent'),
  api_key_not_found: missing('API key'),
  call_not_found: missing('call'),
  phone_number_not_found: missing('phone number'),
  sip_trunk_not_found: missing('SIP trunk'),
  knowledge_base_not_found: missing('knowledge base'),
  knowledge_document_not_found: missing('document'),
  lead_not_found: missing('lead'),
  campaign_not_found: missing('campaign'),
  appointment_not_found: missing('appointment'),
  calendar_not_found: missing('calendar address'),
  voice_not_found: missing('voice'),
  mcp_server_not_found: missing('MCP server'),
  realtime_session_not_found: missing('realtime session'),
  top_up_not_found: missing('top-up'),
  account_not_found: missing('account'),
  recording_not_found: entry('not_found_error', 404, 'The call has no recording.'),
  agent_in_use: conflict('A live call or a running campaign uses the agent.'),
  phone_number_in_use: conflict('A live call uses the phone number.'),
  sip_trunk_in_use: conflict('A live call or a phone number uses the trunk.'),
  phone_number_exists: conflict('The phone number is already in this installation.'),
  api_key_already_rotated: conflict('The key was rotated before; rotate its replacement.'),
  api_key_revoked: conflict('A revoked or expired key cannot be rotated.'),
  call_in_progress: conflict('The call is live; hang it up first.'),
  call_not_in_progress: conflict('The call has ended.'),
  lead_exists: conflict('A lead with this phone number exists.'),
  campaign_in_progress: conflict('The campaign is running; stop or pause it first.'),
  invalid_campaign_state: conflict('The campaign\'s status does not allow this.'),
  appointment_canceled: conflict('A canceled appointment cannot be moved or revived; book another.'),
  slot_taken: conflict('Another appointment overlaps this one.'),
  no_trunk: conflict('No SIP trunk can carry the call.'),
  voice_limit_reached: conflict('The account has its maximum number of voices.'),
  knowledge_base_in_use: conflict('An agent uses the knowledge base.'),
  knowledge_base_full: conflict('The knowledge base holds as many documents, passages or unread uploads as it can.'),
  mcp_server_in_use: conflict('An agent uses the MCP server.'),
  document_not_failed: conflict('Only a document that failed can be tried again.'),
  dtmf_not_possible: conflict('The far end of this call takes no keys.'),
  transfer_not_possible: conflict('Only an answered telephone call can be transferred.'),
  account_exists: conflict('An account with this e-mail address exists.'),
  setup_done: conflict('The first account has been set up already.'),
  idempotency_key_reused: conflict('The Idempotency-Key was used with another body.'),
  idempotency_in_progress: conflict('The first request with this Idempotency-Key is still running.'),
  webhook_not_configured: conflict('No webhook URL is set.'),
  rate_limited: entry('rate_limit_error', 429, 'Too many requests; wait Retry-After seconds.'),
  concurrency_limit: entry('rate_limit_error', 429, 'No place for another call at once.'),
  internal_error: entry('api_error', 500, 'A fault of the service; the request id finds it in the log.'),
  provider_error: entry('api_error', 502, 'An engine or provider answered with an error.'),
  service_unavailable: entry('api_error', 503, 'The service, or its database, cannot answer right now.'),
  cloning_unavailable: entry('api_error', 503, 'Voice cloning is temporarily unavailable, or no provider is configured; nothing was charged.'),
  payments_not_configured: entry('api_error', 503, 'No payment provider is configured.'),
  encoder_unavailable: entry('api_error', 503, 'No encoder for this format is installed here.'),
  transfer_unavailable: entry('api_error', 503, 'This installation cannot transfer calls.'),
  dialling_unavailable: entry('api_error', 503, 'This installation cannot place calls.'),
} satisfies Record<string, ErrorEntry>;

function entry(type: ErrorType, status: number, meaning: string): ErrorEntry {
  return { type, status, meaning };
}

function invalid(status: number, meaning: string): ErrorEntry {
  return entry('invalid_request_error', status, meaning);
}

function missing(what: string): ErrorEntry {
  return entry('not_found_error', 404, `No such ${what} in this account.`);
}

function conflict(meaning: string): ErrorEntry {
  return entry('conflict_error', 409, meaning);
}
