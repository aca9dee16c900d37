import t from 'tap';
import { FRAME_SAMPLES, SAMPLE_RATE } from '../../media/audio-frame.ts';
import { heardText, startOfCutWord, type Speech } from '../../media/heard-text.ts';
import { PlayedTimeline } from '../../media/played-timeline.ts';
import { Playout, type Heard } from '../../media/playout.ts';

/** Each word lasts `wordMs` at the same loud level, so that a position can be told from the words heard. */
function speech(text: string, wordMs = 100): Speech {
  const words = text.split(' ').map((word, index) => ({ text: word, startMs: index * wordMs, endMs: (index + 1) * wordMs }));
  return { text, words, audio: new Int16Array((words.length * wordMs * SAMPLE_RATE) / 1000).fill(8000) };
}

async function* pieces(...all: Speech[]): AsyncGenerator<Speech> {
  yield* all;
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Frames handed out, copied, with what waits settled between them. */
async function frames(playout: Playout, count: number): Promise<Int16Array[]> {
  const out: Int16Array[] = [];
  for (let index = 0; index < count; index++) {
    await settle();
    out.push(playout.next().slice());
  }
  return out;
}

const isSilent = (frame: Int16Array): boolean => frame.every((sample) => sample === 0);
const peak = (frame: Int16Array): number => frame.reduce((max, sample) => Math.max(max, Math.abs(sample)), 0);

t.test('plays everything, then silence, and says so', async (t) => {
  const playout = new Playout();
  const events: string[] = [];
  const heard = playout.play(pieces(speech('one two'), speech('three')), new AbortController().signal, {
    onFirstAudio: () => events.push('first'),
    onFirstVoiced: () => events.push('voiced'),
  });
  const out = await frames(playout, 17);
  t.same(await heard, { text: 'one two three', complete: true });
  t.equal(out.filter((frame) => !isSilent(frame)).length, 15);
  t.same(events, ['first', 'voiced']);
});

t.test('silence when there is nothing to say, without a new frame each time', async (t) => {
  const playout = new Playout();
  t.equal(playout.next(), playout.next());
  t.ok(isSilent(playout.next()));
});

t.test('an abort cuts at the last word heard whole, and the sound fades within 5 ms', async (t) => {
  const playout = new Playout();
  const turn = new AbortController();
  const heard = playout.play(pieces(speech('one two three four')), turn.signal);
  await frames(playout, 12); // 240 ms: two words and a half
  turn.abort();
  const [tail, after] = await frames(playout, 2);
  t.same(await heard, { text: 'one two', complete: false });
  t.ok(peak(tail!) > 0, 'the end is faded, not chopped');
  t.ok(isSilent(tail!.subarray(80)), 'silent after 5 ms');
  t.ok(Math.abs(tail![79]!) < 200);
  t.ok(isSilent(after!));
});

t.test('an abort before anything was heard', async (t) => {
  const playout = new Playout();
  const turn = new AbortController();
  const heard = playout.play(pieces(speech('one two')), turn.signal);
  await settle();
  turn.abort();
  t.same(await heard, { text: '', complete: false });
  t.ok(isSilent(playout.next()));
  t.same(await playout.play(pieces(speech('x')), turn.signal), { text: '', complete: false }, 'an aborted signal plays nothing');
});

t.test('an abort does not wait for a speech that never comes', async (t) => {
  const playout = new Playout();
  const turn = new AbortController();
  let returned = false;
  const stuck: AsyncIterable<Speech> = {
    [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}), return: async () => ((returned = true), { done: true, value: undefined }) }),
  };
  const heard = playout.play(stuck, turn.signal);
  await settle();
  turn.abort();
  t.same(await heard, { text: '', complete: false });
  t.equal(returned, false, 'a generator that is busy is not returned into');
});

t.test('one at a time', async (t) => {
  const playout = new Playout();
  const turn = new AbortController();
  void playout.play(pieces(speech('one')), turn.signal);
  t.throws(() => void playout.play(pieces(speech('two')), turn.signal), RangeError);
  turn.abort();
});

