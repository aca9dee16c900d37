import { ApiError } from '../../api/errors.ts';
import { WEEKDAYS, type Booking, type BookingInput, type OpenRange, type Weekday } from './booking-schema.ts';
import { requireTimezone } from './timezone.ts';

const OFFICE_HOURS: OpenRange[] = [{ start: '09:00', end: '17:00' }];
const CLOSED: Booking['hours'] = { monday: [], tuesday: [], wednesday: [], thursday: [], friday: [], saturday: [], sunday: [] };

export const DEFAULT_BOOKING: Booking = {
  timezone: null,
  hours: { ...CLOSED, monday: OFFICE_HOURS, tuesday: OFFICE_HOURS, wednesday: OFFICE_HOURS, thursday: OFFICE_HOURS, friday: OFFICE_HOURS },
  slot_minutes: 30,
  buffer_minutes: 0,
  max_days_ahead: 60,
};

/** Fills in what is left open. Throws ApiError `invalid_parameter` for a range that ends before it starts, or two that overlap. */
export function fillBooking(input: BookingInput): Booking {
  const { hours, ...rest } = input;
  if (rest.timezone) requireTimezone(rest.timezone, 'booking.timezone');
  return { ...DEFAULT_BOOKING, ...rest, ...(hours === undefined ? {} : { hours: fillHours(hours) }) };
}

/** Each day's ranges in the order of the clock. */
function fillHours(hours: NonNullable<BookingInput['hours']>): Booking['hours'] {
  const filled = { ...CLOSED };
  for (const day of WEEKDAYS) filled[day] = sorted(day, hours[day] ?? []);
  return filled;
}

/** Times of the same width compare as text. */
function sorted(day: Weekday, ranges: readonly OpenRange[]): OpenRange[] {
  const order = ranges.map((range, index) => ({ ...range, param: `booking.hours.${day}[${index}]` })).sort((a, b) => (a.start < b.start ? -1 : 1));
  for (const [index, { start, end, param }] of order.entries()) {
    if (start >= end) throw new ApiError('invalid_parameter', `${param}.end must be later than start.`, { param: `${param}.end` });
    const before = order[index - 1];
    if (before && before.end > start) throw new ApiError('invalid_parameter', `${param} overlaps another range of ${day}.`, { param });
  }
  return order.map(({ start, end }) => ({ start, end }));
}
