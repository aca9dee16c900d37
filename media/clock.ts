/**
 * The one clock of a media thread: an absolute grid of 5 ms, four groups of members, each member ticked once per 20 ms.
 * Deadlines are computed from the start, never from the last wake-up, so the clock cannot drift; `setInterval` falls 85 ms
 * behind in 10 s. A timer wakes the thread about a millisecond early (letting packets in), `Atomics.wait` sleeps the rest.
 */

/** Membership of a clock. */
export interface Tick {
  /** Leaves the clock; no tick follows, not even one already due. Safe to call twice and from inside a tick. */
  stop(): void;
}

/** A timer that holds one callback; setting it again replaces what it held. */
export interface OneShotTimer {
  /** Calls back after about `delayMs`; 0 means after pending I/O has been served. */
  set(callback: () => void, delayMs: number): void;
  clear(): void;
}

export interface MediaClockOptions {
  /** Monotonic milliseconds. */
  now?: () => number;
  timer?: OneShotTimer;
  /** Blocks the thread for a fraction of a millisecond. */
  sleep?: (ms: number) => void;
  /** Called after each group's run with how long it took, for a watchdog. */
  onRun?: (durationMs: number) => void;
  /** A member threw; the others are still ticked. Default: an uncaught exception. */
  onError?: (error: unknown) => void;
}

/** How late groups ran against their deadline, milliseconds. */
export interface Lateness { p50: number; p99: number; max: number; count: number }

export const PERIOD_MS = 20;
const GROUPS = 4;
const STEP_MS = PERIOD_MS / GROUPS;
/** Periods made good after a stall; older ones are given up and counted. */
const CATCH_UP_PERIODS = 10;
/** The timer fires this long before the deadline: its own granularity is a millisecond. */
const WAKE_EARLY_MS = 1;
/** Longest the thread sleeps away from its sockets at a time. */
const MAX_SLEEP_MS = 1.2;
/** A deadline this near counts as reached. */
const EPSILON_MS = 0.02;
const BUCKET_MS = 0.05;
const BUCKETS = 1000;

interface Member { tick: (nowMs: number) => void; after: (() => void) | undefined; live: boolean }

export class MediaClock {
  readonly #now: () => number;
  readonly #timer: OneShotTimer;
  readonly #sleep: (ms: number) => void;
  readonly #onRun: ((durationMs: number) => void) | undefined;
  readonly #onError: (error: unknown) => void;
  readonly #groups: Member[][] = Array.from({ length: GROUPS }, () => []);
  readonly #buckets = new Uint32Array(BUCKETS + 1);
  #runs = 0;
  #maxLateness = 0;
  #skipped = 0;
  #origin = 0;
  /** The next step of the grid that has not run. */
  #step = 0;
  #started = false;
  #running = false;
  #armed = false;

  constructor(options: MediaClockOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
    this.#timer = options.timer ?? new NodeTimer();
    this.#sleep = options.sleep ?? sleepPrecisely;
    this.#onRun = options.onRun;
    this.#onError = options.onError ?? rethrowLater;
  }

