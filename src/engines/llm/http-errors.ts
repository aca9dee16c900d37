import { EngineError } from '../engine.ts';

/** Longest part of a vendor's own words that goes into an error. */
const MAX_REASON_CHARS = 300;

/** What an HTTP status other than 200 means for the call; `body` is the start of what came with it. */
export function statusError(status: number, body: string, secret: string): EngineError {
  const reason = withoutSecret(reasonOf(body), secret);
  const say = (what: string): string => `The language model's server ${what} (HTTP ${status}): ${reason}`;
  if (status === 401 || status === 403) return new EngineError('auth', `${say('refused our key')}. Check the key and what it may use`, { retry: false });
  if (status === 429) return new EngineError('rate', say('is asked too often or the quota is spent'), { retry: true });
  if (status === 408 || status === 504) return new EngineError('timeout', say('took too long'), { retry: true });
  if (status >= 500) return new EngineError('internal', say('failed'), { retry: true });
  return new EngineError('invalid', say('refused the request'), { retry: false });
}

/** What a thrown fetch means: DNS, refused connection, TLS, a reset. */
export function networkError(cause: unknown, phase: 'connect' | 'stream', secret: string): EngineError {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const reason = withoutSecret(inner instanceof Error ? inner.message : String(inner), secret);
  if (phase === 'connect') return new EngineError('connect', `Cannot reach the language model's server: ${reason}. Check the base URL`, { retry: true });
  return new EngineError('closed', `The language model's server broke off its reply: ${reason}`, { retry: true });
}

function reasonOf(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body);
    const message = (parsed as { error?: { message?: unknown } } | null)?.error?.message;
    if (typeof message === 'string') return message.slice(0, MAX_REASON_CHARS);
  } catch {
    // Not JSON: the text itself is the reason.
  }
  return body.slice(0, MAX_REASON_CHARS).replace(/\s+/g, ' ').trim() || 'no reason given';
}

/** Some servers repeat the key they refuse. */
function withoutSecret(text: string, secret: string): string {
  return secret === '' ? text : text.replaceAll(secret, '[key]');
}
