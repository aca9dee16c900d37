import { ApiError } from '../../api/errors.ts';

/** Throws ApiError `invalid_parameter` for what is no IANA name. */
export function requireTimezone(name: string, param: string): void {
  if (!isTimezone(name)) throw new ApiError('invalid_parameter', `${param} must be an IANA name such as Europe/Berlin, not ${name}.`, { param });
}

/** Whether `name` is a timezone by name. */
export function isTimezone(name: string): boolean {
  // A bare offset is a zone to Intl, but it knows no daylight saving and is no name.
  if (/^[+-]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
