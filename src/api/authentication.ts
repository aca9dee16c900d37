import { timingSafeEqual } from 'node:crypto';
import type {} from '@fastify/cookie';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import { ApiError } from './errors.ts';
import type { Keyring } from './keyring.ts';
import type { Principal, PrincipalSource } from './principal.ts';
import { SCOPES, type Scope } from './scopes.ts';
import type { VersionHistory } from './versions/history.ts';

/** Cookies of somebody signed in. The CSRF one is readable by our page, which sends it back as a header. */
export const SESSION_COOKIE = 'wirevoice_session';
export const CSRF_COOKIE = 'wirevoice_csrf';
export const CSRF_HEADER = 'x-csrf-token';
/** `live` (default) or `test`: which world a signed-in person looks at. */
export const MODE_HEADER = 'wirevoice-mode';

export interface AuthenticationOptions {
  keyring: Keyring;
  principals: PrincipalSource;
  clock: Clock;
  versions: VersionHistory;
}

const ALL_SCOPES: ReadonlySet<Scope> = new Set(SCOPES);
const CHANGES_NOTHING = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Who asks. Throws ApiError with status 401, or 403 for a session without its CSRF token. */
export async function authenticate(request: FastifyRequest, options: AuthenticationOptions): Promise<Principal> {
  const header = request.headers.authorization;
  if (header !== undefined) return authenticateKey(header, options);
  const session = request.cookies[SESSION_COOKIE];
  if (session !== undefined) return withSession(session, request, options);
  throw unauthorized('missing_api_key', 'Send the API key as "Authorization: Bearer <key>".');
}

/** Throws ApiError `missing_scope`. */
export function requireScope(principal: Principal, scope: Scope | 'any_key'): void {
  if (scope !== 'any_key' && !principal.scopes.has(scope)) throw new ApiError('missing_scope', `This key lacks the scope ${scope}.`);
}

/** The token that a session's page sends with every change. */
export function csrfToken(keyring: Keyring, session: string): string {
  return keyring.signSession(`csrf:${session}`).toString('base64url');
}

/** The holder of the API key in an Authorization header. Throws ApiError with status 401. */
export async function authenticateKey(header: string, { principals, clock }: Pick<AuthenticationOptions, 'principals' | 'clock'>): Promise<Principal> {
  const [, secret = ''] = /^Bearer +(\S+)$/i.exec(header) ?? [];
  if (secret === '') throw unauthorized('missing_api_key', 'The Authorization header must be "Bearer <key>".');
  const key = await principals.byApiKey(secret);
  if (!key) throw unauthorized('invalid_api_key', 'This API key does not exist. Check that it was copied whole.');
  if (key.revokedAt) throw unauthorized('revoked_api_key', 'This API key was revoked.');
  if (key.expiresAt && key.expiresAt.getTime() <= clock.now()) throw unauthorized('expired_api_key', 'This API key has expired; use its replacement.');
  return {
    kind: 'api_key', accountId: key.accountId, livemode: key.livemode, scopes: new Set(key.scopes), bucket: `key:${key.id}`,
    serviceVersion: key.serviceVersion, apiKeyId: key.id,
  };
}

async function withSession(session: string, request: FastifyRequest, { keyring, principals, versions }: AuthenticationOptions): Promise<Principal> {
  const digest = keyring.digest(session);
  const found = await principals.bySession(digest);
  if (!found) throw unauthorized('missing_api_key', 'The session has ended. Sign in again.');
  if (!CHANGES_NOTHING.has(request.method) && !sameText(String(request.headers[CSRF_HEADER] ?? ''), csrfToken(keyring, session))) {
    throw new ApiError('invalid_csrf_token', `Send the value of the cookie ${CSRF_COOKIE} in the header X-CSRF-Token.`);
  }
  return {
    kind: 'session', accountId: found.accountId, livemode: request.headers[MODE_HEADER] !== 'test', scopes: ALL_SCOPES,
    bucket: `session:${digest.toString('hex')}`, serviceVersion: versions.current,
    ...(found.personId === undefined ? {} : { personId: found.personId }), operator: found.operator,
  };
}

function unauthorized(code: 'missing_api_key' | 'invalid_api_key' | 'revoked_api_key' | 'expired_api_key', message: string): ApiError {
  return new ApiError(code, message, { headers: { 'WWW-Authenticate': 'Bearer' } });
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
