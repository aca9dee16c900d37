import { ApiError } from '../../api/errors.ts';
import type { AppContext } from '../../context.ts';
import type { Queryable, Transaction } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import { requireAgent } from '../agents/actions.ts';
import { requireLead } from '../leads/lookup.ts';
import { presentAppointment } from './present.ts';
import { DEFAULT_DURATION_MINUTES, type CreateAppointment, type UpdateAppointment } from './schema.ts';
import { findAppointment, holdsTime, insertAppointment, isSlotTaken, lockCalendar, updateAppointment, type AppointmentRow } from './store.ts';

export { listFreeSlots } from './availability.ts';

interface Owner { accountId: string; livemode: boolean }
type AppointmentsContext = Pick<AppContext, 'db' | 'clock' | 'events'>;
interface Span { date_time: Date; ends_at: Date }

const MINUTE_MS = 60_000;
const EARLIEST_MS = Date.UTC(2000, 0);
const LATEST_MS = Date.UTC(2100, 0);
/** What a canceled appointment no longer has to change. */
const FIXED_BY_CANCELING = ['date_time', 'ends_at', 'agent_id', 'status'] as const;

/** Books, and tells so. Throws ApiError `slot_taken`, or that the agent or lead does not exist. */
export function bookAppointment(context: AppointmentsContext, owner: Owner, body: CreateAppointment, id?: string): Promise<AppointmentRow> {
  const nowMs = context.clock.now();
  const now = new Date(nowMs);
  const span = spanOf(new Date(body.date_time), minutesOf(body.duration_minutes));
  return tellingWhatIsTaken(() => context.db.transaction(async (transaction) => {
    await checkReferences(transaction, owner, body);
    if (body.agent_id) await lockCalendar(transaction, body.agent_id);
    const row = await insertAppointment(transaction, {
      id: id ?? newId(nowMs), account_id: owner.accountId, livemode: owner.livemode, client_name: body.client_name, phone_number: body.phone_number, ...span,
      status: 'scheduled', notes: body.notes ?? null, agent_id: body.agent_id ?? null, lead_id: body.lead_id ?? null, created_at: now, updated_at: now,
    });
    tell(context, transaction, 'appointmentBooked', row);
    return row;
  }));
}

/** The appointment `id` names, for a caller of its own account and mode. Throws ApiError `appointment_not_found`, `key_mode_mismatch`. */
export async function requireAppointment(db: Queryable, owner: Owner, id: string, lock: 'lock' | 'read' = 'read'): Promise<AppointmentRow> {
  const row = await findAppointment(db, owner.accountId, id, lock);
  if (!row) throw new ApiError('appointment_not_found', `No appointment ${id} in this account.`, { param: 'id' });
  if (row.livemode !== owner.livemode) throw new ApiError('key_mode_mismatch', `Appointment ${id} belongs to ${row.livemode ? 'live' : 'test'} mode.`, { param: 'id' });
  return row;
}

/**
 * Changes the fields that were sent; what changes nothing leaves no trace, and the first change to `canceled` tells so.
 * Throws ApiError `slot_taken`, `appointment_canceled`, or that the agent or lead does not exist.
 */
export function changeAppointment(context: AppointmentsContext, owner: Owner, id: string, body: UpdateAppointment): Promise<AppointmentRow> {
  const given = body.date_time === undefined ? undefined : new Date(body.date_time);
  if (given) requireSensible(given);
  return tellingWhatIsTaken(() => context.db.transaction(async (transaction) => {
    await requireAppointment(transaction, owner, id);
    // The lead before the appointment, as whoever deletes the lead takes them.
    await checkReferences(transaction, owner, body);
    const row = await requireAppointment(transaction, owner, id, 'lock');
    const changed = merged(row, body, given);
    if (isSame(row, changed)) return row;
    if (row.status === 'canceled' && FIXED_BY_CANCELING.some((field) => differs(row[field], changed[field]))) throw new ApiError('appointment_canceled', undefined, { param: 'id' });
    if (changed.agent_id !== null && holdsTime(changed)) await lockCalendar(transaction, changed.agent_id);
    const updated = await updateAppointment(transaction, changed, new Date(context.clock.now()));
    if (updated.status === 'canceled' && row.status !== 'canceled') tell(context, transaction, 'appointmentCanceled', updated);
    return updated;
  }));
}

/** Gives the time free; the second time nothing happens. */
export function cancelAppointment(context: AppointmentsContext, owner: Owner, id: string): Promise<AppointmentRow> {
  return changeAppointment(context, owner, id, { status: 'canceled' });
}

function merged(row: AppointmentRow, body: UpdateAppointment, given: Date | undefined): AppointmentRow {
  const { date_time: _time, duration_minutes, ...plain } = body;
  const minutes = duration_minutes === undefined ? (row.ends_at.getTime() - row.date_time.getTime()) / MINUTE_MS : minutesOf(duration_minutes);
  return { ...row, ...plain, ...spanOf(given ?? row.date_time, minutes) };
}

function isSame(row: AppointmentRow, changed: AppointmentRow): boolean {
  return !(Object.keys(row) as (keyof AppointmentRow)[]).some((field) => differs(row[field], changed[field]));
}

function differs(before: unknown, after: unknown): boolean {
  return before instanceof Date && after instanceof Date ? before.getTime() !== after.getTime() : before !== after;
}

function minutesOf(given: number | null | undefined): number {
  return given ?? DEFAULT_DURATION_MINUTES;
}

function spanOf(date_time: Date, minutes: number): Span {
  requireSensible(date_time);
  return { date_time, ends_at: new Date(date_time.getTime() + minutes * MINUTE_MS) };
}

function requireSensible(date: Date): void {
  if (date.getTime() >= EARLIEST_MS && date.getTime() < LATEST_MS) return;
  throw new ApiError('invalid_parameter', 'date_time must be between the years 2000 and 2100.', { param: 'date_time' });
}

/** What the body names must exist, in the same account and mode. */
async function checkReferences(db: Queryable, owner: Owner, body: UpdateAppointment): Promise<void> {
  if (body.agent_id) await requireAgent(db, owner, body.agent_id, 'agent_id');
  if (body.lead_id) await requireLead(db, owner, body.lead_id, 'lead_id', 'keep');
}

async function tellingWhatIsTaken<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (isSlotTaken(error)) throw new ApiError('slot_taken', 'Another appointment of this agent overlaps that time. GET /v1/appointments/availability lists what is free.', { param: 'date_time' });
    throw error;
  }
}

function tell({ events }: AppointmentsContext, transaction: Transaction, event: 'appointmentBooked' | 'appointmentCanceled', row: AppointmentRow): void {
  transaction.afterCommit(() => events.emit({ accountId: row.account_id, livemode: row.livemode, event, data: presentAppointment(row), eventKey: `${event}:${row.id}` }));
}
