import { createHmac } from 'node:crypto';
import { Agent, request } from 'undici';
import type { AddressGuard } from './address-guard.ts';

/** How one POST to a webhook went. */
export interface PostResult {
  /** null: nothing answered. */
  responseStatus: number | null;
  /** Status line or transport error; never the receiver's body. Empty on success. */
  error: string;
  durationMs: number;
  succeeded: boolean;
  mayRetry: boolean;
}

export interface WebhookPost {
  url: string;
  body: string;
  secret: string | undefined;
  event: string;
  attempt: number;
  deliveryId: string;
  at: Date;
}

const RESPONSE_WAIT_MS = 8000;
/** What we read of an answer before we hang up: none of it is used. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** Sends one delivery: signed over the raw bytes, 8 s, no redirects, to a checked address only. Never throws. */
export async function postWebhook(post: WebhookPost, guard: AddressGuard, now: () => number): Promise<PostResult> {
  const url = new URL(post.url);
  const startedAt = now();
  const failed = (error: string, mayRetry: boolean): PostResult => ({ responseStatus: null, error, durationMs: Math.round(now() - startedAt), succeeded: false, mayRetry });
  if (guard.isUnsafeLiteral(url)) return failed('unsafe_webhook_url', false);
  const agent = new Agent({ connect: { lookup: guard.lookupFor(url), timeout: RESPONSE_WAIT_MS }, pipelining: 0 });
  try {
    const answer = await request(url, {
      method: 'POST',
      body: post.body,
      headers: headersOf(post),
      dispatcher: agent,
      signal: AbortSignal.timeout(RESPONSE_WAIT_MS),
    });
    await answer.body.dump({ limit: MAX_ANSWER_BYTES }).catch(() => undefined);
    const { statusCode } = answer;
    const succeeded = statusCode >= 200 && statusCode < 300;
    return {
      responseStatus: statusCode,
      error: succeeded ? '' : `HTTP ${statusCode}`,
      durationMs: Math.round(now() - startedAt),
      succeeded,
      mayRetry: statusCode === 408 || statusCode === 429 || statusCode >= 500,
    };
  } catch (error) {
    const fault = error as { code?: string; name?: string; message?: string };
    if (fault.code === 'UNSAFE_ADDRESS') return failed('unsafe_webhook_url', false);
    return failed(fault.name === 'TimeoutError' ? `no answer within ${RESPONSE_WAIT_MS / 1000} s` : (fault.code ?? fault.message ?? 'failed'), true);
  } finally {
    await agent.destroy();
  }
}

function headersOf(post: WebhookPost): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': 'Wirevoice-Webhook/1',
    'X-Service-Event': post.event,
    'X-Service-Delivery-Attempt': String(post.attempt),
    'X-Service-Delivery-Id': post.deliveryId,
    'X-Service-Timestamp': post.at.toISOString(),
    ...(post.secret === undefined ? {} : { 'X-Service-Signature': createHmac('sha256', post.secret).update(post.body).digest('hex') }),
  };
}
