import ipaddr from 'ipaddr.js';
import { ApiError } from '../../api/errors.ts';
import type { AppContext } from '../../context.ts';
import type { Queryable } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import { isInLiveCall } from '../calls/in-use.ts';
import { detachTrunk } from '../phone-numbers/lookup.ts';
import { CODECS, type CreateSipTrunk, type UpdateSipTrunk } from './schema.ts';
import { findTrunk, findTrunksByAddress, insertTrunk, markTrunkDeleted, selectAllowedAddresses, updateTrunk, type SipTrunkRow } from './store.ts';

export type { SipTrunkRow } from './store.ts';

interface Owner { accountId: string; livemode: boolean }
type TrunksContext = Pick<AppContext, 'db' | 'clock' | 'trunkChanges'>;

/** Throws ApiError `invalid_parameter` for an address that is none. */
export function createTrunk(context: TrunksContext, owner: Owner, body: CreateSipTrunk, id?: string): Promise<SipTrunkRow> {
  const nowMs = context.clock.now();
  const now = new Date(nowMs);
  const allowed = toRanges(body.allowed_addresses);
  return context.db.transaction(async (transaction) => {
    transaction.afterCommit(() => context.trunkChanges.notify());
    return insertTrunk(transaction, {
      id: id ?? newId(nowMs), account_id: owner.accountId, livemode: owner.livemode, name: body.name, direction: body.direction ?? 'inbound',
      allowed_addresses: allowed, codecs: body.codecs ?? [...CODECS], dtmf_mode: body.dtmf_mode ?? 'auto',
      max_concurrent_calls: body.max_concurrent_calls ?? null, enabled: body.enabled ?? true, created_at: now, updated_at: now,
    });
  });
}

/** The trunk `id` names, for a caller of its own account and mode. Throws ApiError `sip_trunk_not_found`, `key_mode_mismatch`. */
export async function requireTrunk(db: Queryable, owner: Owner, id: string, param = 'id', lock: 'lock' | 'read' = 'read'): Promise<SipTrunkRow> {
  const row = await findTrunk(db, owner.accountId, id, lock);
  if (!row) throw new ApiError('sip_trunk_not_found', `No SIP trunk ${id} in this account.`, { param });
  if (row.livemode !== owner.livemode) throw new ApiError('key_mode_mismatch', `SIP trunk ${id} belongs to ${row.livemode ? 'live' : 'test'} mode.`, { param });
  return row;
}

/** Changes the fields that were sent. */
export function changeTrunk(context: TrunksContext, owner: Owner, id: string, body: UpdateSipTrunk): Promise<SipTrunkRow> {
  const { allowed_addresses, codecs, ...rest } = body;
  const ranges = allowed_addresses === undefined ? {} : { allowed_addresses: toRanges(allowed_addresses) };
  return context.db.transaction(async (transaction) => {
    const row = await requireTrunk(transaction, owner, id, 'id', 'lock');
    transaction.afterCommit(() => context.trunkChanges.notify());
    return updateTrunk(transaction, { ...row, ...rest, ...ranges, codecs: codecs === undefined ? row.codecs : (codecs ?? [...CODECS]) }, new Date(context.clock.now()));
  });
}

/** Throws ApiError `sip_trunk_in_use` while a live call came through it. */
export function deleteTrunk(context: TrunksContext, owner: Owner, id: string): Promise<void> {
  return context.db.transaction(async (transaction) => {
    const row = await requireTrunk(transaction, owner, id, 'id', 'lock');
    if (await isInLiveCall(transaction, 'sip_trunk_id', row.id)) throw new ApiError('sip_trunk_in_use', undefined, { param: 'id' });
    const now = new Date(context.clock.now());
    transaction.afterCommit(() => context.trunkChanges.notify());
    await markTrunkDeleted(transaction, row.id, now);
    await detachTrunk(transaction, row.id, now);
  });
}

/** Trunks that let calls from `address` in, of every account. */
export function findTrunksFor(db: Queryable, address: string): Promise<SipTrunkRow[]> {
  return ipaddr.isValid(address) ? findTrunksByAddress(db, ipaddr.process(address).toString()) : Promise.resolve([]);
}

/** Every range that calls may come from, as CIDR; read again when `trunkChanges` tells. */
export function listAllowedAddresses(db: Queryable): Promise<string[]> {
  return selectAllowedAddresses(db);
}

/** Ranges with the host bits cleared, as PostgreSQL's cidr wants them; a bare address is a range of one. */
function toRanges(addresses: readonly string[]): string[] {
  return addresses.map((text, index) => {
    try {
      if (!text.includes('/')) return single(text);
      const [address, bits] = ipaddr.parseCIDR(text);
      const network = address.kind() === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(text) : ipaddr.IPv6.networkAddressFromCIDR(text);
      return `${network.toString()}/${bits}`;
    } catch {
      throw new ApiError('invalid_parameter', `allowed_addresses[${index}] must be an IP address or a range such as 203.0.113.0/24.`, { param: `allowed_addresses[${index}]` });
    }
  });
}

function single(text: string): string {
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) throw new Error('not an address');
  const address = ipaddr.process(text);
  return `${address.toString()}/${address.kind() === 'ipv4' ? 32 : 128}`;
}
