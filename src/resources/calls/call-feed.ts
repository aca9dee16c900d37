/** One thing that happened to a live call, as its event stream tells it. */
export type CallNews =
  /** An item sent again with the same `position` replaces the one before. */
  | { event: 'transcript'; data: { position: number } & Record<string, unknown> }
  /** `sequence` orders the log and tells entries apart. */
  | { event: 'log'; sequence: number; data: Record<string, unknown> }
  /** The call as its GET shows it; after one that has ended nothing comes. */
  | { event: 'call'; ended: boolean; data: Record<string, unknown> };

/** Listeners of one call, of one account's calls, and of all calls of this process. */
const MAX_PER_CALL = 10;
const MAX_PER_ACCOUNT = 100;
const MAX_LISTENERS = 500;

/** Tells whoever follows a live call what was written down of it. In this process only: a call's news is where the call is. */
export class CallFeed {
  readonly #listeners = new Map<string, Set<(news: CallNews) => void>>();
  readonly #accounts = new Map<string, number>();
  #count = 0;

  /** Undefined: too many listen already. The answer ends the subscription. */
  subscribe({ id, accountId }: { id: string; accountId: string }, listener: (news: CallNews) => void): (() => void) | undefined {
    const listeners = this.#listeners.get(id) ?? new Set();
    const own = this.#accounts.get(accountId) ?? 0;
    if (this.#count >= MAX_LISTENERS || own >= MAX_PER_ACCOUNT || listeners.size >= MAX_PER_CALL) return undefined;
    listeners.add(listener);
    this.#listeners.set(id, listeners);
    this.#counted(accountId, 1);
    return () => {
      if (!listeners.delete(listener)) return;
      this.#counted(accountId, -1);
      if (listeners.size === 0) this.#listeners.delete(id);
    };
  }

  #counted(accountId: string, change: 1 | -1): void {
    const own = (this.#accounts.get(accountId) ?? 0) + change;
    this.#count += change;
    if (own === 0) this.#accounts.delete(accountId);
    else this.#accounts.set(accountId, own);
  }

  isFollowed(callId: string): boolean {
    return this.#listeners.has(callId);
  }

  publish(callId: string, news: CallNews): void {
    for (const listener of this.#listeners.get(callId) ?? []) listener(news);
  }
}
