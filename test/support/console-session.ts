import { csrfToken, CSRF_HEADER, SESSION_COOKIE } from '../../src/api/authentication.ts';
import { createSignInToken, signIn } from '../../src/resources/accounts/actions.ts';
import type { ApiHarness } from './api-harness.ts';

/** Headers of somebody signed in on the console; to be sent with `key: null`. */
export async function signedIn({ context: { db, keyring, clock } }: ApiHarness, accountId: string): Promise<Record<string, string>> {
  const token = await createSignInToken(db, keyring, accountId, clock.now());
  const session = await signIn(db, keyring, token, clock.now()) ?? '';
  return { cookie: `${SESSION_COOKIE}=${session}`, [CSRF_HEADER]: csrfToken(keyring, session) };
}
