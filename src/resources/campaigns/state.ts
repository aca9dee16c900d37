/** The life of a campaign, as one table. */

export const CAMPAIGN_STATUSES = ['idle', 'scheduled', 'running', 'completed', 'stopped', 'paused'] as const;
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number];

/** Why a campaign is paused: `requested`, or what paused it by itself. */
export const PAUSE_REASONS = ['requested', 'insufficient_credits', 'failure_breaker', 'agent_deleted', 'no_trunk', 'cost_limit'] as const;
export type PauseReason = (typeof PAUSE_REASONS)[number];
export type AutomaticReason = Exclude<PauseReason, 'requested'>;

/**
 * What can happen to a campaign. The first four are asked for; `schedule` and `unschedule` are changes of `scheduled_at`;
 * `fall_due` is its time come, `halt` a pause that nobody asked for, `finish` the end of its list.
 */
export const CAMPAIGN_MOVES = ['start', 'pause', 'resume', 'stop', 'schedule', 'unschedule', 'fall_due', 'halt', 'finish'] as const;
export type CampaignMove = (typeof CAMPAIGN_MOVES)[number];

const MOVES: Readonly<Record<CampaignMove, Readonly<Partial<Record<CampaignStatus, CampaignStatus>>>>> = {
  start: { idle: 'running', scheduled: 'running', paused: 'running', stopped: 'running' },
  pause: { idle: 'idle', scheduled: 'paused', running: 'paused', paused: 'paused', stopped: 'stopped', completed: 'completed' },
  resume: { paused: 'running' },
  stop: { idle: 'stopped', scheduled: 'stopped', running: 'stopped', paused: 'stopped', stopped: 'stopped' },
  schedule: { idle: 'scheduled', scheduled: 'scheduled' },
  unschedule: { idle: 'idle', scheduled: 'idle' },
  fall_due: { scheduled: 'running' },
  halt: { scheduled: 'paused', running: 'paused' },
  finish: { running: 'completed' },
};

/** The status after `move`, which may be the same; undefined: the move cannot be made from `status`. */
export function nextStatus(status: CampaignStatus, move: CampaignMove): CampaignStatus | undefined {
  return MOVES[move][status];
}
