import Type, { type Static } from 'typebox';
import { NullableString } from '../../api/schemas.ts';

const closed = { additionalProperties: false };
export const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
export type Weekday = (typeof WEEKDAYS)[number];
const MAX_RANGES = 10;

const RangeInput = Type.Object({
  start: Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', description: 'HH:MM on the clock of `timezone`.' }),
  end: Type.String({ pattern: '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$', description: 'HH:MM, later than start; 24:00 is midnight.' }),
}, closed);
const dayInput = () => Type.Optional(Type.Array(RangeInput, { maxItems: MAX_RANGES }));

/** When appointments can be made, as a client sends it. */
export const BookingInput = Type.Object({
  timezone: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 64 }), Type.Null()], { description: 'IANA name; null is the agent\'s timezone.' })),
  hours: Type.Optional(Type.Object({
    monday: dayInput(), tuesday: dayInput(), wednesday: dayInput(), thursday: dayInput(), friday: dayInput(), saturday: dayInput(), sunday: dayInput(),
  }, { ...closed, description: 'Open hours by weekday; a day that is absent is closed. Monday to Friday 09:00 to 17:00 when `hours` is absent.' })),
  slot_minutes: Type.Optional(Type.Integer({ minimum: 5, maximum: 480, description: 'Slots begin every so many minutes from the start of each range; default 30.' })),
  buffer_minutes: Type.Optional(Type.Integer({ minimum: 0, maximum: 240, description: 'Kept free before and after each appointment; default 0.' })),
  max_days_ahead: Type.Optional(Type.Integer({ minimum: 1, maximum: 365, description: 'How many days after today slots are offered; default 60.' })),
}, closed);
export type BookingInput = Static<typeof BookingInput>;

const Range = Type.Object({ start: Type.String(), end: Type.String() });
export type OpenRange = Static<typeof Range>;
const Day = Type.Array(Range);

export const Booking = Type.Object({
  timezone: NullableString,
  hours: Type.Object({ monday: Day, tuesday: Day, wednesday: Day, thursday: Day, friday: Day, saturday: Day, sunday: Day }),
  slot_minutes: Type.Integer(),
  buffer_minutes: Type.Integer(),
  max_days_ahead: Type.Integer(),
});
export type Booking = Static<typeof Booking>;
