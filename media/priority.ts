/**
 * Scheduling priority of the calling thread. With CAP_SYS_NICE a media thread takes SCHED_FIFO: p99 of its outgoing packets
 * falls from several milliseconds to under one on a busy machine. Without it a better nice value is tried, then nothing.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/** What the thread was granted: SCHED_FIFO, a better nice value, or neither. */
export type Priority = 'realtime' | 'nice' | 'normal';

const FIFO_PRIORITY = 50;
const NICE = -19;
const CAP_SYS_NICE = 1n << 23n;
const SCHED_FIFO = 1;
/** `chrt` answers in milliseconds; a thread must not hang on it. */
const CHRT_TIMEOUT_MS = 2_000;

/** Kernel id of the calling thread; undefined where there is no /proc (macOS). */
function threadId(): number | undefined {
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    return Number.isInteger(id) && id > 0 ? id : undefined;
  } catch {
    return undefined;
  }
}

function mayBeRealtime(): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/thread-self/status', 'latin1'))?.[1];
  return effective !== undefined && (BigInt(`0x${effective}`) & CAP_SYS_NICE) !== 0n;
}

/** Scheduling policy of a thread: field 41 of stat, counted after the name, which may hold spaces (proc(5)). */
function policyOf(id: number): number {
  const stat = readFileSync(`/proc/self/task/${id}/stat`, 'latin1');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[38]);
}

function chrt(...args: string[]): boolean {
  return spawnSync('chrt', args, { stdio: 'ignore', timeout: CHRT_TIMEOUT_MS }).status === 0;
}

/**
 * Raises the calling thread as far as the process may. Call it after every branch of the tick has been warmed up: a FIFO
 * thread starves the JIT compiler's threads on its core. Children and threads it starts later do not inherit it.
 */
export function raisePriority(): Priority {
  const id = threadId();
  if (id === undefined) return 'normal';
  try {
    const asked = mayBeRealtime() && chrt('-R', '-f', '-p', String(FIFO_PRIORITY), String(id));
    if (asked && policyOf(id) === SCHED_FIFO) return 'realtime';
  } catch {
    // An unreadable /proc means a locked-down container: nice is still worth a try.
  }
  try {
    setPriority(id, NICE);
    return 'nice';
  } catch {
    return 'normal';
  }
}

/** Puts the calling thread back to SCHED_OTHER and nice 0. Never throws. */
export function lowerPriority(): void {
  const id = threadId();
  if (id === undefined) return;
  chrt('-o', '-p', '0', String(id));
  try {
    setPriority(id, 0);
  } catch {
    // Raising the nice value needs no right; a thread that cannot is where it was.
  }
}

/** Takes real-time priority away from a thread whose ticks run too long, before it starves the rest of the machine. */
export class PriorityWatchdog {
  readonly #limitMs: number;
  readonly #windowMs: number;
  readonly #now: () => number;
  readonly #lower: () => void;
  #lastOverrunAt = -Infinity;
  #tripped = false;

  /** Trips on the second run over `limitMs` (15) within `windowMs` (60 s); `lower` is then called once. */
  constructor(options: { limitMs?: number; windowMs?: number; now?: () => number; lower?: () => void } = {}) {
    this.#limitMs = options.limitMs ?? 15;
    this.#windowMs = options.windowMs ?? 60_000;
    this.#now = options.now ?? (() => performance.now());
    this.#lower = options.lower ?? lowerPriority;
  }

  get tripped(): boolean {
    return this.#tripped;
  }

  /** Feed it every run's duration: `new MediaClock({ onRun: (ms) => watchdog.observe(ms) })`. */
  observe(durationMs: number): void {
    if (durationMs <= this.#limitMs || this.#tripped) return;
    const now = this.#now();
    this.#tripped = now - this.#lastOverrunAt <= this.#windowMs;
    this.#lastOverrunAt = now;
    if (this.#tripped) this.#lower();
  }
}
