import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError, errorBody } from './errors.ts';

/** What came on a connection is no request: there is no route and no reply yet, so the answer is written by hand and the connection ends. */
export function answerClientError(fault: { code?: string }, socket: Duplex, headers: Readonly<Record<string, string>>, docsUrl: string): void {
  if (fault.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const error = toApiError(fault.code);
  const body = JSON.stringify(errorBody(error, headers['Request-Id'] ?? '', docsUrl));
  const lines = Object.entries({ ...headers, 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': String(Buffer.byteLength(body)), Connection: 'close' });
  socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`, () => socket.destroy());
}

function toApiError(code: string | undefined): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW') return new ApiError('headers_too_large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ApiError('request_timeout');
  return new ApiError('invalid_parameter', 'The request is not well-formed HTTP.');
}