t.test('pulls only a little ahead', async (t) => {
  const playout = new Playout({ highWaterMs: 400 });
  let pulled = 0;
  let ended = false;
  async function* endless(): AsyncGenerator<Speech> {
    try {
      for (;;) {
        pulled++;
        yield speech('a b'); // 200 ms
      }
    } finally {
      ended = true;
    }
  }
  const turn = new AbortController();
  const heard = playout.play(endless(), turn.signal);
  for (let index = 0; index < 10; index++) await settle();
  t.equal(pulled, 2, '400 ms wait');
  await frames(playout, 50);
  t.ok(pulled >= 6 && pulled <= 8, `one second was heard, ${pulled} pieces were asked for`);
  turn.abort();
  await heard;
  await settle();
  t.ok(ended, 'the speech is told that nobody listens any more');
});

t.test('a long piece does not keep the next one from being made', async (t) => {
  const playout = new Playout({ highWaterMs: 100 });
  let pulled = 0;
  async function* long(): AsyncGenerator<Speech> {
    for (;;) {
      pulled++;
      yield speech('a b c d e f g h');
    }
  }
  const turn = new AbortController();
  const heard = playout.play(long(), turn.signal);
  for (let index = 0; index < 10; index++) await settle();
  t.equal(pulled, 2, 'the one being said and one ahead');
  turn.abort();
  await heard;
});

t.test('a gap between pieces is silence and is not counted as heard', async (t) => {
  const playout = new Playout();
  const gate = Promise.withResolvers<void>();
  async function* late(): AsyncGenerator<Speech> {
    yield speech('one two');
    await gate.promise;
    yield speech('three four');
  }
  const turn = new AbortController();
  const heard = playout.play(late(), turn.signal);
  const out = await frames(playout, 40);
  t.equal(out.filter(isSilent).length, 30);
  gate.resolve();
  await frames(playout, 6); // 120 ms of the second piece
  turn.abort();
  t.same(await heard, { text: 'one two three', complete: false });
});

t.test('a failure of the speech comes after what was there has been played', async (t) => {
  const playout = new Playout();
  const failure = new Error('voice engine down');
  async function* failing(): AsyncGenerator<Speech> {
    yield speech('one two');
    throw failure;
  }
  const heard = playout.play(failing(), new AbortController().signal);
  const out = await frames(playout, 12);
  t.equal(out.filter((frame) => !isSilent(frame)).length, 10);
  t.same(await heard, { text: 'one two', complete: false, failure });
});

t.test('a hold', async (t) => {
  await t.test('shorter than 200 ms goes on where it stopped', async (t) => {
    const playout = new Playout();
    const heard = playout.play(pieces(speech('one two three')), new AbortController().signal);
    await frames(playout, 7);
    playout.hold();
    const held = await frames(playout, 5);
    t.ok(isSilent(held[0]!.subarray(80)) && held.slice(1).every(isSilent), 'silent within 5 ms');
    playout.resume();
    const rest = await frames(playout, 9);
    t.equal(Math.abs(rest[0]![0]!), 0, 'fades in');
    t.ok(peak(rest[0]!) === 8000);
    t.equal(rest.filter((frame) => !isSilent(frame)).length, 8, 'nothing said twice');
    t.same(await heard, { text: 'one two three', complete: true });
  });
  await t.test('longer than 200 ms says the cut word again', async (t) => {
    const playout = new Playout();
    const heard = playout.play(pieces(speech('one two three')), new AbortController().signal);
    await frames(playout, 7); // 140 ms: within "two"
    playout.hold();
    await frames(playout, 20);
    playout.resume();
    const rest = await frames(playout, 12);
    t.equal(rest.filter((frame) => !isSilent(frame)).length, 10, '"two" from its start');
    t.same(await heard, { text: 'one two three', complete: true });
  });
  await t.test('ends with the abort, and what comes next is not held', async (t) => {
    const playout = new Playout();
    const turn = new AbortController();
    const heard = playout.play(pieces(speech('one two three')), turn.signal);
    await frames(playout, 6);
    playout.hold();
    await frames(playout, 3);
    turn.abort();
    t.same(await heard, { text: 'one', complete: false });
    t.equal(playout.held, false);
    const next = playout.play(pieces(speech('four')), new AbortController().signal);
    t.equal((await frames(playout, 6)).filter((frame) => !isSilent(frame)).length, 5);
    t.same(await next, { text: 'four', complete: true });
  });
  await t.test('of nothing is nothing', (t) => {
    const playout = new Playout();
    playout.hold();
    t.equal(playout.held, false);
    playout.resume();
    t.end();
  });
});

