import { ApiError } from '../../api/errors.ts';
import type { AppContext } from '../../context.ts';
import { isDuplicate, type Queryable } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import { requireAgent, type AgentRow } from '../agents/actions.ts';
import { isInLiveCall } from '../calls/in-use.ts';
import { findTrunksFor, requireTrunk, type SipTrunkRow } from '../sip-trunks/actions.ts';
import { requirePhoneNumber } from './lookup.ts';
import type { CreatePhoneNumber, UpdatePhoneNumber } from './schema.ts';
import { findDialled, insertPhoneNumber, markPhoneNumberDeleted, updatePhoneNumber, type PhoneNumberRow } from './store.ts';

interface Owner { accountId: string; livemode: boolean }
type NumbersContext = Pick<AppContext, 'db' | 'clock'>;

/** Throws ApiError `phone_number_exists`, or that its agent or trunk does not exist. */
export async function createPhoneNumber(context: NumbersContext, owner: Owner, body: CreatePhoneNumber, id?: string): Promise<PhoneNumberRow> {
  const nowMs = context.clock.now();
  const now = new Date(nowMs);
  try {
    return await context.db.transaction(async (transaction) => {
      await checkReferences(transaction, owner, body);
      return insertPhoneNumber(transaction, {
        id: id ?? newId(nowMs), account_id: owner.accountId, livemode: owner.livemode, phone_number: body.phone_number, label: body.label ?? null,
        sip_trunk_id: body.sip_trunk_id ?? null, agent_id: body.agent_id ?? null, outbound_enabled: body.outbound_enabled ?? true,
        fallback_number: body.fallback_number ?? null, created_at: now, updated_at: now,
      });
    });
  } catch (error) {
    if (isDuplicate(error, 'phone_number_once')) throw new ApiError('phone_number_exists', undefined, { param: 'phone_number' });
    throw error;
  }
}

/** Changes the fields that were sent. */
export function changePhoneNumber(context: NumbersContext, owner: Owner, id: string, body: UpdatePhoneNumber): Promise<PhoneNumberRow> {
  return context.db.transaction(async (transaction) => {
    const row = await requirePhoneNumber(transaction, owner, id, 'id', 'change');
    if (Object.keys(body).length === 0) return row;
    await checkReferences(transaction, owner, body);
    const changed = { ...row, ...body, outbound_enabled: body.outbound_enabled === undefined ? row.outbound_enabled : (body.outbound_enabled ?? true) };
    return updatePhoneNumber(transaction, changed, new Date(context.clock.now()));
  });
}

/** Throws ApiError `phone_number_in_use` while a live call came through it. */
export function deletePhoneNumber(context: NumbersContext, owner: Owner, id: string): Promise<void> {
  return context.db.transaction(async (transaction) => {
    const row = await requirePhoneNumber(transaction, owner, id, 'id', 'delete');
    if (await isInLiveCall(transaction, 'phone_number_id', row.id)) throw new ApiError('phone_number_in_use', undefined, { param: 'id' });
    await markPhoneNumberDeleted(transaction, row.id, new Date(context.clock.now()));
  });
}

/** What becomes of an INVITE. */
export type InboundRoute =
  /** No trunk lets this address in: no answer at all. */
  | { kind: 'unknown_source' }
  /** 404. */
  | { kind: 'unknown_number'; trunks: SipTrunkRow[] }
  /** 480. */
  | { kind: 'no_agent'; number: PhoneNumberRow; trunk: SipTrunkRow }
  | { kind: 'route'; accountId: string; livemode: boolean; trunk: SipTrunkRow; number: PhoneNumberRow; agent: AgentRow };

/**
 * Finds who answers a call from `sourceAddress` (IPv4 or IPv6) to `calledUser` (the user of the Request-URI, with or
 * without the plus). The number must be on a trunk that lets the address in.
 */
export async function findInboundRoute(db: Queryable, call: { sourceAddress: string; calledUser: string }): Promise<InboundRoute> {
  const trunks = await findTrunksFor(db, call.sourceAddress);
  if (trunks.length === 0) return { kind: 'unknown_source' };
  const digits = /^\+?([0-9]{2,15})$/.exec(call.calledUser)?.[1];
  const number = digits === undefined ? undefined : await findDialled(db, [`+${digits}`], trunks.map(({ id }) => id));
  const trunk = trunks.find(({ id }) => id === number?.sip_trunk_id);
  if (!number || !trunk) return { kind: 'unknown_number', trunks };
  if (number.agent_id === null) return { kind: 'no_agent', number, trunk };
  const agent = await requireAgent(db, { accountId: number.account_id, livemode: number.livemode }, number.agent_id);
  return { kind: 'route', accountId: number.account_id, livemode: number.livemode, trunk, number, agent };
}

async function checkReferences(db: Queryable, owner: Owner, body: UpdatePhoneNumber): Promise<void> {
  if (body.agent_id) await requireAgent(db, owner, body.agent_id, 'agent_id');
  if (body.sip_trunk_id) await requireTrunk(db, owner, body.sip_trunk_id, 'sip_trunk_id');
}
