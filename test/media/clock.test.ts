import t from 'tap';
import { MediaClock, type OneShotTimer } from '../../media/clock.ts';

/** Time that only moves when told to; sleeping and working take some of it. */
class FakeTime implements OneShotTimer {
  now = 1000;
  #callback: (() => void) | undefined;
  #at = 0;

  set(callback: () => void, delayMs: number): void {
    this.#callback = callback;
    this.#at = this.now + delayMs;
  }

  clear(): void {
    this.#callback = undefined;
  }

  get armed(): boolean {
    return this.#callback !== undefined;
  }

  /** Fires the timer, `lateMs` late, until `until` is reached. */
  runUntil(until: number, lateMs = 0): void {
    while (this.#callback !== undefined && this.#at + lateMs <= until) {
      const callback = this.#callback;
      this.#callback = undefined;
      this.now = Math.max(this.now, this.#at + lateMs);
      callback();
    }
    this.now = Math.max(this.now, until);
  }
}

const clockOn = (time: FakeTime, options: ConstructorParameters<typeof MediaClock>[0] = {}): MediaClock =>
  new MediaClock({ now: () => time.now, timer: time, sleep: (ms) => (time.now += ms), ...options });

t.test('each member once per 20 ms, spread over four groups 5 ms apart, without drift over an hour', async (t) => {
  const time = new FakeTime();
  const clock = clockOn(time);
  const ticks = [0, 0, 0, 0, 0].map(() => [] as number[]);
  for (const list of ticks) clock.add((now) => void list.push(now));
  clock.start();
  time.runUntil(1000 + 3_600_000, 0.7);
  for (const list of ticks) {
    t.equal(list.length, 180_000);
    t.ok(list.every((at, i) => Math.abs(at - (list[0]! + 20 * i)) < 1));
  }
  const phases = ticks.map((list) => Math.round(list[0]! - 1000) % 20);
  t.same([...new Set(phases)].sort((a, b) => a - b), [0, 5, 10, 15]);
  t.ok(clock.latenessMs.p99 < 0.1, `woken early, slept the rest: ${clock.latenessMs.p99}`);
  t.equal(clock.skippedTicks, 0);
});

t.test('a stall is made good tick by tick up to ten, the rest is counted and the grid kept', async (t) => {
  const time = new FakeTime();
  const clock = clockOn(time);
  const at: number[] = [];
  clock.add((now) => void at.push(now));
  clock.start();
  time.runUntil(1100);
  const before = at.length;
  time.now += 100;
  time.runUntil(time.now + 0.5);
  t.equal(at.length - before, 5, 'five missed ticks at once');
  time.runUntil(1300);
  const phase = at[0]! % 20;
  time.now += 1000;
  const beforeLong = at.length;
  time.runUntil(time.now + 0.5);
  t.equal(at.length - beforeLong, 10);
  t.equal(clock.skippedTicks, 40);
  time.runUntil(2400);
  t.ok(Math.abs((at.at(-1)! % 20) - phase) < 1, 'back on the same grid');
  t.ok(clock.latenessMs.max > 170);
});

t.test('members join the emptiest group, leave from inside a tick, and an idle clock sets no timer', async (t) => {
  const time = new FakeTime();
  const clock = clockOn(time);
  clock.start();
  t.notOk(time.armed);
  let first = 0;
  let others = 0;
  const one = clock.add(() => {
    first++;
    if (first === 3) {
      one.stop();
      one.stop();
      for (const other of rest) other.stop();
    }
  });
  const rest = Array.from({ length: 8 }, () => clock.add(() => void others++));
  t.equal(clock.size, 9);
  time.runUntil(1200);
  t.equal(first, 3);
  t.ok(others >= 16 && others <= 24, `${others}`);
  t.equal(clock.size, 0);
  t.notOk(time.armed, 'idle');
  const late: number[] = [];
  time.now = 5003;
  clock.add((now) => void late.push(now));
  time.runUntil(5100);
  t.equal(late.length, 5, 'a member after a long idle time is not owed the past');
});

t.test('a member that throws is reported and harms no other; an overloaded clock still yields', async (t) => {
  const time = new FakeTime();
  const errors: unknown[] = [];
  const runs: number[] = [];
  const clock = clockOn(time, { onError: (error) => void errors.push(error), onRun: (ms) => void runs.push(ms) });
  let ticks = 0;
  for (let i = 0; i < 5; i++) {
    clock.add(() => {
      ticks++;
      time.now += 6;
      if (i === 0) throw new Error('broken leg');
    });
  }
  clock.start();
  time.runUntil(1200);
  t.ok(ticks > 20);
  t.ok(errors.length > 2);
  t.ok(runs.every((ms) => ms === 6 || ms === 12));
  clock.stop();
  const stopped = ticks;
  time.runUntil(2000);
  t.equal(ticks, stopped);
});

t.test('on real time: ticks come, and stop when told', async (t) => {
  const clock = new MediaClock();
  let ticks = 0;
  await new Promise<void>((resolve) => {
    clock.add(() => {
      ticks++;
      if (ticks === 5) resolve();
    });
    clock.start();
  });
  clock.stop();
  t.equal(ticks, 5);
  t.equal(clock.latenessMs.count, 5);
});

t.test('what members do after comes once the whole group was ticked, and not from one that left', async (t) => {
  const time = new FakeTime();
  const errors: unknown[] = [];
  const clock = clockOn(time, { onError: (error) => errors.push(error) });
  const seen: string[] = [];
  // Nine members: three in the first group, the first, fifth and ninth.
  const ticks = Array.from({ length: 9 }, (_, i) => clock.add(
    () => {
      seen.push(`tick ${i}`);
      if (i === 4) ticks[i]!.stop();
    },
    () => {
      seen.push(`after ${i}`);
      if (i === 0) throw new Error('send failed');
    },
  ));
  clock.start();
  time.runUntil(1020.5);
  const group = seen.filter((one) => /[048]$/.test(one));
  t.same(group, ['tick 0', 'tick 4', 'tick 8', 'after 0', 'after 8']);
  t.equal(errors.length, 1);
});
