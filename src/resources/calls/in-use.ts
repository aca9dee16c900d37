import type { Queryable } from '../../db/database.ts';
import { existsLiveCall } from './store.ts';

/** Whether a live call uses the object, so that it cannot be deleted. */
export function isInLiveCall(db: Queryable, column: 'agent_id' | 'phone_number_id' | 'sip_trunk_id', id: string): Promise<boolean> {
  return existsLiveCall(db, column, id);
}
