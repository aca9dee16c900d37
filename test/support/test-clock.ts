import type { Clock } from '../../src/clock.ts';

/** Wall clock that moves only when told. */
export class TestClock implements Clock {
  #nowMs = Date.parse('2026-11-21T12:00:00.000Z');
  #timers = new Set<{ atMs: number; work: () => void }>();

  now(): number {
    return this.#nowMs;
  }

  after(delayMs: number, work: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, work };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    for (const timer of [...this.#timers]) {
      if (timer.atMs > this.#nowMs) continue;
      this.#timers.delete(timer);
      timer.work();
    }
  }
}

/** Time as it passes, for processes that outlive a test's patience. */
export class WallClock extends TestClock {
  override now(): number {
    return Date.now();
  }
}