  /**
   * Joins the emptiest group. `tick` is called every 20 ms with the present time while the clock runs; `after` then, once
   * the whole group was ticked: for sending, which is cheaper done in a row than between one member's sums and the next's.
   */
  add(tick: (nowMs: number) => void, after?: () => void): Tick {
    let group = this.#groups[0]!;
    for (const other of this.#groups) if (other.length < group.length) group = other;
    const member: Member = { tick, after, live: true };
    group.push(member);
    if (this.#started && !this.#running) this.#arm();
    return {
      stop: () => {
        if (!member.live) return;
        member.live = false;
        if (!this.#running) sweep(group);
      },
    };
  }

  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#origin = this.#now();
    this.#step = 1;
    this.#arm();
  }

  /** Stops ticking; members stay and go on after the next `start`. */
  stop(): void {
    this.#started = false;
    this.#armed = false;
    this.#timer.clear();
  }

  /** Members ticked now. */
  get size(): number {
    let size = 0;
    for (const group of this.#groups) for (const member of group) if (member.live) size++;
    return size;
  }

  /** Member ticks given up after stalls longer than the catch-up bound. */
  get skippedTicks(): number {
    return this.#skipped;
  }

  /** Lateness since the start or the last `resetLateness`, to 0.05 ms; beyond 50 ms percentiles say 50. */
  get latenessMs(): Lateness {
    return { p50: this.#percentile(0.5), p99: this.#percentile(0.99), max: this.#maxLateness, count: this.#runs };
  }

  resetLateness(): void {
    this.#buckets.fill(0);
    this.#runs = 0;
    this.#maxLateness = 0;
  }

  #percentile(share: number): number {
    const wanted = Math.ceil(this.#runs * share);
    let seen = 0;
    for (let i = 0; i <= BUCKETS && wanted > 0; i++) {
      seen += this.#buckets[i]!;
      if (seen >= wanted) return Math.min(i * BUCKET_MS, this.#maxLateness);
    }
    return 0;
  }

  /** Sets the timer for the next step that has members; an idle clock costs nothing. */
  #arm(): void {
    const now = this.#now();
    if (!this.#armed) this.#step = Math.max(this.#step, Math.floor((now - this.#origin) / STEP_MS) + 1);
    let step = this.#step;
    while (step < this.#step + GROUPS && this.#groups[step % GROUPS]!.length === 0) step++;
    this.#armed = step < this.#step + GROUPS;
    if (!this.#armed) return this.#timer.clear();
    this.#timer.set(this.#wake, Math.max(0, Math.floor(this.#origin + step * STEP_MS - now - WAKE_EARLY_MS)));
  }

  readonly #wake = (): void => {
    if (!this.#started) return;
    let step = this.#step;
    while (step < this.#step + GROUPS && this.#groups[step % GROUPS]!.length === 0) step++;
    const rest = this.#origin + step * STEP_MS - this.#now();
    if (rest <= MAX_SLEEP_MS) {
      if (rest > EPSILON_MS) this.#sleep(rest);
      this.#runDue();
    } else if (rest <= 2 * WAKE_EARLY_MS) {
      // Too near for the timer and too far for one sleep: two short ones, with the sockets served in between.
      this.#sleep(rest - WAKE_EARLY_MS);
    }
    if (this.#started) this.#arm();
  };

  /** Runs what was due on entry and no more, so that an overloaded thread still reads its sockets. */
  #runDue(): void {
    const now = this.#now();
    const last = Math.floor((now + EPSILON_MS - this.#origin) / STEP_MS);
    const tooOld = Math.floor((last - this.#step) / GROUPS) + 1 - CATCH_UP_PERIODS;
    if (tooOld > 0) {
      this.#skipped += tooOld * this.size;
      this.#step += tooOld * GROUPS;
    }
    this.#running = true;
    while (this.#step <= last && this.#started) {
      const group = this.#groups[this.#step % GROUPS]!;
      const deadline = this.#origin + this.#step * STEP_MS;
      this.#step++;
      if (group.length > 0) this.#runGroup(group, deadline);
    }
    this.#running = false;
    for (const group of this.#groups) sweep(group);
  }

  #runGroup(group: Member[], deadline: number): void {
    const now = this.#now();
    const late = Math.max(0, now - deadline);
    this.#buckets[Math.min(BUCKETS, Math.floor(late / BUCKET_MS))]!++;
    this.#runs++;
    if (late > this.#maxLateness) this.#maxLateness = late;
    const members = group.length;
    for (let i = 0; i < members; i++) this.#call(group[i]!, now);
    for (let i = 0; i < members; i++) this.#call(group[i]!);
    this.#onRun?.(this.#now() - now);
  }

  /** Ticks a member, or without a time does what it does after. */
  #call(member: Member, nowMs?: number): void {
    if (!member.live) return;
    try {
      if (nowMs === undefined) member.after?.();
      else member.tick(nowMs);
    } catch (error) {
      this.#onError(error);
    }
  }
}

/** Drops the members that left; in place, and without work when none did. */
function sweep(group: Member[]): void {
  let kept = 0;
  for (let i = 0; i < group.length; i++) {
    const member = group[i]!;
    if (member.live) group[kept++] = member;
  }
  if (kept < group.length) group.length = kept;
}

function rethrowLater(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}

const cell = new Int32Array(new SharedArrayBuffer(4));

/** Sleeps to about 0.1 ms; works on any thread because nobody ever notifies this private cell. */
function sleepPrecisely(ms: number): void {
  Atomics.wait(cell, 0, 0, ms);
}

class NodeTimer implements OneShotTimer {
  #timeout: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;

  set(callback: () => void, delayMs: number): void {
    this.clear();
    if (delayMs >= 1) this.#timeout = setTimeout(callback, delayMs);
    else this.#immediate = setImmediate(callback);
  }

  clear(): void {
    clearTimeout(this.#timeout);
    clearImmediate(this.#immediate);
    this.#timeout = undefined;
    this.#immediate = undefined;
  }
}
