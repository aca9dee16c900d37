import type { AccountEvent } from './event.ts';

/** Events with an attempt still to come, so many in all and of one account: a receiver that never answers costs nobody else their events. */
export class PendingEvents {
  readonly #limits: { inAll: number; perAccount: number };
  readonly #accounts = new Map<string, Set<AccountEvent>>();
  #size = 0;

  constructor(limits: { inAll: number; perAccount: number } = { inAll: 10_000, perAccount: 2000 }) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** False: too many wait already. */
  add(event: AccountEvent): boolean {
    const own = this.#accounts.get(event.accountId) ?? new Set();
    if (this.#size >= this.#limits.inAll || own.size >= this.#limits.perAccount) return false;
    this.#accounts.set(event.accountId, own.add(event));
    this.#size++;
    return true;
  }

  has(event: AccountEvent): boolean {
    return this.#accounts.get(event.accountId)?.has(event) ?? false;
  }

  delete(event: AccountEvent): void {
    const own = this.#accounts.get(event.accountId);
    if (!own?.delete(event)) return;
    this.#size--;
    if (own.size === 0) this.#accounts.delete(event.accountId);
  }

  /** Drops those about the object that this id names. */
  forget(objectId: string): void {
    for (const own of this.#accounts.values()) {
      for (const event of own) if (event.data['id'] === objectId) this.delete(event);
    }
  }
}
