import { ApiError } from '../../api/errors.ts';
import type { Keyring } from '../../api/keyring.ts';
import type { Principal } from '../../api/principal.ts';
import { KEY_PREFIX_CHARACTERS, newApiKeySecret } from '../../api/secrets.ts';
import type { Scope } from '../../api/scopes.ts';
import { PUBLISHED_VERSIONS } from '../../api/versions/history.ts';
import type { AppContext } from '../../context.ts';
import { isDuplicate, type Queryable } from '../../db/database.ts';
import type { RowLock } from '../../db/row-lock.ts';
import { newId } from '../../db/id.ts';
import type { CreateApiKey } from './schema.ts';
import { findApiKey, insertApiKey, setExpiry, setRevoked, type ApiKeyRow } from './store.ts';

/** A rotated key goes on working so long. */
const ROTATION_MS = 24 * 3_600_000;

export interface NewApiKey { row: ApiKeyRow; secret: string }

export interface ApiKeyDraft {
  /** A new one when absent. */
  id?: string;
  accountId: string;
  livemode: boolean;
  name: string;
  scopes: Scope[];
  serviceVersion?: string;
  expiresAt?: Date | null;
  rotatedFrom?: string;
}

/** Makes a key; the secret exists in this answer only, the database holds its keyed hash. */
export async function makeApiKey(db: Queryable, keyring: Keyring, draft: ApiKeyDraft, nowMs: number): Promise<NewApiKey> {
  const secret = newApiKeySecret(draft.livemode);
  const row = await insertApiKey(db, {
    id: draft.id ?? newId(nowMs), account_id: draft.accountId, livemode: draft.livemode, name: draft.name, prefix: secret.slice(0, KEY_PREFIX_CHARACTERS),
    digest: keyring.digest(secret), scopes: draft.scopes, service_version: draft.serviceVersion ?? PUBLISHED_VERSIONS.current,
    rotated_from: draft.rotatedFrom ?? null, created_at: new Date(nowMs), last_used_at: null, expires_at: draft.expiresAt ?? null, revoked_at: null,
  });
  return { row, secret };
}

/** A key of the caller's mode with scopes the caller holds. Throws ApiError `key_mode_mismatch`, `scope_escalation`. */
export function createApiKey(context: AppContext, principal: Principal, body: CreateApiKey, keyId?: string): Promise<NewApiKey> {
  if (body.mode !== undefined && (body.mode === 'live') !== principal.livemode) {
    throw new ApiError('key_mode_mismatch', `A ${modeName(principal.livemode)} key cannot make a ${body.mode} key.`, { param: 'mode' });
  }
  const missing = body.scopes.filter((scope) => !principal.scopes.has(scope));
  if (missing.length > 0) throw new ApiError('scope_escalation', `The calling key does not hold ${missing.join(', ')}.`, { param: 'scopes' });
  const expiresAt = body.expires_at ? new Date(body.expires_at) : null;
  if (expiresAt && expiresAt.getTime() <= context.clock.now()) throw new ApiError('invalid_parameter', 'expires_at is in the past.', { param: 'expires_at' });
  const draft = { accountId: principal.accountId, livemode: principal.livemode, name: body.name, scopes: body.scopes, expiresAt, serviceVersion: context.versions.current, ...(keyId === undefined ? {} : { id: keyId }) };
  return context.db.transaction((transaction) => makeApiKey(transaction, context.keyring, draft, context.clock.now()));
}

/** Throws ApiError `api_key_not_found`, `key_mode_mismatch`. */
export async function requireApiKey(db: Queryable, principal: Principal, id: string, lock: RowLock = 'read'): Promise<ApiKeyRow> {
  const row = await findApiKey(db, principal.accountId, id, lock);
  if (!row) throw new ApiError('api_key_not_found', `No API key ${id} in this account.`, { param: 'id' });
  if (row.livemode !== principal.livemode) throw new ApiError('key_mode_mismatch', `${id} is a ${modeName(row.livemode)} key.`, { param: 'id' });
  return row;
}

/** A replacement with the same name, scopes and version; the old one works for another 24 hours. */
export async function rotateApiKey(context: AppContext, principal: Principal, id: string, replacementId?: string): Promise<NewApiKey> {
  const nowMs = context.clock.now();
  try {
    return await context.db.transaction(async (transaction) => {
      // Of a rotation and a revocation at once, one sees what the other did.
      const old = await requireApiKey(transaction, principal, id, 'change');
      if (old.revoked_at || (old.expires_at && old.expires_at.getTime() <= nowMs)) throw new ApiError('api_key_revoked', undefined, { param: 'id' });
      const missing = old.scopes.filter((scope) => !principal.scopes.has(scope));
      if (missing.length > 0) throw new ApiError('scope_escalation', `The calling key does not hold ${missing.join(', ')}, which the replacement would.`);
      await setExpiry(transaction, old.id, new Date(nowMs + ROTATION_MS));
      await context.keys.changed(transaction);
      return makeApiKey(transaction, context.keyring, {
        accountId: old.account_id, livemode: old.livemode, name: old.name, scopes: old.scopes, serviceVersion: old.service_version,
        expiresAt: old.expires_at, rotatedFrom: old.id, ...(replacementId === undefined ? {} : { id: replacementId }),
      }, nowMs);
    });
  } catch (error) {
    if (isDuplicate(error, 'api_key_rotated_once')) throw new ApiError('api_key_already_rotated', undefined, { param: 'id' });
    throw error;
  }
}

/** At once, without a grace period. */
export function revokeApiKey(context: AppContext, principal: Principal, id: string): Promise<void> {
  return context.db.transaction(async (transaction) => {
    const row = await requireApiKey(transaction, principal, id, 'change');
    await setRevoked(transaction, row.id, new Date(context.clock.now()));
    await context.keys.changed(transaction);
  });
}

function modeName(livemode: boolean): 'live' | 'test' {
  return livemode ? 'live' : 'test';
}
