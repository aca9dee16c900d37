import { ApiError } from '../../api/errors.ts';
import type { Queryable } from '../../db/database.ts';
import type { RowLock } from '../../db/row-lock.ts';
import { findLead, type LeadRow } from './store.ts';

/** The lead `id` names, for a caller of its own account and mode. Throws ApiError `lead_not_found`, `key_mode_mismatch`. */
export async function requireLead(db: Queryable, owner: { accountId: string; livemode: boolean }, id: string, param = 'id', lock: RowLock = 'read'): Promise<LeadRow> {
  const row = await findLead(db, owner.accountId, id, lock);
  if (!row) throw new ApiError('lead_not_found', `No lead ${id} in this account.`, { param });
  if (row.livemode !== owner.livemode) throw new ApiError('key_mode_mismatch', `Lead ${id} belongs to ${row.livemode ? 'live' : 'test'} mode.`, { param });
  return row;
}
