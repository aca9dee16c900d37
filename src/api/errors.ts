import { CATALOGUE, type ErrorEntry, type ErrorType } from './error-catalogue.ts';

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
