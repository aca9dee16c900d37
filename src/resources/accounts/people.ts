import { ApiError } from '../../api/errors.ts';
import { SCOPES } from '../../api/scopes.ts';
import { newToken } from '../../api/secrets.ts';
import type { AppContext } from '../../context.ts';
import { isDuplicate, type Queryable } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import { makeApiKey } from '../api-keys/actions.ts';
import { SESSION_MS } from './actions.ts';
import { hashPassword, isPassword } from './passwords.ts';
import { deleteSession, existsPerson, findPerson, findPersonByEmail, insertPerson, updateAccount, updatePassword, type PersonRow } from './people-store.ts';
import { insertAccount, insertSession, lockFirstStart, type AccountRow } from './store.ts';

export interface Credentials { email: string; password: string }
export interface FirstKeys { live: string; test: string }

type PeopleContext = Pick<AppContext, 'db' | 'keyring' | 'clock'>;

/** A session secret for somebody with the right password. Throws ApiError `invalid_credentials`, which does not tell what was wrong. */
export async function signInWithPassword(context: PeopleContext, { email, password }: Credentials): Promise<{ session: string; person: PersonRow }> {
  const { db, keyring, clock } = context;
  const person = await findPersonByEmail(db, email);
  const right = await isPassword(password, person?.password);
  if (!person || !right) throw new ApiError('invalid_credentials');
  const session = newToken('wvc_');
  const createdAt = new Date(clock.now());
  await insertSession(db, { digest: keyring.digest(session), accountId: person.account_id, personId: person.id, createdAt, expiresAt: new Date(createdAt.getTime() + SESSION_MS) });
  return { session, person };
}

export function signOut(context: PeopleContext, session: string): Promise<void> {
  return deleteSession(context.db, context.keyring.digest(session));
}

/** Whether somebody can sign in with a password yet. */
export function isSetUp(db: Queryable): Promise<boolean> {
  return existsPerson(db);
}

/** The installation's first person, its operator. Throws ApiError `setup_done`. */
export async function setUp(context: PeopleContext, accountId: string, person: Credentials & { name?: string | undefined }, accountName: string | undefined): Promise<PersonRow> {
  const password = await hashPassword(person.password);
  return context.db.transaction(async (transaction) => {
    await lockFirstStart(transaction);
    if (await existsPerson(transaction)) throw new ApiError('setup_done');
    if (accountName !== undefined) await updateAccount(transaction, accountId, { name: accountName });
    return addPerson(context, transaction, { ...person, password, accountId, operator: true });
  });
}

/** A further account with its first person and its first keys. Throws ApiError `account_exists`. */
export async function createAccount(context: PeopleContext, body: Credentials & { name: string; person_name?: string | undefined }): Promise<{ account: AccountRow; keys: FirstKeys }> {
  const { db, clock } = context;
  const password = await hashPassword(body.password);
  const account = { id: newId(clock.now()), name: body.name, createdAt: new Date(clock.now()) };
  try {
    return await db.transaction(async (transaction) => {
      await insertAccount(transaction, account);
      await addPerson(context, transaction, { email: body.email, password, name: body.person_name, accountId: account.id, operator: false });
      const keys = { live: await firstKey(context, transaction, account.id, true), test: await firstKey(context, transaction, account.id, false) };
      return { account: { id: account.id, name: account.name, allowed_origins: [], created_at: account.createdAt }, keys };
    });
  } catch (error) {
    if (isDuplicate(error, 'person_email')) throw new ApiError('account_exists', undefined, { param: 'email' });
    throw error;
  }
}

/** A key with every scope, for an account that has lost its own. */
export async function firstKey({ keyring, clock }: PeopleContext, db: Queryable, accountId: string, livemode: boolean): Promise<string> {
  const draft = { accountId, livemode, name: `First ${livemode ? 'live' : 'test'} key`, scopes: [...SCOPES] };
  return (await makeApiKey(db, keyring, draft, clock.now())).secret;
}

/** Ends every other session of theirs. Throws ApiError `invalid_credentials`, `invalid_parameter` for a session without a person. */
export async function changePassword(context: PeopleContext, session: string, personId: string | undefined, change: { current_password: string; new_password: string }): Promise<void> {
  const person = personId === undefined ? undefined : await findPerson(context.db, personId);
  if (!person) throw new ApiError('invalid_parameter', 'This session was opened with the printed address and has no password. Sign in with e-mail and password first.');
  if (!(await isPassword(change.current_password, person.password))) throw new ApiError('invalid_credentials', 'The current password is not right.', { param: 'current_password' });
  const password = await hashPassword(change.new_password);
  await context.db.transaction((transaction) => updatePassword(transaction, person.id, password, context.keyring.digest(session), new Date(context.clock.now())));
}

function addPerson(context: PeopleContext, db: Queryable, person: Credentials & { name?: string | undefined; accountId: string; operator: boolean }): Promise<PersonRow> {
  const now = context.clock.now();
  return insertPerson(db, {
    id: newId(now), account_id: person.accountId, email: person.email, name: person.name ?? null, operator: person.operator, password: person.password, created_at: new Date(now),
  });
}
