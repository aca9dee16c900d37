/** What a benchmark says: figures with a unit and an upper limit, as a table for people and one object for machines. */

export interface Figure {
  name: string;
  /** null: could not be measured here; `cause` says why. */
  value: number | null;
  unit: string;
  /** Upper limit; null: printed for comparison only. */
  goal: number | null;
  /** null: no goal, or no verdict possible; then `cause` says why. */
  ok: boolean | null;
  cause?: string;
}

export interface Report { bench: string; figures: Figure[] }

/** A figure without a goal. */
export function shown(name: string, value: number, unit: string): Figure {
  return { name, value: rounded(value), unit, goal: null, ok: null };
}

/** A figure that should not exceed `goal`. */
export function judged(name: string, value: number, unit: string, goal: number): Figure {
  if (!Number.isFinite(value)) return missing(name, unit, goal, 'no sample');
  return { name, value: rounded(value), unit, goal, ok: value <= goal };
}

/** A figure that could not be taken. */
export function missing(name: string, unit: string, goal: number | null, cause: string): Figure {
  return { name, value: null, unit, goal, ok: null, cause };
}

/** The same figure without a verdict: measured, but under conditions that prove nothing either way. */
export function inconclusive(figure: Figure, cause: string): Figure {
  return figure.ok === null ? figure : { ...figure, ok: null, cause };
}

const UNITS_OF_TIMING = new Set(['ms', 's']);

/** Takes the verdict from every missed wall-clock figure when others took more than `limitPct` of the cores; CPU figures stay. */
export function withoutMissesOfABusyMachine(figures: Figure[], lostPct: number, limitPct = 5): Figure[] {
  if (lostPct <= limitPct) return figures;
  const cause = `inconclusive: others took ${lostPct.toFixed(1)} % of the cores`;
  return figures.map((figure) => (UNITS_OF_TIMING.has(figure.unit) && figure.ok === false ? inconclusive(figure, cause) : figure));
}

/** Columns aligned, one line a figure. */
export function table(report: Report): string {
  const rows = report.figures.map((figure) => [
    figure.name,
    figure.value === null ? '-' : String(figure.value),
    figure.unit,
    figure.goal === null ? '' : `<= ${figure.goal}`,
    verdict(figure),
  ]);
  const all = [['figure', 'value', 'unit', 'goal', ''], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const lines = all.map((row) => row.map((cell, column) => pad(cell, widths[column] ?? 0, column === 1)).join('  ').trimEnd());
  return [`bench ${report.bench}`, ...lines].join('\n');
}

function verdict(figure: Figure): string {
  if (figure.ok === null) return figure.cause ?? '';
  return figure.ok ? 'ok' : 'MISSED';
}

function pad(cell: string, width: number, right: boolean): string {
  return right ? cell.padStart(width) : cell.padEnd(width);
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
