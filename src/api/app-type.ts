import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from './principal.ts';
import type { KnownRoutes } from './routes-known.ts';
import type { RouteScope } from './scopes.ts';

/** Fastify with our schemas' types. */
export type App = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, TypeBoxTypeProvider>;

declare module 'fastify' {
  interface FastifyInstance {
    knownRoutes: KnownRoutes;
  }
  interface FastifyRequest {
    /** Who asks. Throws on a public route. */
    principal: Principal;
    /** The version that answers this request. */
    serviceVersion: string;
  }
  interface FastifyContextConfig {
    /** What the caller must hold; a route without it stops the start. */
    scope?: RouteScope;
  }
}
