import t from 'tap';
import { HeardQueue } from '../../../src/session/browser/heard-queue.ts';

const loud = (value: number): Int16Array => new Int16Array(320).fill(value);
const quiet = (): Int16Array => new Int16Array(320).fill(20);

/** First samples of all frames there are at a moment. */
function hear(queue: HeardQueue, now: number): number[] {
  const heard: number[] = [];
  for (let frame = queue.read(now); frame; frame = queue.read(now)) heard.push(frame[0]!);
  return heard;
}

t.test('frames are heard as they arrive, in order', (t) => {
  const queue = new HeardQueue();
  queue.start(0);
  queue.push(loud(1000));
  queue.push(loud(2000));
  t.strictSame(hear(queue, 21), [1000, 2000]);
  t.strictSame(hear(queue, 25), []);
  t.end();
});

t.test('before the start and while away nothing is heard', (t) => {
  const queue = new HeardQueue();
  queue.push(loud(1000));
  t.strictSame(hear(queue, 500), []);
  queue.start(500);
  t.strictSame(hear(queue, 520), [1000]);
  queue.push(loud(2000));
  queue.pause();
  t.strictSame(hear(queue, 9000), []);
  queue.start(9000);
  t.strictSame(hear(queue, 9010), [], 'what waited then is forgotten, and the time away is no silence');
  t.end();
});

t.test('late sound is waited for 200 ms, then silence fills the time up', (t) => {
  const queue = new HeardQueue();
  queue.start(0);
  t.strictSame(hear(queue, 200), []);
  t.equal(hear(queue, 201).length, 10);
  t.equal(hear(queue, 240).length, 2, 'from then on without waiting');
  queue.push(loud(1000));
  t.strictSame(hear(queue, 245), [1000]);
  t.strictSame(hear(queue, 400), [], 'and with patience again once it sends');
  t.end();
});

t.test('muted, silence needs no patience', (t) => {
  const queue = new HeardQueue();
  queue.start(0);
  queue.push(loud(1000));
  t.strictSame(hear(queue, 20), [1000]);
  queue.mute();
  t.strictSame(hear(queue, 40), [0]);
  t.strictSame(hear(queue, 59), []);
  t.end();
});

t.test('after a stall what came late is heard, and quiet frames pay the silence back', (t) => {
  const queue = new HeardQueue();
  queue.start(0);
  const stalled = hear(queue, 600).length;
  t.equal(stalled, 30);
  for (let index = 0; index < 30; index++) queue.push(loud(1000 + index));
  t.strictSame(hear(queue, 600), Array.from({ length: 30 }, (_, index) => 1000 + index), 'no word is lost');
  let heard = stalled + 30;
  for (let now = 620; now <= 3000; now += 20) {
    queue.push(quiet());
    heard += hear(queue, now).length;
  }
  t.ok(Math.abs(heard - 3000 / 20) <= 3, `${heard} frames in 3000 ms`);
  t.end();
});

t.test('a burst over a second loses its oldest', (t) => {
  const queue = new HeardQueue();
  queue.start(0);
  for (let index = 0; index < 70; index++) queue.push(loud(1000 + index));
  t.equal(queue.lostFrames, 20);
  t.strictSame(hear(queue, 1000), Array.from({ length: 50 }, (_, index) => 1020 + index));
  t.end();
});

for (const speed of [0.5, 0.999, 1, 1.001, 2, 5]) {
  t.test(`a client at ${speed} times real time is heard in real time`, (t) => {
    const queue = new HeardQueue();
    queue.start(0);
    let sent = 0;
    let heard = 0;
    for (let now = 0; now <= 60_000; now += 20) {
      for (; sent < (now / 20) * speed; sent++) queue.push(sent % 4 === 0 ? quiet() : loud(3000));
      heard += hear(queue, now).length;
    }
    t.ok(Math.abs(heard - 3000) <= 51, `${heard} frames in 60 s`);
    const figures = queue.figures();
    t.equal(figures.heardFrames, heard);
    t.equal(figures.heardFrames - figures.filledFrames + figures.skippedFrames + figures.lostFrames, sent, 'every frame is accounted for');
    t.end();
  });
}