t.test('what the far end still buffers is not heard', async (t) => {
  const playout = new Playout({ latencyMs: 100 });
  const turn = new AbortController();
  const heard = playout.play(pieces(speech('one two three four')), turn.signal);
  await frames(playout, 16); // 320 ms out, 220 heard
  turn.abort();
  t.same(await heard, { text: 'one two', complete: false });

  let done = false;
  const whole = playout.play(pieces(speech('one')), new AbortController().signal).then((h: Heard) => ((done = true), h));
  await frames(playout, 6);
  t.equal(done, false, 'not complete before it was heard');
  await frames(playout, 5);
  t.same(await whole, { text: 'one', complete: true });
});

t.test('a browser says what it has played', async (t) => {
  const playout = new Playout();
  const turn = new AbortController();
  const heard = playout.play(pieces(speech('one two three four five')), turn.signal);
  await frames(playout, 20); // 400 ms out
  playout.heardUpTo(210);
  playout.heardUpTo(150); // late report
  playout.heardUpTo(1e12);
  turn.abort();
  t.same(await heard, { text: 'one two three four', complete: false }, 'never more than was handed out');

  const again = new AbortController();
  const second = playout.play(pieces(speech('one two three four five')), again.signal);
  await frames(playout, 20);
  playout.heardUpTo(210);
  playout.hold(); // the browser is told to drop the rest
  await frames(playout, 20);
  playout.resume();
  const rest = await frames(playout, 17);
  t.equal(rest.filter((frame) => !isSilent(frame)).length, 15, 'from the start of the third word');
  playout.heardUpTo(10_000);
  t.same(await second, { text: 'one two three four five', complete: true });
});

t.test('next() allocates no frames while it plays', async (t) => {
  const playout = new Playout();
  const turn = new AbortController();
  void playout.play(pieces(speech('one two three')), turn.signal);
  await settle();
  const first = playout.next();
  t.equal(playout.next(), first);
  t.equal(first.length, FRAME_SAMPLES);
  turn.abort();
});

t.test('heard text', (t) => {
  const piece = speech('At 3 p.m. then', 100);
  t.equal(heardText(piece, piece.audio.length, 3200), 'At 3');
  const spelled: Speech = { text: 'At 3 p.m.', words: ['at', 'three', 'p', 'm'].map((text, i) => ({ text, startMs: i * 100, endMs: i * 100 + 100 })), audio: new Int16Array(6400) };
  t.equal(heardText(spelled, 6400, 3300), 'at three', 'words the engine timed differently than it was written');
  t.equal(heardText({ text: 'one two three', words: [] }, 1600, 800), 'one', 'without word times: by length');
  t.equal(heardText(piece, piece.audio.length, 0), '');
  t.equal(startOfCutWord(piece, 1700), 1600);
  t.equal(startOfCutWord({ ...piece, words: [] }, 1700), 1700);
  t.end();
});

t.test('the played timeline joins the clocks', (t) => {
  const timeline = new PlayedTimeline();
  t.equal(timeline.positionAt(5), 0);
  timeline.speech(0, 100);
  timeline.speech(100, 100);
  timeline.silence(50);
  timeline.speech(200, 100);
  t.equal(timeline.played, 350);
  t.equal(timeline.positionAt(150), 150);
  t.equal(timeline.positionAt(230), 200, 'a gap adds nothing');
  t.equal(timeline.positionAt(300), 250);
  timeline.cutAt(120);
  t.equal(timeline.played, 120);
  timeline.speech(100, 10);
  t.equal(timeline.positionAt(125), 105);
  timeline.cutAt(0);
  t.equal(timeline.positionAt(10), 0);
  t.end();
});
