import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { DateTime, Id, Nullable, NullableString, OneOf, PhoneNumber, Timestamp } from '../../api/schemas.ts';

const closed = { additionalProperties: false };
const STATUSES = ['scheduled', 'confirmed', 'completed', 'canceled', 'no_show'] as const;
export type AppointmentStatus = (typeof STATUSES)[number];
export const DEFAULT_DURATION_MINUTES = 30;

export const Appointment = Type.Object({
  id: Type.String(),
  object: Type.Literal('appointment'),
  livemode: Type.Boolean(),
  client_name: Type.String(),
  phone_number: Type.String(),
  date_time: Timestamp,
  duration_minutes: Type.Integer(),
  status: OneOf(STATUSES),
  notes: NullableString,
  agent_id: NullableString,
  lead_id: NullableString,
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Appointment = Static<typeof Appointment>;
export const AppointmentList = listOf(Appointment);

const clientName = () => Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });
const phoneNumber = () => PhoneNumber('Where the client can be reached, E.164.');
const dateTime = () => DateTime('When it begins, with its offset; between the years 2000 and 2100.');
const duration = () => Type.Integer({ minimum: 5, maximum: 480, description: '30 when absent.' });
const OPTIONAL = {
  duration_minutes: Type.Optional(Nullable(duration())),
  notes: Type.Optional(Nullable(Type.String({ maxLength: 5000 }))),
  agent_id: Type.Optional(Nullable(Id('Agent in whose calendar it is: its appointments never overlap. Null: in nobody\'s, so it never conflicts.'))),
  lead_id: Type.Optional(Nullable(Id('Lead that it is with.'))),
};

export const CreateAppointment = Type.Object({ client_name: clientName(), phone_number: phoneNumber(), date_time: dateTime(), ...OPTIONAL }, closed);
export type CreateAppointment = Static<typeof CreateAppointment>;

export const UpdateAppointment = Type.Object({
  client_name: Type.Optional(clientName()), phone_number: Type.Optional(phoneNumber()), date_time: Type.Optional(dateTime()), ...OPTIONAL,
  status: Type.Optional(OneOf(STATUSES, { description: 'canceled cancels, as DELETE does; a canceled appointment stays so.' })),
}, closed);
export type UpdateAppointment = Static<typeof UpdateAppointment>;

export const ListAppointments = Type.Object({
  ...PAGE_PARAMETERS,
  status: Type.Optional(OneOf(STATUSES)),
  agent_id: Type.Optional(Id('Only those in the calendar of this agent.')),
  lead_id: Type.Optional(Id('Only those with this lead.')),
  from: Type.Optional(DateTime('Only those that begin then or later.')),
  to: Type.Optional(DateTime('Only those that begin before.')),
}, closed);
export type ListAppointments = Static<typeof ListAppointments>;

export const AvailabilityQuery = Type.Object({
  agent_id: Id('Whose calendar.'),
  from: DateTime('Slots that begin then or later, and not in the past.'),
  to: DateTime('Slots that begin before; at most 62 days after `from`.'),
  duration_minutes: Type.Optional(duration()),
}, closed);
export type AvailabilityQuery = Static<typeof AvailabilityQuery>;

export const Slot = Type.Object({
  object: Type.Literal('slot'),
  date_time: Timestamp,
  duration_minutes: Type.Integer(),
  local_time: Type.String({ description: 'The same moment on the clock of the calendar\'s timezone, with its offset.' }),
});
export const Availability = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(Slot),
  has_more: Type.Literal(false),
  next_cursor: Type.Null(),
  previous_cursor: Type.Null(),
  agent_id: Type.String(),
  timezone: Type.String(),
});

const CALENDAR = {
  id: Type.String(),
  object: Type.Literal('calendar'),
  livemode: Type.Boolean(),
  url: Type.String({ description: 'Calendar programs subscribe to this with `?token=` and the secret behind it.' }),
  created_at: Timestamp,
};
export const Calendar = Type.Object(CALENDAR);
export type Calendar = Static<typeof Calendar>;
export const CalendarWithSecret = Type.Object({ ...CALENDAR, secret: Nullable(Type.String({ description: 'Shown this once; null in a replay.' })), secret_already_shown: Type.Optional(Type.Boolean()) }, { title: 'CalendarWithSecret' });

export const FeedQuery = Type.Object({ token: Type.Optional(Type.String({ maxLength: 200, description: 'The secret that POST /v1/appointments/calendar answered.' })) }, closed);
