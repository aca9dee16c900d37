import { ApiError } from '../../api/errors.ts';
import type { Queryable } from '../../db/database.ts';
import type { RowLock } from '../../db/row-lock.ts';
import { clearAgent, clearTrunk, findPhoneNumber, type PhoneNumberRow } from './store.ts';

/** The number `id` names, for a caller of its own account and mode. Throws ApiError `phone_number_not_found`, `key_mode_mismatch`. */
export async function requirePhoneNumber(db: Queryable, owner: { accountId: string; livemode: boolean }, id: string, param = 'id', lock: RowLock = 'read'): Promise<PhoneNumberRow> {
  const row = await findPhoneNumber(db, owner.accountId, id, lock);
  if (!row) throw new ApiError('phone_number_not_found', `No phone number ${id} in this account.`, { param });
  if (row.livemode !== owner.livemode) throw new ApiError('key_mode_mismatch', `Phone number ${id} belongs to ${row.livemode ? 'live' : 'test'} mode.`, { param });
  return row;
}

/** The agent is gone: its numbers refuse calls with 480. */
export function detachAgent(db: Queryable, agentId: string, now: Date): Promise<void> {
  return clearAgent(db, agentId, now);
}

/** The trunk is gone: its numbers can no longer be reached. */
export function detachTrunk(db: Queryable, trunkId: string, now: Date): Promise<void> {
  return clearTrunk(db, trunkId, now);
}
