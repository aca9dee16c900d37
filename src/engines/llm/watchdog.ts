/** Aborts what it guards when nothing is reported for too long. */
export class Watchdog {
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  /** Aborted when time ran out. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on `ms` may pass; replaces the limit before. */
  expect(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(), ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
