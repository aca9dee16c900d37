import ipaddr from 'ipaddr.js';
import { ApiError } from '../../api/errors.ts';
import type { AppContext } from '../../context.ts';
import type { Queryable } from '../../db/database.ts';
import type { RowLock } from '../../db/row-lock.ts';
import { newId } from '../../db/id.ts';
import type { DialTrunk } from '../calls/live-calls.ts';
import { isInLiveCall } from '../calls/in-use.ts';
import { detachTrunk } from '../phone-numbers/lookup.ts';
import { draftOf, settingsOf } from './draft.ts';
import type { CreateSipTrunk, UpdateSipTrunk } from './schema.ts';
import { findTrunk, findTrunksByAddress, insertTrunk, markTrunkDeleted, selectAllowedAddresses, selectPassword, updateTrunk, type SipTrunkRow } from './store.ts';

export type { SipTrunkRow } from './store.ts';

interface Owner { accountId: string; livemode: boolean }
type TrunksContext = Pick<AppContext, 'db' | 'clock' | 'trunkChanges' | 'keyring'>;

/** Throws ApiError `invalid_parameter` or `missing_parameter` for what does not fit together. */
export function createTrunk(context: TrunksContext, owner: Owner, body: CreateSipTrunk, id: string = newId(context.clock.now())): Promise<SipTrunkRow> {
  const now = new Date(context.clock.now());
  const draft = draftOf(body, typeof body.password === 'string');
  const password = typeof body.password === 'string' ? context.keyring.seal(body.password, placeOf(id)) : null;
  return context.db.transaction(async (transaction) => {
    transaction.afterCommit(() => context.trunkChanges.notify());
    return insertTrunk(transaction, { id, account_id: owner.accountId, livemode: owner.livemode, ...draft, password, created_at: now, updated_at: now });
  });
}

/** The trunk `id` names, for a caller of its own account and mode. Throws ApiError `sip_trunk_not_found`, `key_mode_mismatch`. */
export async function requireTrunk(db: Queryable, owner: Owner, id: string, param = 'id', lock: RowLock = 'read'): Promise<SipTrunkRow> {
  const row = await findTrunk(db, owner.accountId, id, lock);
  if (!row) throw new ApiError('sip_trunk_not_found', `No SIP trunk ${id} in this account.`, { param });
  if (row.livemode !== owner.livemode) throw new ApiError('key_mode_mismatch', `SIP trunk ${id} belongs to ${row.livemode ? 'live' : 'test'} mode.`, { param });
  return row;
}

/** Changes the fields that were sent. */
export function changeTrunk(context: TrunksContext, owner: Owner, id: string, body: UpdateSipTrunk): Promise<SipTrunkRow> {
  return context.db.transaction(async (transaction) => {
    const row = await requireTrunk(transaction, owner, id, 'id', 'change');
    if (Object.keys(body).length === 0) return row;
    const { password } = body;
    const hasPassword = password === undefined ? row.password_set : password !== null;
    const draft = draftOf({ ...body, name: body.name ?? row.name }, hasPassword, { ...row, settings: settingsOf(row.settings) });
    const sealed = typeof password === 'string' ? context.keyring.seal(password, placeOf(row.id)) : password;
    transaction.afterCommit(() => context.trunkChanges.notify());
    return updateTrunk(transaction, row.id, draft, sealed, new Date(context.clock.now()));
  });
}

/** Throws ApiError `sip_trunk_in_use` while a live call came through it. */
export function deleteTrunk(context: TrunksContext, owner: Owner, id: string): Promise<void> {
  return context.db.transaction(async (transaction) => {
    const row = await requireTrunk(transaction, owner, id, 'id', 'delete');
    if (await isInLiveCall(transaction, 'sip_trunk_id', row.id)) throw new ApiError('sip_trunk_in_use', undefined, { param: 'id' });
    const now = new Date(context.clock.now());
    transaction.afterCommit(() => context.trunkChanges.notify());
    await markTrunkDeleted(transaction, row.id, now);
    await detachTrunk(transaction, row.id, now);
  });
}

/** How a call goes out through this trunk, its password opened. Throws ApiError `no_trunk` for one that this version cannot call through. */
export async function dialTrunkOf(context: Pick<TrunksContext, 'keyring'>, db: Queryable, row: SipTrunkRow): Promise<DialTrunk> {
  const settings = settingsOf(row.settings);
  const { host, transport, outbound_proxy: proxy } = settings;
  const codecs = row.codecs.filter((codec) => codec === 'PCMU' || codec === 'PCMA');
  if (host === null) throw cannotCarry(row, 'it has no host, and calls to a peer that registers here are not placed yet');
  if (transport === 'tls' || proxy?.startsWith('sips:')) throw cannotCarry(row, 'TLS is not spoken yet; use udp or tcp');
  if (settings.media_encryption === 'required') throw cannotCarry(row, 'it requires encrypted media, which is not spoken yet; set media_encryption to disabled or optional');
  if (codecs.length === 0) throw cannotCarry(row, 'it has neither PCMU nor PCMA among its codecs');
  const sealed = await selectPassword(db, row.id);
  return {
    host, transport, codecs,
    port: settings.port, outboundProxy: proxy, username: settings.username, password: sealed === null ? null : context.keyring.unseal(sealed, placeOf(row.id)), realm: settings.realm,
    fromDomain: settings.from_domain, callerIdMode: settings.caller_id_mode, numberFormat: settings.number_format, headers: settings.headers,
  };
}

function cannotCarry({ name }: SipTrunkRow, why: string): ApiError {
  return new ApiError('no_trunk', `The SIP trunk "${name}" cannot carry the call: ${why}.`, { param: 'from_phone_number_id' });
}

/** Trunks that let calls from `address` in, of every account. */
export function findTrunksFor(db: Queryable, address: string): Promise<SipTrunkRow[]> {
  return ipaddr.isValid(address) ? findTrunksByAddress(db, ipaddr.process(address).toString()) : Promise.resolve([]);
}

/** Every range that calls may come from, as CIDR; read again when `trunkChanges` tells. */
export function listAllowedAddresses(db: Queryable): Promise<string[]> {
  return selectAllowedAddresses(db);
}

/** Binds a sealed password to its row. */
function placeOf(id: string): string {
  return `sip_trunk:password:${id}`;
}
