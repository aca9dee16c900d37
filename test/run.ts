/**
 * `npm test [-- area|path …]`: Debian packages, lint, then every test file by areas. All failures stand at the end; the very
 * last line is `N passed, N failed` (assertions; lint counts as one). Exit code 1 on any failure or when nothing ran.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ensurePackages } from './support/debian-packages.ts';
import { runArea, type AreaRun } from './support/run-area.ts';
import { ensureTapBuilt } from './support/tap-build.ts';
import type { FileResult } from './support/tap-results.ts';
import { findAreas, type TestArea } from './support/test-areas.ts';
import { shareTestPostgres } from './support/test-database.ts';

const AREA_BUDGET_MS = 180_000;
const AREA_LIMIT_MS = 420_000;
const LEFT_BEHIND_GRACE_MS = 3_000;
const SLOWEST = 10;

const root = path.resolve(import.meta.dirname, '..');
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const say = (line: string): void => console.log(line);

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    stop.abort();
    process.exitCode = 1;
  });
}

function printFile(result: FileResult): void {
  const counts = `${result.passed} passed${result.failures.length > 0 ? `, ${result.failures.length} FAILED` : ''}${result.skipped > 0 ? `, ${result.skipped} skipped` : ''}`;
  say(`  ${result.failures.length > 0 ? 'FAILED' : 'ok    '} ${result.file} (${counts}, ${seconds(result.timeMs)})`);
}

/** Lint as an area of one test, `npm run lint` itself. */
function runLint(): AreaRun {
  const startedAt = performance.now();
  say('lint');
  const run = spawnSync(process.execPath, [path.join(root, 'test/lint.ts')], { cwd: root, encoding: 'utf8', timeout: 120_000, killSignal: 'SIGKILL' });
  const ok = run.status === 0;
  const timeMs = performance.now() - startedAt;
  const failures = ok ? [] : [{ name: 'npm run lint', detail: `${run.stdout}${run.stderr}`.trimEnd() || String(run.error) }];
  const result: FileResult = { file: 'test/lint.ts', passed: ok ? 1 : 0, skipped: 0, failures, timeMs };
  printFile(result);
  return { area: 'lint', results: [result], timeMs };
}

async function runTests(areas: TestArea[]): Promise<AreaRun[]> {
  const runs: AreaRun[] = [];
  for (const area of areas) {
    say(area.label);
    const options = { ...area, root, area: area.label, limitMs: AREA_LIMIT_MS, graceMs: LEFT_BEHIND_GRACE_MS, onFile: printFile, signal: stop.signal };
    runs.push(await runArea(options));
  }
  return runs;
}

/** Times, slowest files, failures, and the last line. Returns whether the whole run is good. */
function report(runs: AreaRun[]): boolean {
  say('\nareas');
  for (const run of runs) say(`  ${seconds(run.timeMs).padStart(8)}  ${run.area}${run.timeMs > AREA_BUDGET_MS ? `  WARNING: over ${seconds(AREA_BUDGET_MS)}` : ''}`);
  const results = runs.flatMap((run) => run.results);
  say('slowest files');
  for (const result of results.toSorted((a, b) => b.timeMs - a.timeMs).slice(0, SLOWEST)) say(`  ${seconds(result.timeMs).padStart(8)}  ${result.file}`);
  const failures = results.flatMap((result) => result.failures);
  if (failures.length > 0) say('\nfailures');
  for (const failure of failures) say(`\n- ${failure.name}\n${failure.detail.split('\n').map((line) => `    ${line}`).join('\n')}`);
  const count = (of: (result: FileResult) => number): number => results.reduce((sum, result) => sum + of(result), 0);
  const passed = count((result) => result.passed);
  const skipped = count((result) => result.skipped);
  if (skipped > 0) say(`\n${skipped} skipped`);
  say(`\n${passed} passed, ${failures.length} failed`);
  return failures.length === 0 && passed > 0;
}

const broken = (name: string, error: unknown): AreaRun => {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { area: name, timeMs: 0, results: [{ file: name, passed: 0, skipped: 0, timeMs: 0, failures: [{ name, detail }] }] };
};

/** What every test process would else make for itself: a PostgreSQL, and the code Node compiles from our sources. */
async function shareWithTests(areas: TestArea[]): Promise<{ end: () => Promise<void> }> {
  const compiled = mkdtempSync(path.join(tmpdir(), 'wv-compiled-'));
  process.env['NODE_COMPILE_CACHE'] = compiled;
  const server = areas.some(({ name }) => name.startsWith('src')) ? await shareTestPostgres(process.env) : undefined;
  return {
    end: async () => {
      await server?.stop();
      rmSync(compiled, { recursive: true, force: true });
    },
  };
}

async function main(filters: string[]): Promise<boolean> {
  const testFilters = filters.filter((filter) => filter !== 'lint');
  const lintOnly = filters.length > 0 && testFilters.length === 0;
  const areas = lintOnly ? [] : findAreas(root, testFilters);
  if (!lintOnly && areas.length === 0) return report([broken('test/run.ts', new Error(`no test file matches ${testFilters.join(' ') || 'test/*/**/*.test.ts'}`))]);
  try {
    ensurePackages(new Set(areas.map((area) => area.name)), say);
    ensureTapBuilt(root, say);
  } catch (error) {
    return report([broken('what the tests need', error)]);
  }
  const runs = filters.length === 0 || filters.includes('lint') ? [runLint()] : [];
  const shared = await shareWithTests(areas);
  try {
    return report([...runs, ...(await runTests(areas))]);
  } finally {
    await shared.end();
  }
}

if (!(await main(process.argv.slice(2)))) process.exitCode = 1;
