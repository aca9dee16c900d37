import { ApiError } from '../../api/errors.ts';
import type { AppContext } from '../../context.ts';
import { CloningError } from './cloning.ts';

export const CLONE_LIMIT_MS = 60_000;
export const PROVIDER_LIMIT_MS = 20_000;

/** Asks a provider something, for `limitMs` at most. Throws CloningError, whatever it threw or when it says nothing. */
export function askProvider<Result>({ clock, log }: Pick<AppContext, 'clock' | 'log'>, question: string, limitMs: number, ask: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const limit = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const cancel = clock.after(limitMs, () => {
    const late = new CloningError(`no answer within ${limitMs / 1000} s`, { refused: false });
    reject(late);
    limit.abort(late);
  });
  new Promise<Result>((settle) => { settle(ask(limit.signal)); }).then(resolve, reject);
  return promise.catch((error: unknown) => {
    log.warn({ question, error: String(error) }, 'a provider of cloned voices failed');
    throw error instanceof CloningError ? error : new CloningError('an unexpected failure', { refused: false, cause: error });
  }).finally(cancel);
}

/** What a client is told of a provider's failure. */
export function unavailable(message?: string): ApiError {
  return new ApiError('cloning_unavailable', message, { retryAfterSeconds: 30 });
}
