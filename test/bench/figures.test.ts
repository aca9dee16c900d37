import t from 'tap';
import { inconclusive, judged, missing, shown, table, withoutMissesOfABusyMachine } from '../../bench/support/figures.ts';
import { readCommandLine } from '../../bench/support/options.ts';

t.test('a figure is judged against its upper limit', (t) => {
  t.match(judged('wait', 25, 'ms', 25), { value: 25, goal: 25, ok: true });
  t.match(judged('wait', 25.1, 'ms', 25), { ok: false });
  t.match(shown('wait', 1.23456, 'ms'), { value: 1.235, goal: null, ok: null });
  t.match(judged('wait', Number.NaN, 'ms', 25), { value: null, ok: null, cause: 'no sample' });
  t.end();
});

t.test('a busy machine takes the verdict from missed times, not from times that were met nor from CPU', (t) => {
  const figures = [judged('slow', 30, 'ms', 25), judged('fast', 20, 'ms', 25), judged('cpu', 2, 'ms/s/call', 1), missing('none', 'ms', 1, 'not installed')];
  t.same(withoutMissesOfABusyMachine(figures, 4), figures);
  const judgedBusy = withoutMissesOfABusyMachine(figures, 20);
  t.same(judgedBusy.map(({ ok }) => ok), [null, true, false, null]);
  t.match(judgedBusy[0], { value: 30, goal: 25, cause: /inconclusive: others took 20.0 %/ });
  t.match(judgedBusy[3], { cause: 'not installed' });
  t.same(inconclusive(shown('x', 1, 'ms'), 'why'), shown('x', 1, 'ms'));
  t.end();
});

t.test('the table says missed, met and why not', (t) => {
  const text = table({ bench: 'b', figures: [judged('one', 3, 'ms', 2), judged('two', 1, 'ms', 2), missing('three', 'x', 4, 'not here')] });
  t.match(text, /^bench b\n/);
  t.match(text, /one +3 +ms +<= 2 +MISSED/);
  t.match(text, /two +1 +ms +<= 2 +ok/);
  t.match(text, /three +- +x +<= 4 +not here/);
  t.end();
});

t.test('the command line is read, and what is wrong with it is said', (t) => {
  const names = ['latency', 'capacity'];
  t.same(readCommandLine(['capacity', '--json', '--calls', '200,50'], names), { name: 'capacity', json: true, quick: false, calls: [50, 200] });
  t.same(readCommandLine(['--quick', 'latency'], names), { name: 'latency', json: false, quick: true });
  t.throws(() => readCommandLine([], names), /name a benchmark: latency, capacity/);
  t.throws(() => readCommandLine(['latency', 'capacity'], names), /one benchmark at a time/);
  t.throws(() => readCommandLine(['latency', '--fast'], names), /unknown option --fast/);
  for (const calls of [undefined, '', '0', '1.5', 'many', '5000']) {
    t.throws(() => readCommandLine(['latency', '--calls', ...(calls === undefined ? [] : [calls])], names), /--calls takes whole numbers/, `--calls ${calls}`);
  }
  t.end();
});
