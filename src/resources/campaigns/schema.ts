import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { DateTime, Id, Nullable, NullableInteger, NullableString, NullableTimestamp, OneOf, Timestamp } from '../../api/schemas.ts';
import { RETRY_ON } from './attempt.ts';
import { WEEKDAYS } from './calling-hours.ts';
import { CAMPAIGN_STATUSES, PAUSE_REASONS } from './state.ts';

const closed = { additionalProperties: false };
export const MAX_CAMPAIGN_LEADS = 100_000;
export const LEAD_STATUSES = ['pending', 'in_flight', 'completed', 'failed', 'skipped'] as const;
export type LeadStatus = (typeof LEAD_STATUSES)[number];

const Time = (description: string) => Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', description });
const days = { minItems: 1, maxItems: 7, uniqueItems: true, description: 'Days on which the window starts; all when absent.' };
const Days = Type.Array(OneOf(WEEKDAYS), days);
const RetryOn = Type.Array(OneOf(RETRY_ON), { uniqueItems: true, description: 'Which ends of a call are tried again; busy and no_answer when absent.' });
const LeadFilter = Type.Object({
  tags: Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: 50, uniqueItems: true }),
}, { ...closed, description: 'The leads with all of these tags, as they are when the list is made.' });

const Counts = Type.Object({
  pending: Type.Integer(), in_flight: Type.Integer(), completed: Type.Integer(), failed: Type.Integer(), skipped: Type.Integer(),
}, { description: 'Leads by status; together they are lead_count.' });

export const Campaign = Type.Object({
  id: Type.String(),
  object: Type.Literal('campaign'),
  livemode: Type.Boolean(),
  name: Type.String(),
  agent_id: Type.String(),
  status: OneOf(CAMPAIGN_STATUSES),
  paused_reason: Nullable(OneOf(PAUSE_REASONS)),
  lead_count: Type.Integer(),
  lead_filter: Nullable(Type.Object({ tags: Type.Array(Type.String()) })),
  scheduled_at: NullableTimestamp,
  from_phone_number_ids: Nullable(Type.Array(Type.String())),
  max_concurrent_calls: Type.Integer(),
  calls_per_minute: NullableInteger,
  calling_hours: Nullable(Type.Object({ timezone: Type.String(), days: Type.Array(OneOf(WEEKDAYS)), start: Type.String(), end: Type.String() })),
  retry: Type.Object({ max_attempts: Type.Integer(), interval_minutes: Type.Integer(), on: Type.Array(OneOf(RETRY_ON)) }),
  failure_breaker: Nullable(Type.Object({ failure_pct: Type.Integer(), window_calls: Type.Integer() })),
  max_cost_micros: NullableInteger,
  cost_micros: Type.Integer({ description: 'What its calls have cost.' }),
  counts: Counts,
  started_at: NullableTimestamp,
  completed_at: NullableTimestamp,
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Campaign = Static<typeof Campaign>;
export const CampaignList = listOf(Campaign);

const OPTIONAL = {
  lead_ids: Type.Optional(Type.Array(Id('A lead.'), { minItems: 1, maxItems: MAX_CAMPAIGN_LEADS, description: 'Whom to call, in this order. Exactly one of lead_ids and lead_filter makes the list.' })),
  lead_filter: Type.Optional(LeadFilter),
  scheduled_at: Type.Optional(Nullable(DateTime('When it starts by itself; in the future.'))),
  from_phone_number_ids: Type.Optional(Nullable(Type.Array(Id('A phone number.'), { minItems: 1, maxItems: 100, uniqueItems: true, description: 'Numbers its calls come from, in turn; the agent\'s when absent.' }))),
  max_concurrent_calls: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 500, description: '5 when absent.' }))),
  calls_per_minute: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 6000, description: 'At most this many calls placed in any 60 seconds; no such limit when absent.' }))),
  calling_hours: Type.Optional(Nullable(Type.Object({
    timezone: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'agent (when absent), lead (the agent\'s where a lead has none), or an IANA name.' })),
    days: Type.Optional(Days),
    start: Time('First minute, HH:MM.'),
    end: Time('HH:MM, no longer in the window; before start: the window goes on past midnight.'),
  }, { ...closed, description: 'Nothing is dialled outside these hours; any time when absent.' }))),
  retry: Type.Optional(Nullable(Type.Object({
    max_attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 5, description: '1 when absent: nobody is called twice.' })),
    interval_minutes: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_080, description: '30 when absent.' })),
    on: Type.Optional(RetryOn),
  }, closed))),
  failure_breaker: Type.Optional(Nullable(Type.Object({
    failure_pct: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: '50 when absent.' })),
    window_calls: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: '20 when absent.' })),
  }, { ...closed, description: 'Pauses the campaign when this share of its latest calls failed; null switches it off.' }))),
  max_cost_micros: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 1_000_000_000_000, description: 'Pauses the campaign when its calls have cost this much.' }))),
};
const name = () => Type.String({ minLength: 1, maxLength: 200 });

export const CreateCampaign = Type.Object({ name: name(), agent_id: Id('The one agent that calls the list.'), ...OPTIONAL }, closed);
export type CreateCampaign = Static<typeof CreateCampaign>;
export const UpdateCampaign = Type.Object({ name: Type.Optional(name()), agent_id: Type.Optional(Id('The one agent that calls the list.')), ...OPTIONAL }, closed);
export type UpdateCampaign = Static<typeof UpdateCampaign>;

export const ListCampaigns = Type.Object({
  ...PAGE_PARAMETERS,
  status: Type.Optional(OneOf(CAMPAIGN_STATUSES)),
  agent_id: Type.Optional(Id('Campaigns of this agent.')),
}, closed);
export type ListCampaigns = Static<typeof ListCampaigns>;

export const CampaignLead = Type.Object({
  object: Type.Literal('campaign_lead'),
  campaign_id: Type.String(),
  lead_id: Type.String(),
  status: OneOf(LEAD_STATUSES),
  attempts: Type.Integer({ description: 'Calls placed to it; one that a pause cut short does not count.' }),
  last_call_id: NullableString,
  outcome: Nullable(Type.String({ description: 'How its latest call went: conversation, transferred, appointment_booked, no_conversation, voicemail, busy, no_answer, failed; unknown when the process that called it died; do_not_call or lead_deleted when it was skipped.' })),
  next_attempt_at: NullableTimestamp,
});
export type CampaignLead = Static<typeof CampaignLead>;
export const CampaignLeadList = listOf(CampaignLead);
export const ListCampaignLeads = Type.Object({ ...PAGE_PARAMETERS, status: Type.Optional(OneOf(LEAD_STATUSES)) }, closed);

/** `data` of the events of a campaign's progress. */
export const CampaignProgress = Type.Object({
  campaign_id: Type.String(), status: OneOf(CAMPAIGN_STATUSES), paused_reason: Nullable(OneOf(PAUSE_REASONS)), lead_count: Type.Integer(), counts: Counts,
});
export type CampaignProgress = Static<typeof CampaignProgress>;
