import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const RUN = fileURLToPath(new URL('../../bench/run.ts', import.meta.url));

function bench(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, ['--single-threaded-gc', RUN, ...args], { encoding: 'utf8', timeout: 60_000 });
}

t.test('--quick --json prints one object of figures on stdout and the table on stderr', (t) => {
  const { status, stdout, stderr } = bench('vad', '--quick', '--json', '--calls', '2');
  t.equal(status, 0, stderr);
  const report = JSON.parse(stdout) as { bench: string; figures: Record<string, unknown>[] };
  t.same(Object.keys(report), ['bench', 'figures']);
  t.equal(report.bench, 'vad');
  t.ok(report.figures.length > 3);
  for (const figure of report.figures) {
    t.type(figure['name'], 'string');
    t.ok(figure['value'] === null || typeof figure['value'] === 'number', `value of ${String(figure['name'])}`);
    t.type(figure['unit'], 'string');
    t.ok(figure['goal'] === null || typeof figure['goal'] === 'number');
    t.ok(figure['ok'] === null || typeof figure['ok'] === 'boolean');
  }
  const equal = report.figures.find((figure) => String(figure['name']).startsWith('probability difference'));
  t.match(equal, { value: 0, goal: 0, ok: true }, 'batched and unbatched decide the same');
  t.match(stderr, /^bench vad\n/);
  t.end();
});

t.test('a wrong command line is refused with what is right', (t) => {
  const { status, stdout, stderr } = bench('speed');
  t.equal(status, 2);
  t.equal(stdout, '');
  t.match(stderr, /name a benchmark: latency, capacity, vad, speech, api, start/);
  t.end();
});
