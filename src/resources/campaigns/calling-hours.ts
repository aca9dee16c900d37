import { Temporal } from 'temporal-polyfill';
import { isTimezone } from '../agents/timezone.ts';

export const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** When leads may be called, by the wall clock of a timezone. A window whose end is not after its start goes on past midnight. */
export interface CallingHours {
  /** `agent`, `lead` (the agent's where the lead has none), or an IANA name. */
  timezone: string;
  /** Days on which a window starts. */
  days: readonly Weekday[];
  /** `HH:MM`, the first minute. */
  start: string;
  /** `HH:MM`, no longer in it. */
  end: string;
}

interface Hours { calling_hours: CallingHours | null }
interface Zoned { timezone: string | null }

const DAYS_AHEAD = 8;

/** Whether `lead` may be called at `nowMs`. */
export function mayCall(campaign: Hours, lead: Zoned, agent: { timezone: string }, nowMs: number): boolean {
  return campaign.calling_hours === null || isOpen(campaign.calling_hours, zoneOf(campaign.calling_hours, lead, agent), nowMs);
}

/** The zone whose wall clock counts for `lead`. */
export function zoneOf(hours: CallingHours, lead: Zoned, agent: { timezone: string }): string {
  if (hours.timezone === 'agent') return agent.timezone;
  if (hours.timezone !== 'lead') return hours.timezone;
  return lead.timezone !== null && isTimezone(lead.timezone) ? lead.timezone : agent.timezone;
}

export function isOpen({ days, start, end }: CallingHours, zone: string, nowMs: number): boolean {
  const local = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(zone);
  const minute = local.hour * 60 + local.minute;
  const [from, to] = [minuteOf(start), minuteOf(end)];
  const today = days.includes(dayOf(local));
  if (from < to) return today && minute >= from && minute < to;
  // Past midnight it is still the window of the day before.
  return (today && minute >= from) || (minute < to && days.includes(dayOf(local.subtract({ days: 1 }))));
}

/** When the next window opens after `nowMs`, ms. A start that the change to summer time leaves out comes as late as the clock was put forward. */
export function nextOpening({ days, start }: CallingHours, zone: string, nowMs: number): number {
  const today = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(zone).toPlainDate();
  for (let ahead = 0; ahead < DAYS_AHEAD; ahead++) {
    const date = today.add({ days: ahead });
    const opens = date.toZonedDateTime({ timeZone: zone, plainTime: start }).epochMilliseconds;
    if (opens > nowMs && days.includes(dayOf(date))) return opens;
  }
  return nowMs + DAYS_AHEAD * 86_400_000;
}

function dayOf({ dayOfWeek }: { dayOfWeek: number }): Weekday {
  return WEEKDAYS[dayOfWeek - 1] as Weekday;
}

function minuteOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}
