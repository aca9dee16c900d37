import { ApiError } from '../../api/errors.ts';
import { requireTimezone } from '../agents/timezone.ts';
import type { UpdateLead } from './schema.ts';

const MAX_FIELDS_BYTES = 16 * 1024;
/** Names that were found good: to look one up costs a tenth of a millisecond, and an import may name one in each row. */
const knownTimezones = new Set<string>();
const MAX_KNOWN_TIMEZONES = 1000;

/** What a schema cannot say. Throws ApiError `invalid_parameter`. */
export function checkLead({ timezone, fields }: UpdateLead): void {
  if (timezone && !knownTimezones.has(timezone)) {
    requireTimezone(timezone, 'timezone');
    if (knownTimezones.size < MAX_KNOWN_TIMEZONES) knownTimezones.add(timezone);
  }
  if (fields && Buffer.byteLength(JSON.stringify(fields)) > MAX_FIELDS_BYTES) {
    throw new ApiError('invalid_parameter', `fields may have at most ${MAX_FIELDS_BYTES} bytes as JSON.`, { param: 'fields' });
  }
}
