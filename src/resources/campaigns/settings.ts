import { ApiError } from '../../api/errors.ts';
import { isTimezone } from '../agents/timezone.ts';
import type { FailureBreaker, Retry } from './attempt.ts';
import { WEEKDAYS, type CallingHours } from './calling-hours.ts';
import type { UpdateCampaign } from './schema.ts';
import type { CampaignRow } from './store.ts';

const RETRY: Retry = { max_attempts: 1, interval_minutes: 30, on: ['busy', 'no_answer'] };
const FAILURE_BREAKER: FailureBreaker = { failure_pct: 50, window_calls: 20 };
const MAX_CONCURRENT_CALLS = 5;

type Settings = Pick<CampaignRow, 'from_phone_number_ids' | 'max_concurrent_calls' | 'calls_per_minute' | 'calling_hours' | 'retry' | 'failure_breaker' | 'max_cost_micros'>;

export const DEFAULT_SETTINGS: Settings = {
  from_phone_number_ids: null, max_concurrent_calls: MAX_CONCURRENT_CALLS, calls_per_minute: null, calling_hours: null, retry: RETRY, failure_breaker: FAILURE_BREAKER, max_cost_micros: null,
};

/** How the body wants it to call, over `settings` where it does not say. Objects are replaced whole, their own gaps filled in. */
export function withSettings(settings: Settings, body: UpdateCampaign): Settings {
  const { calling_hours, retry, failure_breaker } = body;
  return {
    from_phone_number_ids: body.from_phone_number_ids === undefined ? settings.from_phone_number_ids : body.from_phone_number_ids,
    max_concurrent_calls: body.max_concurrent_calls === undefined ? settings.max_concurrent_calls : (body.max_concurrent_calls ?? MAX_CONCURRENT_CALLS),
    calls_per_minute: body.calls_per_minute === undefined ? settings.calls_per_minute : body.calls_per_minute,
    calling_hours: calling_hours === undefined ? settings.calling_hours : calling_hours && { timezone: 'agent', days: WEEKDAYS, ...calling_hours },
    retry: retry === undefined ? settings.retry : { ...RETRY, ...retry },
    failure_breaker: failure_breaker === undefined ? settings.failure_breaker : failure_breaker && { ...FAILURE_BREAKER, ...failure_breaker },
    max_cost_micros: body.max_cost_micros === undefined ? settings.max_cost_micros : body.max_cost_micros,
  };
}

/** What no schema can say of the fields. Throws ApiError `invalid_parameter`. */
export function checkFields(body: UpdateCampaign, nowMs: number): void {
  if (body.lead_ids && body.lead_filter) throw new ApiError('invalid_parameter', 'Send lead_ids or lead_filter, not both.', { param: 'lead_filter' });
  if (body.lead_ids) refuseRepeated(body.lead_ids);
  if (body.scheduled_at && Date.parse(body.scheduled_at) <= nowMs) throw new ApiError('invalid_parameter', 'scheduled_at must be in the future; leave it out and start the campaign to call now.', { param: 'scheduled_at' });
  if (body.calling_hours) checkHours(body.calling_hours);
}

function refuseRepeated(ids: readonly string[]): void {
  if (new Set(ids).size === ids.length) return;
  const seen = new Set<string>();
  const repeated = ids.findIndex((id) => seen.size === seen.add(id).size);
  throw new ApiError('invalid_parameter', `Lead ${ids[repeated]} is in the list twice; nobody is called twice.`, { param: `lead_ids[${repeated}]` });
}

function checkHours({ timezone = 'agent', start, end }: Partial<CallingHours>): void {
  if (timezone !== 'agent' && timezone !== 'lead' && !isTimezone(timezone)) {
    throw new ApiError('invalid_parameter', `calling_hours.timezone must be agent, lead or an IANA name such as Europe/Berlin, not ${timezone}.`, { param: 'calling_hours.timezone' });
  }
  if (start === end) throw new ApiError('invalid_parameter', 'calling_hours.end must differ from start; leave calling_hours out to call at any time.', { param: 'calling_hours.end' });
}
