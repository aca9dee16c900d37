import { Temporal } from 'temporal-polyfill';
import { WEEKDAYS, type Booking } from '../agents/booking-schema.ts';

export interface Slot { startMs: number; localTime: string }

export interface SlotRequest {
  booking: Booking;
  /** IANA name: the clock that the open hours are read on. */
  timezone: string;
  /** Slots begin from then on, and before `toMs`. */
  fromMs: number;
  toMs: number;
  nowMs: number;
  durationMs: number;
  /** What the calendar holds already, in order, no two of them overlapping. */
  taken: readonly { startMs: number; endMs: number }[];
}

const MINUTE_MS = 60_000;

/**
 * The slots that are free, in order. A slot lies wholly inside open hours and keeps the buffer to every appointment.
 * Hours are read on the wall clock of each day, so that a day of 23 or 25 hours has the slots it really has.
 */
export function freeSlots(request: SlotRequest): Slot[] {
  const { booking, timezone, durationMs, nowMs, toMs } = request;
  const fromMs = Math.max(request.fromMs, nowMs);
  const dayOf = (ms: number): Temporal.PlainDate => at(ms, timezone).toPlainDate();
  const isFree = freeBetween(request.taken, booking.buffer_minutes * MINUTE_MS);
  const lastDay = earlierOf(dayOf(toMs - 1), dayOf(nowMs).add({ days: booking.max_days_ahead }));
  const slots: Slot[] = [];
  for (let day = dayOf(fromMs); Temporal.PlainDate.compare(day, lastDay) <= 0; day = day.add({ days: 1 })) {
    for (const { start, end } of booking.hours[WEEKDAYS[day.dayOfWeek - 1] ?? 'monday']) {
      const [opensMs, closesMs] = [momentOf(day, start, timezone), momentOf(day, end, timezone)];
      const clock = clockBetween(opensMs, closesMs, timezone);
      for (let startMs = opensMs; startMs + durationMs <= closesMs; startMs += booking.slot_minutes * MINUTE_MS) {
        if (startMs >= fromMs && startMs < toMs && isFree(startMs, startMs + durationMs)) slots.push({ startMs, localTime: clock(startMs) });
      }
    }
  }
  return slots;
}

/** Asked with starts that only grow, so that the calendar is gone through once. */
function freeBetween(taken: SlotRequest['taken'], bufferMs: number): (startMs: number, endMs: number) => boolean {
  let next = 0;
  return (startMs, endMs) => {
    while ((taken[next]?.endMs ?? Infinity) + bufferMs <= startMs) next++;
    return endMs + bufferMs <= (taken[next]?.startMs ?? Infinity);
  };
}

/** When the clock shows `clock` on that day: the first time where it does twice, and the moment it jumps over it where it never does. */
function momentOf(day: Temporal.PlainDate, clock: string, timezone: string): number {
  if (clock === '24:00') return day.add({ days: 1 }).toZonedDateTime(timezone).epochMilliseconds;
  const local = day.toPlainDateTime(Temporal.PlainTime.from(clock));
  const moment = local.toZonedDateTime(timezone, { disambiguation: 'earlier' });
  const skipped = !moment.toPlainDateTime().equals(local);
  return (skipped ? (moment.getTimeZoneTransition('next') ?? moment) : moment).epochMilliseconds;
}

/** What the clock shows, with its offset. Where that stays the same, it is added without asking the calendar again. */
function clockBetween(opensMs: number, closesMs: number, timezone: string): (ms: number) => string {
  const [{ offset, offsetNanoseconds }, last] = [at(opensMs, timezone), at(closesMs, timezone)];
  if (last.offset !== offset) return (ms) => at(ms, timezone).toString({ timeZoneName: 'never' });
  return (ms) => new Date(ms + offsetNanoseconds / 1e6).toISOString().slice(0, 19) + offset;
}

function at(ms: number, timezone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone);
}

function earlierOf(a: Temporal.PlainDate, b: Temporal.PlainDate): Temporal.PlainDate {
  return Temporal.PlainDate.compare(a, b) < 0 ? a : b;
}
