import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { sweep } from './left-behind.ts';
import { readTap, type FileResult } from './tap-results.ts';

export interface AreaRun { area: string; results: FileResult[]; timeMs: number }

export interface AreaRunOptions {
  /** Where node_modules and .taprc are, and what file names are relative to. */
  root: string;
  area: string;
  files: string[];
  jobs: number;
  /** After this the area's processes are killed and what has not reported has failed. */
  limitMs: number;
  /** How long a test's own processes may take to go after its last line. */
  graceMs: number;
  fileTimeoutSeconds?: number;
  onFile: (result: FileResult) => void;
  signal: AbortSignal;
}

const failed = (file: string, detail: string): FileResult => ({ file, passed: 0, skipped: 0, timeMs: 0, failures: [{ name: file, detail }] });

/** One run of tap over `files` in a process group of its own, which is empty when this resolves. */
async function runTap(options: AreaRunOptions, files: string[], deadline: AbortSignal): Promise<FileResult[]> {
  const tap = path.join(options.root, 'node_modules/tap/dist/esm/run.mjs');
  const mark = `WIREVOICE_TEST_RUN=${randomUUID()}`;
  const [name = '', value = ''] = mark.split('=');
  const timeout = options.fileTimeoutSeconds === undefined ? [] : [`--timeout=${options.fileTimeoutSeconds}`];
  const child = spawn(process.execPath, [tap, '--reporter=tap', `--jobs=${options.jobs}`, ...timeout, ...files], {
    cwd: options.root, detached: true, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, [name]: value },
  });
  const group = child.pid;
  if (group === undefined) return [failed(options.area, 'tap did not start')];
  const killGroup = (): void => {
    try {
      process.kill(-group, 'SIGKILL');
    } catch {
      // The group is empty already.
    }
  };
  deadline.addEventListener('abort', killGroup, { once: true });
  const results: FileResult[] = [];
  await readTap(child.stdout, (result) => {
    if (!files.includes(result.file)) return;
    results.push(result);
    options.onFile(result);
  });
  for (const left of await sweep(mark, group, deadline.aborted ? 0 : options.graceMs)) {
    results.push(failed(options.area, `left behind a process: ${left.pid} ${left.command}`));
  }
  deadline.removeEventListener('abort', killGroup);
  return results;
}

/**
 * Runs an area's files. tap drops files it has not started when another times out, so those get another round, as long as
 * each round brings something; what never reports has failed.
 */
export async function runArea(options: AreaRunOptions): Promise<AreaRun> {
  const startedAt = performance.now();
  const deadline = AbortSignal.any([options.signal, AbortSignal.timeout(options.limitMs)]);
  const results: FileResult[] = [];
  let waiting = options.files;
  while (waiting.length > 0 && !deadline.aborted) {
    const round = await runTap(options, waiting, deadline);
    results.push(...round);
    const reported = new Set(round.map((result) => result.file));
    const rest = waiting.filter((file) => !reported.has(file));
    if (rest.length === waiting.length) break;
    waiting = rest;
  }
  const seen = new Set(results.map((result) => result.file));
  const why = deadline.aborted ? `not finished within the area's ${options.limitMs / 1000} s` : 'never reported: it crashed before its first test, or tap did not start it';
  for (const file of options.files) if (!seen.has(file)) results.push(failed(file, why));
  return { area: options.area, results, timeMs: performance.now() - startedAt };
}
