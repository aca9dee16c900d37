import type { AppContext } from '../context.ts';
import type { App } from './app-type.ts';

/** A check that has not answered by then has failed. */
const CHECK_TIMEOUT_MS = 2000;

/** `/healthz`: the process is up. `/readyz`: every check is well, else 503 and which are not. */
export function healthRoutes(app: App, { checks }: AppContext): void {
  app.get('/healthz', { config: { scope: 'public' } }, async () => ({ status: 'ok' }));
  app.get('/readyz', { config: { scope: 'public' } }, async (_request, reply) => {
    const faults = await Promise.all(checks.map(async ({ name, run }) => [name, await faultOf(run)] as const));
    const failing = Object.fromEntries(faults.filter(([, fault]) => fault !== undefined));
    if (Object.keys(failing).length === 0) return { status: 'ready' };
    return reply.code(503).header('Retry-After', '1').send({ status: 'not_ready', failing });
  });
}

async function faultOf(run: () => Promise<string | undefined>): Promise<string | undefined> {
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve(`no answer within ${CHECK_TIMEOUT_MS} ms`), CHECK_TIMEOUT_MS);
  try {
    return await Promise.race([run(), late.promise]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}
