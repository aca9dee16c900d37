import type { FastifyRequest } from 'fastify';
import { ApiError } from './errors.ts';

/** For `/console/api/*`: to an API key, whatever its scopes, these routes do not exist. Throws ApiError `route_not_found`. */
export function requireConsole(request: Pick<FastifyRequest, 'principal'>): void {
  if (request.principal.kind !== 'session') throw new ApiError('route_not_found', 'No such path. See the API reference.');
}

/** For what changes the installation. Throws ApiError `operator_only`. */
export function requireOperator(request: Pick<FastifyRequest, 'principal'>): void {
  requireConsole(request);
  if (request.principal.operator !== true) throw new ApiError('operator_only');
}

/** Route options: asks before the body is looked at. */
export const CONSOLE_ONLY = {
  onRequest: async (request: FastifyRequest): Promise<void> => requireConsole(request),
};

/** The same for what only an operator does. */
export const OPERATOR_ONLY = {
  onRequest: async (request: FastifyRequest): Promise<void> => requireOperator(request),
};
