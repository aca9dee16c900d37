/** `npm run bench -- <name> [--json] [--quick] [--calls N,...]`: prints a table, or with --json one object on stdout and the table on stderr. */
import { lostToOthersPct } from './support/cpu.ts';
import { shown, table, withoutMissesOfABusyMachine } from './support/figures.ts';
import { readCommandLine, type Bench, type CommandLine } from './support/options.ts';

const BENCHES: Record<string, () => Promise<Bench>> = {
  latency: async () => (await import('./latency.ts')).latency,
  capacity: async () => (await import('./capacity.ts')).capacity,
  vad: async () => (await import('./vad.ts')).vad,
  speech: async () => (await import('./speech.ts')).speech,
  api: async () => (await import('./api.ts')).api,
  start: async () => (await import('./start.ts')).start,
};

async function run(command: CommandLine): Promise<void> {
  const bench = await BENCHES[command.name]?.();
  if (!bench) throw new Error(`no benchmark ${command.name}`);
  const before = await lostToOthersPct();
  const { bench: name, figures } = await bench(command);
  const lostPct = Math.max(before, await lostToOthersPct());
  const judged = withoutMissesOfABusyMachine(figures, lostPct);
  const report = { bench: name, figures: [shown('cores lost to others (calibration)', lostPct, '%'), ...judged] };
  const text = `${table(report)}\n`;
  if (command.json) {
    process.stderr.write(text);
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } else {
    process.stdout.write(text);
  }
}

let command: CommandLine;
try {
  command = readCommandLine(process.argv.slice(2), Object.keys(BENCHES));
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
await run(command);
// A library's idle handle must not keep a finished benchmark alive.
process.exit(0);
