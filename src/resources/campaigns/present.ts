import { iso } from '../../api/schemas.ts';
import type { QueuedLeadRow } from './queue-store.ts';
import type { Campaign, CampaignLead, CampaignProgress } from './schema.ts';
import type { CampaignRow } from './store.ts';

export function presentCampaign(row: CampaignRow): Campaign {
  const { id, livemode, name, agent_id, status, paused_reason, lead_count, lead_filter, from_phone_number_ids, max_concurrent_calls, calls_per_minute } = row;
  return {
    id, object: 'campaign', livemode, name, agent_id, status, paused_reason, lead_count, lead_filter, scheduled_at: iso(row.scheduled_at), from_phone_number_ids,
    max_concurrent_calls, calls_per_minute, calling_hours: row.calling_hours && { ...row.calling_hours, days: [...row.calling_hours.days] },
    retry: { ...row.retry, on: [...row.retry.on] }, failure_breaker: row.failure_breaker, max_cost_micros: row.max_cost_micros, cost_micros: row.cost_micros,
    counts: countsOf(row), started_at: iso(row.started_at), completed_at: iso(row.completed_at), created_at: iso(row.created_at), updated_at: iso(row.updated_at),
  };
}

export function presentProgress(row: CampaignRow): CampaignProgress {
  return { campaign_id: row.id, status: row.status, paused_reason: row.paused_reason, lead_count: row.lead_count, counts: countsOf(row) };
}

export function presentQueued(row: QueuedLeadRow): CampaignLead {
  const { campaign_id, lead_id, status, attempts, last_call_id, outcome, next_attempt_at } = row;
  return { object: 'campaign_lead', campaign_id, lead_id, status, attempts, last_call_id, outcome, next_attempt_at: iso(next_attempt_at) };
}

function countsOf({ pending, in_flight, completed, failed, skipped }: CampaignRow): Campaign['counts'] {
  return { pending, in_flight, completed, failed, skipped };
}
