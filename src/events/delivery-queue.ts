/** Runs deliveries side by side, bounded in all and per host, so that one slow receiver never delays another. */
export class DeliveryQueue {
  readonly #limits: { pending: number; inFlight: number; perHost: number };
  readonly #hosts = new Map<string, { waiting: (() => Promise<void>)[]; running: number }>();
  #pending = 0;
  #running = 0;

  constructor(limits: { pending: number; inFlight: number; perHost: number } = { pending: 10_000, inFlight: 50, perHost: 5 }) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#pending;
  }

  /** False: too much is pending, `work` will not run. `work` must not throw. */
  add(host: string, work: () => Promise<void>): boolean {
    if (this.#pending >= this.#limits.pending) return false;
    this.#pending++;
    const place = this.#hosts.get(host) ?? { waiting: [], running: 0 };
    this.#hosts.set(host, place);
    place.waiting.push(work);
    this.#next();
    return true;
  }

  #next(): void {
    for (const [host, place] of this.#hosts) {
      if (this.#running >= this.#limits.inFlight) return;
      const work = place.running < this.#limits.perHost ? place.waiting.shift() : undefined;
      if (work) this.#run(host, place, work);
    }
  }

  #run(host: string, place: { waiting: unknown[]; running: number }, work: () => Promise<void>): void {
    place.running++;
    this.#running++;
    void work().finally(() => {
      place.running--;
      this.#running--;
      this.#pending--;
      if (place.running === 0 && place.waiting.length === 0) this.#hosts.delete(host);
      this.#next();
    });
  }
}
