import { ApiError } from '../../api/errors.ts';
import { deleteKeysOf } from '../../api/idempotency-store.ts';
import type { AppContext } from '../../context.ts';
import { requireCall } from './actions.ts';
import { deleteCall } from './store.ts';

/**
 * Erases a call that has ended: its record with log, transcript, analysis and realtime session, its recording, the stored
 * answers of requests about it and the events still to be sent. Its usage rows stay. Throws ApiError `call_in_progress`.
 */
export async function eraseCall(context: AppContext, owner: { accountId: string; livemode: boolean }, id: string): Promise<void> {
  const found = await requireCall(context.db, owner, id);
  if (found.ended_at === null) throw new ApiError('call_in_progress', undefined, { param: 'id' });
  // The file first: should the process die in between, the call is still there to be deleted again.
  await context.recordings.delete(id);
  await context.db.transaction(async (transaction) => {
    const call = await requireCall(transaction, owner, id, 'lock');
    await deleteKeysOf(transaction, [call.id, ...(call.realtime_session_id === null ? [] : [call.realtime_session_id])]);
    await deleteCall(transaction, call.id);
    transaction.afterCommit(() => context.events.forget(call.id));
  });
}
