import type { Clock } from '../../clock.ts';

/** How a model does, as GET /v1/engines shows it. */
export interface HealthFigures {
  state: 'healthy' | 'degraded';
  /** Share of the uses in the window that failed, 0 to 1. */
  errorRate: number;
  /** Time to the first result, of the slowest twentieth; null when nothing was measured. */
  p95Ms: number | null;
}

/** What the list of engines asks about a model (`<vendor>/<model>`). */
export interface EngineHealth { of(model: string): HealthFigures }

/** How one use of a model went. `refused`: credentials or quota, which no other use would get past either. */
export type Outcome = { kind: 'ok'; firstResultMs?: number } | { kind: 'error' | 'connect_failure' | 'refused' };

const WINDOW_MS = 60_000;
const MAX_ERROR_RATE = 0.2;
/** With fewer uses a rate says nothing. */
const MIN_USES = 10;
const CONNECTS_LOOKED_AT = 10;
const MAX_CONNECT_FAILURES = 2;
/** Older uses of a busy model are forgotten before the window has passed. */
const MAX_KEPT = 1000;

/** The last minute of one model. Once degraded it stays so until a probe succeeds: uses stop, so they could not clear it. */
export class RollingHealth {
  readonly #clock: Pick<Clock, 'now'>;
  #uses: { atMs: number; outcome: Outcome }[] = [];
  #degraded = false;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  record(outcome: Outcome): void {
    this.#uses.push({ atMs: this.#clock.now(), outcome });
    if (this.#uses.length > MAX_KEPT) this.#uses.shift();
    this.#degraded ||= outcome.kind === 'refused' || this.#failsTooOften();
  }

  /** What a probe found. A good one starts the record anew. */
  probed(succeeded: boolean): void {
    if (!succeeded) return;
    this.#degraded = false;
    this.#uses = [];
  }

  get figures(): HealthFigures {
    const uses = this.#recent();
    const times = uses.flatMap(({ outcome }) => (outcome.kind === 'ok' && outcome.firstResultMs !== undefined ? [outcome.firstResultMs] : [])).sort((a, b) => a - b);
    return { state: this.#degraded ? 'degraded' : 'healthy', errorRate: errorRate(uses), p95Ms: times[Math.ceil(times.length * 0.95) - 1] ?? null };
  }

  #recent(): { outcome: Outcome }[] {
    const from = this.#clock.now() - WINDOW_MS;
    this.#uses = this.#uses.filter(({ atMs }) => atMs > from);
    return this.#uses;
  }

  #failsTooOften(): boolean {
    const uses = this.#recent();
    const connectFailures = uses.slice(-CONNECTS_LOOKED_AT).filter(({ outcome }) => outcome.kind === 'connect_failure').length;
    return connectFailures > MAX_CONNECT_FAILURES || (uses.length >= MIN_USES && errorRate(uses) > MAX_ERROR_RATE);
  }
}

function errorRate(uses: { outcome: Outcome }[]): number {
  return uses.length === 0 ? 0 : uses.filter(({ outcome }) => outcome.kind !== 'ok').length / uses.length;
}

/** The health of every model that was used. */
export class HealthRecords implements EngineHealth {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #models = new Map<string, RollingHealth>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  of(model: string): HealthFigures {
    return this.#models.get(model)?.figures ?? { state: 'healthy', errorRate: 0, p95Ms: null };
  }

  record(model: string, outcome: Outcome): void {
    const health = this.#models.get(model) ?? new RollingHealth(this.#clock);
    this.#models.set(model, health);
    health.record(outcome);
  }

  probed(model: string, succeeded: boolean): void {
    this.#models.get(model)?.probed(succeeded);
  }

  /** Models that wait for a probe. */
  degraded(): string[] {
    return [...this.#models].filter(([, health]) => health.figures.state === 'degraded').map(([model]) => model);
  }
}
