import { ApiError } from '../../api/errors.ts';
import type { Queryable } from '../../db/database.ts';
import { findCampaign, type CampaignRow } from './store.ts';

export interface Owner { accountId: string; livemode: boolean }

/** The campaign `id` names, for a caller of its own account and mode. Throws ApiError `campaign_not_found`, `key_mode_mismatch`. */
export async function requireCampaign(db: Queryable, owner: Owner, id: string, lock: 'lock' | 'read' = 'read'): Promise<CampaignRow> {
  const row = await findCampaign(db, owner.accountId, id, lock);
  if (!row) throw new ApiError('campaign_not_found', `No campaign ${id} in this account.`, { param: 'id' });
  if (row.livemode !== owner.livemode) throw new ApiError('key_mode_mismatch', `Campaign ${id} belongs to ${row.livemode ? 'live' : 'test'} mode.`, { param: 'id' });
  return row;
}
