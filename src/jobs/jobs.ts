import type { Clock } from '../clock.ts';
import type { Database, Queryable } from '../db/database.ts';
import { newId } from '../db/id.ts';
import type { Listening } from '../db/listener.ts';
import { deleteJob, deleteNamedJob, failJob, insertJob, JOB_CHANNEL, nextDue, renewLease, rescheduleJob, takeJobs, type JobRow } from './job-store.ts';

export interface NewJob {
  kind: string;
  payload: object;
  /** At most one waiting job of a kind has a given name: a second one is not made. */
  name?: string;
  /** Now when absent. */
  runAt?: Date;
}

/** Does one job. May run again after a crash or an error, so it must be harmless twice. The answer: when to run it again. */
export type JobHandler = (payload: Record<string, unknown>, signal: AbortSignal) => Promise<Date | undefined | void>;

export interface JobsOptions {
  db: Database;
  clock: Clock;
  log: { warn(detail: object, message: string): void; error(detail: object, message: string): void };
}

const AT_ONCE = 4;
const LEASE_MS = 60_000;
const RENEW_MS = 20_000;
/** Waits after each failure; the last failure after them gives up. */
const BACKOFF_MS = [5000, 30_000, 120_000, 600_000, 3_600_000];
/** How long nothing is looked at when nothing is due and nobody says anything. */
const IDLE_MS = 60_000;

/** Work for later, kept in the database: it survives this process, and of many processes one does it. */
export class Jobs {
  readonly #options: JobsOptions;
  readonly #handlers = new Map<string, JobHandler>();
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #listening: Listening | undefined;
  #cancelTimer: () => void = () => undefined;
  #looking = false;
  #lookAgain = false;

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  /** In the transaction of the change that asks for it: both are committed, or neither. */
  enqueue(db: Queryable, { kind, payload, name, runAt }: NewJob): Promise<void> {
    const now = new Date(this.#options.clock.now());
    return insertJob(db, { id: newId(now.getTime()), kind, payload, name: name ?? null, runAt: runAt ?? now, now });
  }

  /** A job that has not begun is dropped. */
  cancel(db: Queryable, kind: string, name: string): Promise<void> {
    return deleteNamedJob(db, kind, name);
  }

  /** Before `start`. */
  handle(kind: string, handler: JobHandler): void {
    this.#handlers.set(kind, handler);
  }

  /** Begins to take jobs, and goes on until `close`. */
  start(): void {
    this.#listening = this.#options.db.listen(JOB_CHANNEL, () => this.#look());
  }

  /** Does everything that is due, then resolves: for tests, which hold the clock. */
  async runDue(): Promise<void> {
    for (let taken = await this.#take(); taken.length > 0; taken = await this.#take()) await Promise.all(taken.map((job) => this.#run(job)));
  }

  /** Tells what runs to stop, and waits for it. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#cancelTimer();
    await this.#listening?.close();
    await Promise.all(this.#running);
  }

  #look(): void {
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = true;
    this.#cancelTimer();
    void this.#startDue()
      .catch((error: unknown) => {
        this.#options.log.warn({ error: String(error) }, 'jobs could not be taken');
        return BACKOFF_MS[0] ?? 0;
      })
      .then((waitMs) => {
        this.#looking = false;
        if (this.#closing.signal.aborted) return;
        if (this.#lookAgain) {
          this.#lookAgain = false;
          this.#look();
        } else {
          this.#cancelTimer = this.#options.clock.after(waitMs, () => this.#look());
        }
      });
  }

  /** Starts what is due and there is room for; answers how long until the next look, ms. */
  async #startDue(): Promise<number> {
    for (let room = AT_ONCE - this.#running.size; room > 0 && !this.#closing.signal.aborted; room = AT_ONCE - this.#running.size) {
      const jobs = await this.#take(room);
      if (jobs.length === 0) break;
      for (const job of jobs) this.#begin(job);
    }
    // With no room, the end of what runs looks again.
    if (this.#running.size >= AT_ONCE) return IDLE_MS;
    const due = await nextDue(this.#options.db, [...this.#handlers.keys()]);
    return due === undefined ? IDLE_MS : Math.min(IDLE_MS, Math.max(1, due.getTime() - this.#options.clock.now()));
  }

  #begin(job: JobRow): void {
    const work = this.#run(job).catch((error: unknown) => this.#options.log.error({ kind: job.kind, job: job.id, error: String(error) }, 'a job could not be settled'));
    this.#running.add(work);
    void work.finally(() => {
      this.#running.delete(work);
      if (!this.#closing.signal.aborted) this.#look();
    });
  }

  #take(most = AT_ONCE): Promise<JobRow[]> {
    const now = this.#options.clock.now();
    return takeJobs(this.#options.db, [...this.#handlers.keys()], most, new Date(now), new Date(now + LEASE_MS));
  }

  async #run(job: JobRow): Promise<void> {
    const { db, clock, log } = this.#options;
    const overtaken = new AbortController();
    const renewal = setInterval(() => {
      void renewLease(db, job, new Date(clock.now() + LEASE_MS)).then((kept) => kept || overtaken.abort(), () => undefined);
    }, RENEW_MS);
    try {
      const again = await this.#handlers.get(job.kind)?.(job.payload, AbortSignal.any([overtaken.signal, this.#closing.signal]));
      await (again ? rescheduleJob(db, job, again, null) : deleteJob(db, job));
    } catch (error) {
      log.warn({ kind: job.kind, job: job.id, attempt: job.attempts, error: String(error) }, 'a job failed');
      const backoffMs = BACKOFF_MS[job.attempts - 1];
      const now = clock.now();
      await (backoffMs === undefined ? failJob(db, job, String(error), new Date(now)) : rescheduleJob(db, job, new Date(now + backoffMs), String(error)));
    } finally {
      clearInterval(renewal);
    }
  }
}
