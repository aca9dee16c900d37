import { ApiError } from '../../api/errors.ts';
import { noteEffect } from '../../api/idempotency.ts';
import type { AppContext } from '../../context.ts';
import { requireCall } from './actions.ts';
import { requireAllowedDestination } from './destinations.ts';
import type { CallCommand } from './live-calls.ts';
import type { TransferCall } from './schema.ts';
import { updateTransferring, type CallRow } from './store.ts';

interface Owner { accountId: string; livemode: boolean }

/** Ends a live call and answers it as it then is. Throws ApiError `call_not_in_progress`. */
export async function hangUpCall(context: AppContext, owner: Owner, id: string): Promise<CallRow> {
  const call = await requireCall(context.db, owner, id);
  if (call.ended_at !== null) throw new ApiError('call_not_in_progress');
  await noteEffect(context.db);
  if (!(await context.liveCalls.hangUp(call.id, 'api_hangup'))) throw new ApiError('call_not_in_progress');
  return requireCall(context.db, owner, id);
}

/** Has an answered call do something. Throws ApiError `call_not_in_progress`, `dtmf_not_possible`, `rate_limited`. */
export async function commandCall(context: AppContext, owner: Owner, id: string, command: CallCommand): Promise<CallRow> {
  const call = await requireCall(context.db, owner, id);
  if (call.status !== 'in_progress') throw new ApiError('call_not_in_progress', 'The call is not in progress: it has not been answered, or has ended.');
  // Asked without keys first: a refusal must not count as an effect.
  if (command.kind === 'dtmf') await obey(context, id, { kind: 'dtmf', digits: '' });
  await noteEffect(context.db);
  await obey(context, id, command);
  return requireCall(context.db, owner, id);
}

async function obey({ liveCalls }: AppContext, id: string, command: CallCommand): Promise<void> {
  switch (await liveCalls.command(id, command)) {
    case 'done': return;
    case 'not_in_progress': throw new ApiError('call_not_in_progress');
    case 'not_possible': throw new ApiError('dtmf_not_possible');
    case 'too_many': throw new ApiError('rate_limited', 'Too much waits to be said or keyed in this call already; wait for it.');
  }
}

/** Hands an answered telephone call over. Throws ApiError `call_not_in_progress`, `transfer_not_possible`, `destination_not_allowed`, `transfer_unavailable`. */
export async function transferCall(context: AppContext, owner: Owner, id: string, { to, mode = 'cold' }: TransferCall): Promise<CallRow> {
  requireAllowedDestination(context.options.blockedDestinations, to);
  await context.db.transaction(async (transaction) => {
    const call = await requireCall(transaction, owner, id, 'lock');
    if (call.ended_at !== null) throw new ApiError('call_not_in_progress');
    if (call.transport !== 'sip' || call.status !== 'in_progress') throw new ApiError('transfer_not_possible');
    context.liveCalls.mayTransfer();
    await updateTransferring(transaction, id, { destination: to, mode, status: 'in_progress', started_at: new Date(context.clock.now()).toISOString(), ended_at: null });
  });
  await context.liveCalls.transfer(id, { to, mode });
  return requireCall(context.db, owner, id);
}
