import { ApiError } from '../../api/errors.ts';

/** Throws ApiError `destination_not_allowed` for a number (E.164) that begins with one of `blocked`. Anything else than a number passes. */
export function requireAllowedDestination(blocked: readonly string[], to: string): void {
  const prefix = blocked.find((one) => to.startsWith(one));
  if (prefix !== undefined) throw new ApiError('destination_not_allowed', `This installation does not call numbers that begin with ${prefix}.`, { param: 'to' });
}
