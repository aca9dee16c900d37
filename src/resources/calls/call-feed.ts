/** One thing that happened to a live call, as its event stream tells it. */
export type CallNews =
  /** An item sent again with the same `position` replaces the one before. */
  | { event: 'transcript'; data: { position: number } & Record<string, unknown> }
  /** `sequence` orders the log and tells entries apart. */
  | { event: 'log'; sequence: number; data: Record<string, unknown> }
  /** The call as its GET shows it; after one that has ended nothing comes. */
  | { event: 'call'; ended: boolean; data: Record<string, unknown> };

/** Listeners of one call, and of all calls of this process. */
const MAX_PER_CALL = 10;
const MAX_LISTENERS = 500;

/** Tells whoever follows a live call what was written down of it. In this process only: a call's news is where the call is. */
export class CallFeed {
  readonly #listeners = new Map<string, Set<(news: CallNews) => void>>();
  #count = 0;

  /** Undefined: too many listen already. The answer ends the subscription. */
  subscribe(callId: string, listener: (news: CallNews) => void): (() => void) | undefined {
    const listeners = this.#listeners.get(callId) ?? new Set();
    if (this.#count >= MAX_LISTENERS || listeners.size >= MAX_PER_CALL) return undefined;
    listeners.add(listener);
    this.#listeners.set(callId, listeners);
    this.#count++;
    return () => {
      if (!listeners.delete(listener)) return;
      this.#count--;
      if (listeners.size === 0) this.#listeners.delete(callId);
    };
  }

  isFollowed(callId: string): boolean {
    return this.#listeners.has(callId);
  }

  publish(callId: string, news: CallNews): void {
    for (const listener of this.#listeners.get(callId) ?? []) listener(news);
  }
}
