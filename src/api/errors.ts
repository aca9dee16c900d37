/** The one catalogue of errors: every `code` the API can answer, with its type, status and meaning. */

export type ErrorType =
  | 'invalid_request_error' | 'authentication_error' | 'permission_error' | 'rate_limit_error'
  | 'insufficient_credits' | 'not_found_error' | 'conflict_error' | 'api_error';

interface ErrorEntry { type: ErrorType; status: number; meaning: string }

const CATALOGUE = {
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
  method_not_allowed: invalid(405, 'The path exists, but not with this method; Allow lists those it has.'),
  body_too_large: invalid(413, 'The body is larger than this route takes.'),
  unsupported_media_type: invalid(415, 'The body must be sent as application/json.'),
  range_not_satisfiable: invalid(416, 'The range lies outside the recording.'),
  missing_api_key: entry('authentication_error', 401, 'No Authorization: Bearer header.'),
  invalid_api_key: entry('authentication_error', 401, 'The API key does not exist.'),
  revoked_api_key: entry('authentication_error', 401, 'The API key was revoked.'),
  expired_api_key: entry('authentication_error', 401, 'The API key has expired, or was rotated more than 24 hours ago.'),
  missing_scope: entry('permission_error', 403, 'The key lacks the scope that this route needs.'),
  scope_escalation: entry('permission_error', 403, 'A key cannot give scopes that it does not hold.'),
  key_mode_mismatch: entry('permission_error', 403, 'A live key named a test object, or the other way round.'),
  invalid_csrf_token: entry('permission_error', 403, 'A change made with a session cookie needs its X-CSRF-Token header.'),
  route_not_found: entry('not_found_error', 404, 'No such path.'),
  agent_not_found: missing('agent'),
  api_key_not_found: missing('API key'),
  call_not_found: missing('call'),
  phone_number_not_found: missing('phone number'),
  sip_trunk_not_found: missing('SIP trunk'),
  knowledge_base_not_found: missing('knowledge base'),
  recording_not_found: entry('not_found_error', 404, 'The call has no recording.'),
  agent_in_use: conflict('A live call uses the agent.'),
  phone_number_in_use: conflict('A live call uses the phone number.'),
  sip_trunk_in_use: conflict('A live call or a phone number uses the trunk.'),
  phone_number_exists: conflict('The phone number is already in this installation.'),
  api_key_already_rotated: conflict('The key was rotated before; rotate its replacement.'),
  api_key_revoked: conflict('A revoked or expired key cannot be rotated.'),
  call_in_progress: conflict('The call is live; hang it up first.'),
  call_not_in_progress: conflict('The call has ended.'),
  webhook_not_configured: conflict('No webhook URL is set.'),
  rate_limited: entry('rate_limit_error', 429, 'Too many requests; wait Retry-After seconds.'),
  concurrency_limit: entry('rate_limit_error', 429, 'No place for another call at once.'),
  internal_error: entry('api_error', 500, 'A fault of the service; the request id finds it in the log.'),
  service_unavailable: entry('api_error', 503, 'The service, or its database, cannot answer right now.'),
} satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof CATALOGUE;

export const ERROR_CATALOGUE: Readonly<Record<ErrorCode, ErrorEntry>> = CATALOGUE;

export interface ErrorOptions {
  /** The field at fault, dotted, arrays with brackets: `leads[3].phone_number`. */
  param?: string;
  /** For 429 and 503. */
  retryAfterSeconds?: number;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** A refusal with its verdict; the message says what happened and what to do. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly type: ErrorType;
  readonly status: number;
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string = CATALOGUE[code].meaning, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.type = CATALOGUE[code].type;
    this.status = CATALOGUE[code].status;
    this.param = options.param;
    const retryAfter = options.retryAfterSeconds ?? (this.status === 503 || this.status === 429 ? 1 : undefined);
    this.headers = { ...options.headers, ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }) };
  }
}

/** The error body of the API. */
export function errorBody(error: ApiError, requestId: string, docsUrl: string): object {
  const { type, code, message, param } = error;
  return { error: { type, code, message, ...(param === undefined ? {} : { param }), doc_url: `${docsUrl}/errors#${code}`, request_id: requestId } };
}

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
