import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode } from './errors.ts';
import type { MultipartRules, Upload } from './multipart-rules.ts';
import type { Principal } from './principal.ts';
import type { Recall } from './recall.ts';
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
    /** The id of what this POST makes: the same again when a retry with its Idempotency-Key takes over after a crash. */
    resourceId: string;
    /** Files of a multipart body. */
    uploads: Upload[];
  }
  interface FastifySchema {
    /** What the operation does, as an imperative; for the API reference. */
    summary?: string;
    description?: string;
  }
  interface FastifyContextConfig {
    /** What the caller must hold; a route without it stops the start. */
    scope?: RouteScope;
    /**
     * For POST: how a retry finds what the first request did when its answer was lost. `no_effect`: the route changes nothing.
     * A POST of the API without it stops the start.
     */
    recall?: Recall | 'no_effect';
    /** A POST that makes nothing but acts on the object its path names: its stored answer is that object's, and goes with it. */
    actsOnObject?: true;
    /** Codes that this route answers besides those that every route can. */
    errors?: readonly ErrorCode[];
    /** Draws from this bucket instead of that of its method. */
    rate?: 'call';
    /** Takes multipart bodies too; text fields become the body, files `request.uploads`. */
    multipart?: MultipartRules;
    /** Media types that a body may have besides JSON, taken as text. */
    textBodies?: readonly string[];
    /** Media types of a successful answer besides JSON; a route without a response schema must name them. */
    produces?: readonly string[];
  }
}
