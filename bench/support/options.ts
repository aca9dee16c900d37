import type { Report } from './figures.ts';

export interface BenchOptions {
  /** Ends within 40 s, with fewer samples. */
  quick: boolean;
  /** Numbers of calls to measure instead of the benchmark's own. */
  calls?: number[];
}

export type Bench = (options: BenchOptions) => Promise<Report>;

export interface CommandLine extends BenchOptions { name: string; json: boolean }

const MAX_CALLS = 2000;

/** Reads `<name> [--json] [--quick] [--calls N,...]`. Throws Error with what is wrong. */
export function readCommandLine(args: readonly string[], names: readonly string[]): CommandLine {
  const found: CommandLine = { name: '', json: false, quick: false };
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--json') found.json = true;
    else if (arg === '--quick') found.quick = true;
    else if (arg === '--calls') found.calls = readCalls(rest.shift());
    else if (arg.startsWith('--')) throw new Error(`unknown option ${arg}: there are --json, --quick and --calls N,...`);
    else if (found.name) throw new Error(`one benchmark at a time: got ${found.name} and ${arg}`);
    else found.name = arg;
  }
  if (!names.includes(found.name)) throw new Error(`name a benchmark: ${names.join(', ')}`);
  return found;
}

function readCalls(text: string | undefined): number[] {
  const calls = (text ?? '').split(',').map(Number);
  const bad = calls.find((count) => !Number.isInteger(count) || count < 1 || count > MAX_CALLS);
  if (text === undefined || bad !== undefined) throw new Error(`--calls takes whole numbers from 1 to ${MAX_CALLS}, separated by commas; got ${text ?? 'nothing'}`);
  return calls.sort((a, b) => a - b);
}
