import { iso } from '../../api/schemas.ts';
import type { Appointment } from './schema.ts';
import type { AppointmentRow } from './store.ts';

const MINUTE_MS = 60_000;

/** An appointment as GET and events show it. */
export function presentAppointment(row: AppointmentRow): Appointment {
  return {
    id: row.id, object: 'appointment', livemode: row.livemode, client_name: row.client_name, phone_number: row.phone_number, date_time: iso(row.date_time),
    duration_minutes: (row.ends_at.getTime() - row.date_time.getTime()) / MINUTE_MS, status: row.status, notes: row.notes, agent_id: row.agent_id, lead_id: row.lead_id,
    created_at: iso(row.created_at), updated_at: iso(row.updated_at),
  };
}
