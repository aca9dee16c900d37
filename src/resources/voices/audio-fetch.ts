import { Agent, request, type Dispatcher } from 'undici';
import { ApiError } from '../../api/errors.ts';
import type { AddressGuard } from '../../events/address-guard.ts';
import { MAX_RECORDING_BYTES } from './recording.ts';

const CONNECT_LIMIT_MS = 8000;
const FETCH_LIMIT_MS = 30_000;

/** Throws ApiError `unsafe_audio_url` for what is no public https address. A name that does not resolve now passes: fetching fails then. */
export async function requireSafeUrl(text: string, guard: AddressGuard, param: string): Promise<void> {
  const url = new URL(text);
  const fault = url.protocol === 'https:' || guard.allows(url) ? await guard.fault(text) : 'must be an https address';
  if (fault !== undefined) throw new ApiError('unsafe_audio_url', `${param} ${fault}.`, { param });
}

/**
 * Fetches a recording once, from a checked address only: no redirects, 8 s to connect, 30 s in all, 10 MB counted as they come.
 * Throws ApiError `unsafe_audio_url`, `audio_fetch_failed`, `recording_too_large`.
 */
export async function fetchRecording(text: string, guard: AddressGuard, param: string): Promise<Buffer> {
  const url = new URL(text);
  const failed = (why: string, cause?: unknown): ApiError => new ApiError('audio_fetch_failed', `${param} could not be fetched: ${why}.`, { param, cause });
  if (guard.isUnsafeLiteral(url)) throw unsafe(param);
  const agent = new Agent({ connect: { lookup: guard.lookupFor(url), timeout: CONNECT_LIMIT_MS }, pipelining: 0 });
  try {
    const answer = await request(url, {
      method: 'GET', dispatcher: agent, signal: AbortSignal.timeout(FETCH_LIMIT_MS),
      headers: { accept: 'audio/*, */*;q=0.1', 'accept-encoding': 'identity', 'user-agent': 'Wirevoice-Recordings/1' },
    });
    const { statusCode } = answer;
    if (statusCode >= 300 && statusCode < 400) throw failed(`it answers ${statusCode}, and redirects are not followed`);
    if (statusCode !== 200) throw failed(`it answers ${statusCode}`);
    return await readBody(answer, param);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const { code, name } = error as { code?: string; name?: string };
    if (code === 'UNSAFE_ADDRESS') throw unsafe(param);
    throw failed(name === 'TimeoutError' ? `no end within ${FETCH_LIMIT_MS / 1000} s` : 'it cannot be reached, or broke off', error);
  } finally {
    await agent.destroy();
  }
}

async function readBody({ headers, body }: Dispatcher.ResponseData, param: string): Promise<Buffer> {
  const tooLarge = (): ApiError => new ApiError('recording_too_large', `${param} is larger than 10 MB.`, { param });
  // What is left unread is dropped with the connection; that it was is no fault of anybody's.
  body.on('error', () => undefined);
  if (Number(headers['content-length'] ?? 0) > MAX_RECORDING_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_RECORDING_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function unsafe(param: string): ApiError {
  return new ApiError('unsafe_audio_url', `${param} leads to an address that is not public.`, { param });
}
