/** The one place that turns samples into figures. */

/** Smallest value that `percent` per cent of the values do not exceed (nearest rank); NaN of nothing. */
export function percentile(values: ArrayLike<number>, percent: number): number {
  if (values.length === 0) return Number.NaN;
  if (percent < 0 || percent > 100) throw new RangeError(`percentile ${percent} is not within 0 to 100`);
  const sorted = Float64Array.from(values).sort();
  const rank = Math.max(1, Math.ceil((percent / 100) * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

export function median(values: ArrayLike<number>): number {
  return percentile(values, 50);
}

export function largest(values: ArrayLike<number>): number {
  return percentile(values, 100);
}

/** A packet's arrival in milliseconds, and the number of the grid slot its timestamp puts it in. */
export interface Arrival { at: number; slot: number }

export interface GridFit {
  /** Arrival time of slot 0 on the fitted grid, ms. */
  offsetMs: number;
  /** Arrival minus grid for every packet, ms: positive is late. */
  deviationsMs: Float64Array;
}

/**
 * Fits a grid of `periodMs` to arrivals by their median offset, so that a few late packets move every other
 * packet's deviation by nothing: half of all packets would have to be late before the grid follows them.
 */
export function fitGrid(arrivals: readonly Arrival[], periodMs: number): GridFit {
  const offsets = Float64Array.from(arrivals, ({ at, slot }) => at - slot * periodMs);
  const offsetMs = median(offsets);
  return { offsetMs, deviationsMs: offsets.map((offset) => offset - offsetMs) };
}
