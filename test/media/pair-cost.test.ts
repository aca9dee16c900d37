import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';

t.test('a packet pair leaves at most 0.6 kB of garbage, everything included', async (t) => {
  const script = fileURLToPath(new URL('./pair-cost.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', '--max-semi-space-size=256', '--single-threaded-gc', script, '20', '3'], { timeout: 60_000 });
  const cost = JSON.parse(stdout) as { pairs: number; frames: number; speaking: number; heapBytesPerPair: number; bufferBytesPerPair: number };
  t.comment(stdout.trim());
  t.ok(cost.pairs > 2000, `${cost.pairs} pairs in three seconds`);
  t.ok(cost.speaking > cost.frames / 4, 'the voice is heard');
  t.ok(cost.heapBytesPerPair + cost.bufferBytesPerPair <= 600, `${cost.heapBytesPerPair} + ${cost.bufferBytesPerPair} bytes`);
});

t.test('priority: raising says what was granted, lowering never throws, the watchdog trips on the second overrun in a minute', async (t) => {
  const { lowerPriority, PriorityWatchdog, raisePriority } = await import('../../media/priority.ts');
  t.ok(['realtime', 'nice', 'normal'].includes(raisePriority()));
  lowerPriority();
  let now = 0;
  let lowered = 0;
  const watchdog = new PriorityWatchdog({ now: () => now, lower: () => void lowered++ });
  const observe = (at: number, ms: number): boolean => {
    now = at;
    watchdog.observe(ms);
    return watchdog.tripped;
  };
  t.same([observe(0, 40), observe(10, 15), observe(70_000, 16), observe(100_000, 14), observe(110_000, 16), observe(110_020, 90)], [false, false, false, false, true, true]);
  t.equal(lowered, 1);
});
