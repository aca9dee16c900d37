import type { Clock } from '../clock.ts';
import type { Jobs } from './jobs.ts';
import type { Database, Queryable } from '../db/database.ts';

/** One kind of row that is kept for a time only. */
export interface Retention {
  /** For the log. */
  what: string;
  /** Rows older than this go. */
  before: (now: Date) => Date;
  /** Deletes at most `most` of them; answers how many went. */
  delete: (db: Queryable, before: Date, most: number) => Promise<number>;
}

export interface RetentionOptions {
  db: Database;
  jobs: Jobs;
  clock: Clock;
  log: { info(detail: object, message: string): void };
}

const KIND = 'retention';
const EVERY_MS = 3_600_000;
/** Small enough that nobody waits for the rows it locks. */
const BATCH = 1000;

/** `ms` ago. */
export function ago(ms: number): (now: Date) => Date {
  return (now) => new Date(now.getTime() - ms);
}

/** So many calendar months ago, UTC. */
export function monthsAgo(months: number): (now: Date) => Date {
  return (now) => {
    const then = new Date(now);
    then.setUTCMonth(then.getUTCMonth() - months);
    return then;
  };
}

/** Deletes what is past its time, every hour, in one process of many. */
export async function keepOnlySoLong(options: RetentionOptions, retentions: readonly Retention[]): Promise<void> {
  const { db, jobs, clock, log } = options;
  jobs.handle(KIND, async (_payload, signal) => {
    for (const { what, before, delete: deleteBefore } of retentions) {
      const limit = before(new Date(clock.now()));
      let gone = 0;
      for (let last = BATCH; last === BATCH && !signal.aborted; gone += last) last = await deleteBefore(db, limit, BATCH);
      if (gone > 0) log.info({ what, rows: gone }, 'rows past their time were deleted');
    }
    return new Date(clock.now() + EVERY_MS);
  });
  await jobs.enqueue(db, { kind: KIND, name: 'hourly', payload: {} });
}
