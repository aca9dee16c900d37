import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../../api/app-type.ts';
import { CSRF_COOKIE, csrfToken, SESSION_COOKIE } from '../../api/authentication.ts';
import { CONSOLE_ONLY, OPERATOR_ONLY } from '../../api/console-only.ts';
import { ApiError } from '../../api/errors.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import { networkOf, RateLimiter } from '../../api/rate-limit.ts';
import { IdParams, iso, NoBody, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { SESSION_SECONDS } from './actions.ts';
import { Account, AccountList, AccountWithKeys, ChangePassword, ConsoleSession, CreateAccount, FirstKey, FirstKeyMade, ListAccounts, SetUp, SignIn, UpdateAccount } from './console-schema.ts';
import { changePassword, createAccount, firstKey, isSetUp, setUp, signInWithPassword, signOut } from './people.ts';
import { findAccount, findPerson, listAccountRows, updateAccount } from './people-store.ts';
import type { AccountRow } from './store.ts';

/** Guesses at one password, and from one network: ten at once, then one in ninety seconds. */
const GUESSES = { perSecond: 1 / 90, burst: 10 };

/** Gives a browser its session: the secret out of reach of scripts, and the CSRF token that our page sends back. */
export function openConsoleSession(context: AppContext, reply: FastifyReply, session: string): FastifyReply {
  const cookie = { path: '/', sameSite: 'strict', secure: context.options.publicUrl.startsWith('https:'), maxAge: SESSION_SECONDS } as const;
  return reply
    .setCookie(SESSION_COOKIE, session, { ...cookie, httpOnly: true })
    .setCookie(CSRF_COOKIE, csrfToken(context.keyring, session), { ...cookie, httpOnly: false });
}

/** `/console/api`: signing in, setting up, and what only an operator does. No API key reaches any of it. */
export function consoleAccountRoutes(app: App, context: AppContext): void {
  sessionRoutes(app, context);
  operatorRoutes(app, context);
}

function sessionRoutes(app: App, context: AppContext): void {
  const { db, clock } = context;
  const config = { scope: 'any_key' } as const;
  const guesses = new RateLimiter(clock);
  const mayGuess = (name: string): void => {
    const { allowed, retryAfterSeconds } = guesses.take(name, GUESSES);
    if (!allowed) throw new ApiError('rate_limited', `Too many attempts at a password; wait ${retryAfterSeconds} s.`, { retryAfterSeconds });
  };

  app.post('/console/api/sign-in', { config: { scope: 'public' }, schema: { summary: 'Sign in', querystring: NoQuery, body: SignIn, response: { 200: ConsoleSession } } }, async (request, reply) => {
    // The address first: one that is refused must not fill the memory with names, until that of a real one is forgotten.
    mayGuess(`address:${networkOf(request.ip)}`);
    mayGuess(`email:${request.body.email.toLowerCase()}`);
    const { session, person } = await signInWithPassword(context, request.body);
    return openConsoleSession(context, reply, session).send(await presentSession(context, { accountId: person.account_id, personId: person.id, operator: person.operator }));
  });

  app.get('/console/api/session', { ...CONSOLE_ONLY, config, schema: { summary: 'Read who is signed in', querystring: NoQuery, response: { 200: ConsoleSession } } }, async ({ principal }) =>
    presentSession(context, principal));

  app.post('/console/api/sign-out', { ...CONSOLE_ONLY, config, schema: { summary: 'Sign out', body: NoBody, querystring: NoQuery } }, async (request, reply) => {
    await signOut(context, sessionOf(request));
    return reply.clearCookie(SESSION_COOKIE, { path: '/' }).clearCookie(CSRF_COOKIE, { path: '/' }).send({ object: 'console_session', signed_in: false });
  });

  app.post('/console/api/setup', { ...OPERATOR_ONLY, config, schema: { summary: 'Set up the first person', querystring: NoQuery, body: SetUp, response: { 201: ConsoleSession } } }, async ({ principal, body }, reply) => {
    const { account_name, ...person } = body;
    const { id } = await setUp(context, principal.accountId, person, account_name);
    return reply.code(201).send(await presentSession(context, { ...principal, personId: id }));
  });

  app.post('/console/api/password', { ...CONSOLE_ONLY, config, schema: { summary: 'Change the password', querystring: NoQuery, body: ChangePassword } }, async (request, reply) => {
    mayGuess(`person:${request.principal.personId ?? ''}`);
    await changePassword(context, sessionOf(request), request.principal.personId, request.body);
    return reply.send({ object: 'password', changed: true });
  });

  app.patch('/console/api/account', { ...CONSOLE_ONLY, config, schema: { summary: 'Change the account', querystring: NoQuery, body: UpdateAccount, response: { 200: Account } } }, async ({ principal, body }) =>
    present(await updateAccount(db, principal.accountId, body), principal.accountId));
}

function operatorRoutes(app: App, context: AppContext): void {
  const { db, keyring } = context;
  const config = { scope: 'any_key' } as const;

  app.get('/console/api/accounts', { ...OPERATOR_ONLY, config, schema: { summary: 'List accounts', querystring: ListAccounts, response: { 200: AccountList } } }, async ({ query, principal }) => {
    const page = readPage(keyring, query, 'accounts', { accountId: principal.accountId });
    return toPage(keyring, page, await listAccountRows(db, page), (row) => ({ atMs: row.created_at.getTime(), id: row.id }), (row) => present(row, row.id));
  });

  app.post('/console/api/accounts', { ...OPERATOR_ONLY, config, schema: { summary: 'Create an account', querystring: NoQuery, body: CreateAccount, response: { 201: AccountWithKeys } } }, async ({ body }, reply) => {
    const { account, keys } = await createAccount(context, body);
    return reply.code(201).send({ ...present(account, account.id), keys });
  });

  app.get('/console/api/accounts/:id', { ...OPERATOR_ONLY, config, schema: { summary: 'Read an account', params: IdParams, querystring: NoQuery, response: { 200: Account } } }, async ({ params }) =>
    present(await findAccount(db, params.id), params.id));

  app.patch('/console/api/accounts/:id', { ...OPERATOR_ONLY, config, schema: { summary: 'Change an account', params: IdParams, querystring: NoQuery, body: UpdateAccount, response: { 200: Account } } }, async ({ params, body }) =>
    present(await updateAccount(db, params.id, body), params.id));

  app.post('/console/api/accounts/:id/keys', { ...OPERATOR_ONLY, config, schema: { summary: 'Make a first key', params: IdParams, querystring: NoQuery, body: FirstKey, response: { 201: FirstKeyMade } } }, async ({ params, body }, reply) => {
    const { id } = present(await findAccount(db, params.id), params.id);
    const secret = await db.transaction((transaction) => firstKey(context, transaction, id, body.mode === 'live'));
    return reply.code(201).send({ object: 'first_key' as const, mode: body.mode, secret });
  });
}

async function presentSession({ db }: AppContext, principal: { accountId: string; personId?: string; operator?: boolean }): Promise<ConsoleSession> {
  const account = present(await findAccount(db, principal.accountId), principal.accountId);
  const person = principal.personId === undefined ? undefined : await findPerson(db, principal.personId);
  return {
    object: 'console_session', account, operator: principal.operator ?? false, setup_done: await isSetUp(db),
    person: person ? { id: person.id, object: 'person', email: person.email, name: person.name, operator: person.operator } : null,
  };
}

function present(row: AccountRow | undefined, id: string): Account {
  if (!row) throw new ApiError('account_not_found', `No account ${id} on this installation.`, { param: 'id' });
  return { id: row.id, object: 'account', name: row.name, allowed_origins: row.allowed_origins, created_at: iso(row.created_at) };
}

function sessionOf(request: FastifyRequest): string {
  return request.cookies[SESSION_COOKIE] ?? '';
}
