import Type from 'typebox';
import type { App } from '../../api/app-type.ts';
import type { AppContext } from '../../context.ts';
import { signIn } from './actions.ts';
import { consoleAccountRoutes, openConsoleSession } from './console-routes.ts';

const SignInQuery = Type.Object({ token: Type.String({ minLength: 1, maxLength: 128 }) }, { additionalProperties: false });

const EXPIRED_PAGE = '<!doctype html><meta charset="utf-8"><title>Sign in</title><p>This address was used before or is older than 15 minutes. Start Wirevoice again: it prints a fresh one.</p>';

/** `GET /talk/sign-in?token=…`: the printed address that opens a session and leads to the page. */
export function accountRoutes(app: App, context: AppContext): void {
  consoleAccountRoutes(app, context);
  // Without HEAD: it would use the token up for whoever only looks.
  app.get('/talk/sign-in', { exposeHeadRoute: false, config: { scope: 'public' }, schema: { querystring: SignInQuery } }, async (request, reply) => {
    const session = await signIn(context.db, context.keyring, request.query.token, context.clock.now());
    if (session === undefined) return reply.code(403).type('text/html; charset=utf-8').send(EXPIRED_PAGE);
    return openConsoleSession(context, reply, session).redirect('/talk', 303);
  });
}
