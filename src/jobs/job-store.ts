import type { Queryable } from '../db/database.ts';

/** The only SQL on jobs. */

export const JOB_CHANNEL = 'wirevoice_job';

export interface JobRow { id: string; kind: string; payload: Record<string, unknown>; attempts: number }

/** A job with a name that already waits is left as it is. */
export async function insertJob(db: Queryable, job: { id: string; kind: string; payload: object; name: string | null; runAt: Date; now: Date }): Promise<void> {
  await db.query(
    `INSERT INTO job (id, kind, payload, name, run_at, created_at) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (kind, name) WHERE name IS NOT NULL AND failed_at IS NULL DO NOTHING`,
    [job.id, job.kind, JSON.stringify(job.payload), job.name, job.runAt, job.now],
  );
  await db.query(`SELECT pg_notify('${JOB_CHANNEL}', '')`);
}

/** Takes jobs that are due; nobody else gets them until their lease ends. */
export function takeJobs(db: Queryable, kinds: readonly string[], most: number, now: Date, leaseUntil: Date): Promise<JobRow[]> {
  return db.query<JobRow>(
    `UPDATE job SET lease_until = $4, attempts = attempts + 1 WHERE id IN (
       SELECT id FROM job WHERE failed_at IS NULL AND run_at <= $3 AND (lease_until IS NULL OR lease_until <= $3) AND kind = ANY($1)
       ORDER BY run_at LIMIT $2 FOR UPDATE SKIP LOCKED)
     RETURNING id, kind, payload, attempts`,
    [kinds, most, now, leaseUntil],
  );
}

/** When the next of these kinds is due, or its lease ends. */
export async function nextDue(db: Queryable, kinds: readonly string[]): Promise<Date | undefined> {
  const [row] = await db.query<{ at: Date | null }>('SELECT min(GREATEST(run_at, lease_until)) AS at FROM job WHERE failed_at IS NULL AND kind = ANY($1)', [kinds]);
  return row?.at ?? undefined;
}

/** `attempts` fences: a run that was overtaken changes nothing. */
export async function deleteJob(db: Queryable, job: JobRow): Promise<void> {
  await db.query('DELETE FROM job WHERE id = $1 AND attempts = $2', [job.id, job.attempts]);
}

export async function renewLease(db: Queryable, job: JobRow, leaseUntil: Date): Promise<boolean> {
  const rows = await db.query('UPDATE job SET lease_until = $3 WHERE id = $1 AND attempts = $2 RETURNING id', [job.id, job.attempts, leaseUntil]);
  return rows.length > 0;
}

/** Waits for another turn; `attempts` starts again when it ran well. */
export async function rescheduleJob(db: Queryable, job: JobRow, runAt: Date, error: string | null): Promise<void> {
  await db.query('UPDATE job SET run_at = $3, lease_until = NULL, last_error = $4, attempts = CASE WHEN $4::text IS NULL THEN 0 ELSE attempts END WHERE id = $1 AND attempts = $2', [job.id, job.attempts, runAt, error]);
}

/** Given up; kept for a person to look at. */
export async function failJob(db: Queryable, job: JobRow, error: string, now: Date): Promise<void> {
  await db.query('UPDATE job SET failed_at = $3, lease_until = NULL, last_error = $4 WHERE id = $1 AND attempts = $2', [job.id, job.attempts, now, error]);
}

/** Cancels a job that waits by name. */
export async function deleteNamedJob(db: Queryable, kind: string, name: string): Promise<void> {
  await db.query('DELETE FROM job WHERE kind = $1 AND name = $2 AND lease_until IS NULL', [kind, name]);
}

export async function deleteFailedJobs(db: Queryable, before: Date, most: number): Promise<number> {
  const rows = await db.query('DELETE FROM job WHERE id IN (SELECT id FROM job WHERE failed_at < $1 LIMIT $2) RETURNING id', [before, most]);
  return rows.length;
}
