import { ApiError } from '../../api/errors.ts';
import type { AppContext } from '../../context.ts';
import { requireAgent } from '../agents/actions.ts';
import { DEFAULT_DURATION_MINUTES, type AvailabilityQuery } from './schema.ts';
import { freeSlots, type Slot } from './slots.ts';
import { listTaken } from './store.ts';

const MINUTE_MS = 60_000;
const MAX_RANGE_MS = 62 * 24 * 3_600_000;

export interface FreeSlots { agentId: string; timezone: string; durationMinutes: number; slots: Slot[] }

/** What is free in an agent's calendar. Throws ApiError `invalid_parameter`, `agent_not_found`, `key_mode_mismatch`. */
export async function listFreeSlots(context: Pick<AppContext, 'db' | 'clock'>, owner: { accountId: string; livemode: boolean }, query: AvailabilityQuery): Promise<FreeSlots> {
  const [fromMs, toMs] = [Date.parse(query.from), Date.parse(query.to)];
  if (toMs <= fromMs || toMs - fromMs > MAX_RANGE_MS) throw new ApiError('invalid_parameter', 'to must be later than from, by 62 days at most.', { param: 'to' });
  const { id, definition } = await requireAgent(context.db, owner, query.agent_id, 'agent_id');
  const { booking } = definition;
  const timezone = booking.timezone ?? definition.timezone;
  const durationMinutes = query.duration_minutes ?? DEFAULT_DURATION_MINUTES;
  const durationMs = durationMinutes * MINUTE_MS;
  const bufferMs = booking.buffer_minutes * MINUTE_MS;
  const rows = await listTaken(context.db, id, new Date(fromMs - bufferMs), new Date(toMs + durationMs + bufferMs));
  const taken = rows.map(({ date_time, ends_at }) => ({ startMs: date_time.getTime(), endMs: ends_at.getTime() }));
  return { agentId: id, timezone, durationMinutes, slots: freeSlots({ booking, timezone, fromMs, toMs, nowMs: context.clock.now(), durationMs, taken }) };
}
