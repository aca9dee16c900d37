import { ApiError } from '../../api/errors.ts';
import type { Keyring } from '../../api/keyring.ts';
import { newToken } from '../../api/secrets.ts';
import type { Database, Queryable } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import { deleteExpired, existsAccount, findAllowedOrigins, findFirstAccount, findSession, insertAccount, insertSession, insertSignInToken, lockFirstStart, selectAccountForUpdate, takeSignInToken } from './store.ts';

const SIGN_IN_MS = 15 * 60_000;
export const SESSION_MS = 12 * 3_600_000;
export const SESSION_SECONDS = SESSION_MS / 1000;

/** A token that opens one session on the console, once, within 15 minutes. Only its digest is stored. */
export async function createSignInToken(db: Database, keyring: Keyring, accountId: string, nowMs: number): Promise<string> {
  const token = newToken('wvs_');
  await insertSignInToken(db, { digest: keyring.digest(token), accountId, expiresAt: new Date(nowMs + SIGN_IN_MS) });
  return token;
}

/** Exchanges a sign-in token for a session secret; undefined: used, expired or never issued. */
export async function signIn(db: Database, keyring: Keyring, token: string, nowMs: number): Promise<string | undefined> {
  const session = newToken('wvc_');
  const now = new Date(nowMs);
  return db.transaction(async (transaction) => {
    const taken = await takeSignInToken(transaction, keyring.digest(token), now);
    if (!taken) return undefined;
    await insertSession(transaction, { digest: keyring.digest(session), accountId: taken.account_id, createdAt: now, expiresAt: new Date(nowMs + SESSION_MS) });
    return session;
  });
}

/** The account of an open session. */
export async function findSessionAccount(db: Database, digest: Buffer, nowMs: number): Promise<{ accountId: string; personId?: string; operator: boolean } | undefined> {
  const row = await findSession(db, digest, new Date(nowMs));
  // Without a person: somebody at the machine itself, who can read every secret of it anyway.
  return row && { accountId: row.account_id, operator: row.operator ?? true, ...(row.person_id === null ? {} : { personId: row.person_id }) };
}

/** Throws ApiError `account_not_found`. */
export async function requireAccount(db: Queryable, id: string, param = 'id'): Promise<void> {
  if (!(await existsAccount(db, id))) throw new ApiError('account_not_found', `No account ${id} on this installation.`, { param });
}

/** Browser origins that may join this account's realtime sessions. */
export function listAllowedOrigins(db: Database, accountId: string): Promise<string[]> {
  return findAllowedOrigins(db, accountId);
}

/** Lets changes to what an account has one of happen one after another, until the transaction ends. */
export function lockAccount(db: Queryable, accountId: string): Promise<void> {
  return selectAccountForUpdate(db, accountId);
}

/** The installation's first account; `isNew` for the one caller that made it. To be called in a transaction. */
export async function ensureFirstAccount(db: Queryable, name: string, nowMs: number): Promise<{ accountId: string; isNew: boolean }> {
  await lockFirstStart(db);
  const existing = await findFirstAccount(db);
  if (existing) return { accountId: existing.id, isNew: false };
  const account = { id: newId(nowMs), name, createdAt: new Date(nowMs) };
  await insertAccount(db, account);
  return { accountId: account.id, isNew: true };
}

/** Sessions and sign-in tokens that nobody can use any more. */
export function deleteExpiredSessions(db: Queryable, before: Date, most: number): Promise<number> {
  return deleteExpired(db, before, most);
}
