/** What becomes of a lead after a call to it. */

/** How a call to a lead went. */
export const ATTEMPT_RESULTS = ['conversation', 'transferred', 'appointment_booked', 'no_conversation', 'voicemail', 'busy', 'no_answer', 'failed'] as const;
export type AttemptResult = (typeof ATTEMPT_RESULTS)[number];

export const RETRY_ON = ['busy', 'no_answer', 'voicemail', 'failed'] as const satisfies readonly AttemptResult[];
export interface Retry { max_attempts: number; interval_minutes: number; on: readonly (typeof RETRY_ON)[number][] }
export interface FailureBreaker { failure_pct: number; window_calls: number }

const NOT_REACHED = new Set<AttemptResult>(['busy', 'no_answer', 'failed']);

/** `attempts` counts this one. `nextAttemptAt` is set for one that is called again. */
export function afterAttempt(result: AttemptResult, attempts: number, retry: Retry, nowMs: number): { status: 'pending' | 'completed' | 'failed'; nextAttemptAt: Date | null } {
  if (attempts < retry.max_attempts && (retry.on as readonly AttemptResult[]).includes(result)) {
    return { status: 'pending', nextAttemptAt: new Date(nowMs + retry.interval_minutes * 60_000) };
  }
  return { status: NOT_REACHED.has(result) ? 'failed' : 'completed', nextAttemptAt: null };
}

/** The latest calls with this one, and whether too many of them failed. Busy lines and unanswered calls are no failures. */
export function watchFailures(recent: string, result: AttemptResult, breaker: FailureBreaker | null): { recent: string; tripped: boolean } {
  if (breaker === null) return { recent: '', tripped: false };
  const latest = (recent + (result === 'failed' ? '1' : '0')).slice(-breaker.window_calls);
  const failures = latest.replaceAll('0', '').length;
  return { recent: latest, tripped: latest.length === breaker.window_calls && failures * 100 >= breaker.failure_pct * breaker.window_calls };
}
