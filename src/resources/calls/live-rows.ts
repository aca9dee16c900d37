import type { Queryable } from '../../db/database.ts';

/** Whether a call that has not ended uses this object. */
export async function hasLiveCall(db: Queryable, column: 'agent_id' | 'phone_number_id' | 'sip_trunk_id', id: string): Promise<boolean> {
  const rows = await db.query(`SELECT 1 FROM call WHERE ${column} = $1 AND ended_at IS NULL LIMIT 1`, [id]);
  return rows.length > 0;
}
