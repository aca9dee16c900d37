import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../app-type.ts';
import type { VersionHistory } from './history.ts';

/** Lets every request and answer pass through the changes since its version. After idempotency, which keeps answers as they are now. */
export function installVersions(app: App, history: VersionHistory): void {
  if (history.versions.length === 1) return;
  app.addHook('preValidation', async (request) => {
    if (!history.isCurrent(request.serviceVersion, routeOf(request)) && isObject(request.body)) {
      request.body = history.upgradeRequest(request.serviceVersion, routeOf(request), request.body);
    }
  });
  const downgrade = async (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> => {
    if (reply.statusCode >= 300 || typeof payload !== 'string' || history.isCurrent(request.serviceVersion, routeOf(request))) return payload;
    return JSON.stringify(history.downgradeAnswer(request.serviceVersion, routeOf(request), JSON.parse(payload) as Record<string, unknown>));
  };
  app.addHook('onRoute', (route) => {
    route.onSend = [...[route.onSend ?? []].flat(), downgrade];
  });
}

function routeOf(request: FastifyRequest): string {
  return `${request.method} ${request.routeOptions.url ?? ''}`;
}

function isObject(body: unknown): body is Record<string, unknown> {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}
