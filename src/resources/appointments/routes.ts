import type { App } from '../../api/app-type.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import type { Recall } from '../../api/recall.ts';
import { IdParams, iso, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { bookAppointment, cancelAppointment, changeAppointment, listFreeSlots, requireAppointment } from './actions.ts';
import { calendarRoutes } from './calendar-routes.ts';
import { presentAppointment } from './present.ts';
import { Appointment, AppointmentList, Availability, AvailabilityQuery, CreateAppointment, ListAppointments, UpdateAppointment } from './schema.ts';
import { listAppointmentRows } from './store.ts';

const OWN_ERRORS = ['appointment_not_found', 'key_mode_mismatch'] as const;
const BODY_ERRORS = ['agent_not_found', 'lead_not_found', 'key_mode_mismatch', 'slot_taken', 'invalid_phone_number'] as const;

/** `/v1/appointments`. */
export function appointmentRoutes(app: App, context: AppContext): void {
  const { db, keyring } = context;
  const read = { scope: 'appointments:read' } as const;
  const write = { scope: 'appointments:write' } as const;
  calendarRoutes(app, context);

  const recall: Recall = async ({ principal, resourceId }) => presentAppointment(await requireAppointment(db, principal, resourceId));

  app.post('/v1/appointments', {
    config: { ...write, recall, errors: BODY_ERRORS },
    schema: {
      summary: 'Book an appointment', description: 'In the calendar of `agent_id`, at any hour: `booking` of the agent only says what is offered. Without an agent it never conflicts.',
      body: CreateAppointment, querystring: NoQuery, response: { 201: Appointment },
    },
  }, async ({ principal, body, resourceId }, reply) => reply.code(201).send(presentAppointment(await bookAppointment(context, principal, body, resourceId))));

  app.get('/v1/appointments', { config: read, schema: { summary: 'List appointments', querystring: ListAppointments, response: { 200: AppointmentList } } }, async ({ query, principal }) => {
    const { limit: _limit, starting_after: _after, ending_before: _before, ...filters } = query;
    const page = readPage(keyring, query, 'appointments', principal, filters);
    const rows = await listAppointmentRows(db, principal.accountId, principal.livemode, filters, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), presentAppointment);
  });

  app.get('/v1/appointments/availability', {
    config: { ...read, errors: ['agent_not_found', 'key_mode_mismatch'] },
    schema: { summary: 'List free slots', description: 'From the agent\'s `booking` and what its calendar holds; never paged.', querystring: AvailabilityQuery, response: { 200: Availability } },
  }, async ({ query, principal }) => {
    const { agentId, timezone, durationMinutes, slots } = await listFreeSlots(context, principal, query);
    const data = slots.map(({ startMs, localTime }) => ({ object: 'slot' as const, date_time: iso(new Date(startMs)), duration_minutes: durationMinutes, local_time: localTime }));
    return { object: 'list' as const, data, has_more: false as const, next_cursor: null, previous_cursor: null, agent_id: agentId, timezone };
  });

  app.get('/v1/appointments/:id', {
    config: { ...read, errors: OWN_ERRORS }, schema: { summary: 'Read an appointment', params: IdParams, querystring: NoQuery, response: { 200: Appointment } },
  }, async ({ principal, params }) => presentAppointment(await requireAppointment(db, principal, params.id)));

  app.patch('/v1/appointments/:id', {
    config: { ...write, errors: [...OWN_ERRORS, ...BODY_ERRORS, 'appointment_canceled'] },
    schema: {
      summary: 'Change, move or cancel an appointment', description: 'Only the fields that are sent change. A canceled appointment keeps its time, agent and status.',
      params: IdParams, querystring: NoQuery, body: UpdateAppointment, response: { 200: Appointment },
    },
  }, async ({ principal, params, body }) => presentAppointment(await changeAppointment(context, principal, params.id, body)));

  app.delete('/v1/appointments/:id', {
    config: { ...write, errors: OWN_ERRORS },
    schema: { summary: 'Cancel an appointment', description: 'It stays readable with status `canceled`. Canceling again changes nothing.', params: IdParams, querystring: NoQuery, response: { 200: Appointment } },
  }, async ({ principal, params }) => presentAppointment(await cancelAppointment(context, principal, params.id)));
}
