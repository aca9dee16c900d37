import { ApiError } from './errors.ts';

/** Dated versions, newest first. */
export const SERVICE_VERSIONS = ['2026-09-01'] as const;
export const CURRENT_VERSION: string = SERVICE_VERSIONS[0];

/** The version for one request: its header, else what its key was made with. Throws ApiError `invalid_version`. */
export function versionFor(header: string | string[] | undefined, pinned: string): string {
  if (header === undefined) return pinned;
  const version = SERVICE_VERSIONS.find((known) => known === header);
  if (version === undefined) throw new ApiError('invalid_version', `Service-Version must be one of ${SERVICE_VERSIONS.join(', ')}.`);
  return version;
}
