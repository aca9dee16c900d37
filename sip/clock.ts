/** Time as every layer of `sip/` sees it, so that tests can be its master. */
export interface SipClock {
  /** Milliseconds since the epoch. */
  now(): number;
  setTimeout(run: () => void, ms: number): unknown;
  clear(handle: unknown): void;
}

export const systemClock: SipClock = {
  now: () => Date.now(),
  setTimeout: (run, ms) => setTimeout(run, ms),
  clear: (handle) => clearTimeout(handle as NodeJS.Timeout),
};

/** A clock whose timers all end together: what was set is cleared, and nothing can be set any more. */
export class LifetimeClock implements SipClock {
  readonly #clock: SipClock;
  readonly #handles = new Set<unknown>();
  #closed = false;

  constructor(clock: SipClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  setTimeout(run: () => void, ms: number): unknown {
    if (this.#closed) return undefined;
    const handle = this.#clock.setTimeout(() => {
      this.#handles.delete(handle);
      run();
    }, ms);
    this.#handles.add(handle);
    return handle;
  }

  clear(handle: unknown): void {
    if (this.#handles.delete(handle)) this.#clock.clear(handle);
  }

  close(): void {
    this.#closed = true;
    for (const handle of this.#handles) this.#clock.clear(handle);
    this.#handles.clear();
  }
}
