import { deleteKeysBefore } from './api/idempotency-store.ts';
import { deleteDeliveriesBefore, DELIVERY_MONTHS } from './events/webhook-store.ts';
import { deleteFailedJobs } from './jobs/job-store.ts';
import { ago, monthsAgo, type Retention } from './jobs/retention.ts';
import { deleteExpiredSessions } from './resources/accounts/actions.ts';
import { deleteImportsBefore } from './resources/leads/actions.ts';

const DAY_MS = 86_400_000;

/** Everything that is kept for a time only, and for how long. Reads do not show what is past its time, however late it goes. */
export const RETENTIONS: readonly Retention[] = [
  { what: 'webhook deliveries', before: monthsAgo(DELIVERY_MONTHS), delete: deleteDeliveriesBefore },
  { what: 'idempotency keys', before: ago(DAY_MS), delete: deleteKeysBefore },
  // Longer than the keys that ask for them.
  { what: 'answers of lead imports', before: ago(2 * DAY_MS), delete: deleteImportsBefore },
  { what: 'console sessions and sign-in tokens', before: ago(0), delete: deleteExpiredSessions },
  { what: 'failed jobs', before: ago(30 * DAY_MS), delete: deleteFailedJobs },
];
