/** Time, injected wherever it decides something, so that tests hold the clock. */
export interface Clock {
  /** Wall clock, ms. */
  now(): number;
  /** Calls `work` once after `delayMs`; the answer cancels it. */
  after(delayMs: number, work: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, work) {
    const timer = setTimeout(work, delayMs);
    return () => clearTimeout(timer);
  },
};
