import t, { type Test } from 'tap';
import { JitterBuffer } from '../../media/rtp/jitter-buffer.ts';
import { deliver, listen, media, seeded, stream, type Heard } from './simulated-network.ts';

const count = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** No frame twice, none out of order. */
function inOrder(t: Test, heard: Heard[]): void {
  const numbers = media(heard);
  t.ok(numbers.every((number, i) => i === 0 || number > numbers[i - 1]!), 'each frame at most once and in order');
}

/** The frames heard by any moment are wall time's, give or take `frames`. */
function inStep(t: Test, heard: Heard[], startAt: number, frames: number): void {
  let worst = 0;
  heard.forEach((frame, i) => {
    worst = Math.max(worst, Math.abs(i + 1 - ((frame.at - startAt) / 20 + 1)));
  });
  t.ok(worst <= frames, `never more than ${frames} frames from wall time (${worst.toFixed(2)})`);
}

t.test('a clean network: every frame on arrival, through both wraps', async (t) => {
  const packets = stream(500);
  const arrivals = deliver(packets, () => 33);
  const jitter = new JitterBuffer();
  const heard = listen(jitter, arrivals, 10_020, { from: 33 });
  t.same(media(heard), count(500));
  t.ok(heard.every((frame, i) => i >= 500 || frame.at === arrivals[i]!.at), 'none waited');
  t.equal(jitter.jitterMs, 0);
});

t.test('a lost packet is concealed once and costs no one else time', async (t) => {
  const heard = listen(new JitterBuffer(), deliver(stream(100), (i) => (i % 10 === 5 ? undefined : 30)), 2030, { from: 30 });
  t.same(media(heard), count(100).filter((i) => i % 10 !== 5));
  t.equal(heard.filter((frame) => frame.kind === 'conceal' && frame.at <= 2000).length, 10);
  for (const [i, frame] of heard.entries()) if (frame.number === i) t.equal(frame.at, 30 + i * 20);
  inStep(t, heard, 30, 1);
});

t.test('a burst of 8 lost packets is filled as it passes; a burst of 60 too', async (t) => {
  for (const length of [8, 60]) {
    const heard = listen(new JitterBuffer(), deliver(stream(200), (i) => (i >= 50 && i < 50 + length ? undefined : 30)), 4030, { from: 30 });
    t.same(media(heard), count(200).filter((i) => i < 50 || i >= 50 + length));
    inStep(t, heard.slice(0, 200), 30, 1.5);
  }
});

t.test('jitter of 60±30 ms: nearly everything heard, in order, in step with wall time', async (t) => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const random = seeded(seed);
    const jitter = new JitterBuffer();
    const heard = listen(jitter, deliver(stream(3000), () => 30 + 60 * random()), 60_000, { from: 95 });
    inOrder(t, heard);
    t.ok(media(heard).length >= 2970, `${media(heard).length} of 3000 heard`);
    t.ok(jitter.jitterMs > 10 && jitter.jitterMs < 30, `jitter ${jitter.jitterMs.toFixed(1)} ms`);
    // The first packet that came quickest marks the stream's start: 30 ms.
    const settled = heard.filter((frame) => frame.at > 5000 && frame.at < 59_900);
    const firstIndex = heard.indexOf(settled[0]!);
    let worst = 0;
    settled.forEach((frame, i) => (worst = Math.max(worst, Math.abs(firstIndex + i + 1 - (frame.at - 30) / 20))));
    t.ok(worst <= 6, `at most the jitter away from wall time at any moment (${worst.toFixed(1)} frames)`);
    const atEnd = heard.filter((frame) => frame.at <= 59_900).length;
    t.ok(Math.abs(atEnd - (59_900 - 30) / 20) <= 4, `${atEnd} frames in ${(59_900 - 30) / 20} periods`);
    t.ok(heard.filter((frame) => frame.at < 59_900).length - media(heard).length <= 40, 'few concealed');
  }
});

t.test('reordering within the wait is put right; duplicates are heard once', async (t) => {
  const jitter = new JitterBuffer();
  // Every fifth packet is overtaken by its successor; jitter teaches the buffer to wait for it.
  const packets = stream(1000);
  const arrivals = deliver(packets, (i) => (i % 5 === 0 ? 52 : 30));
  const doubled = [...arrivals, ...arrivals.map((arrival) => ({ at: arrival.at + 7, packet: arrival.packet }))].sort((a, b) => a.at - b.at);
  const heard = listen(jitter, doubled, 20_050, { from: 52 });
  inOrder(t, heard);
  t.ok(media(heard).length >= 990, `${media(heard).length} of 1000`);
  t.ok(jitter.stats.duplicates >= 980);
});

t.test('an hour of clock drift, 200 ppm either way: frames heard track wall time', async (t) => {
  for (const ppm of [200, -200]) {
    const random = seeded(ppm);
    const jitter = new JitterBuffer({ isQuiet: (payload) => payload[2]! % 3 === 0 });
    const hour = 3_600_000;
    const heard = listen(jitter, deliver(stream(Math.round((hour / 20) * (1 + ppm / 1e6)), { ppm }), () => 30 + 4 * random()), hour - 20, { from: 40 });
    inOrder(t, heard);
    t.ok(Math.abs(heard.length - hour / 20) <= 3, `${ppm} ppm: ${heard.length} frames of ${hour / 20}`);
    inStep(t, heard, 30, 3);
    if (ppm > 0) t.ok(Math.abs(jitter.stats.droppedFrames - 36) <= 3, `${jitter.stats.droppedFrames} left out`);
    else t.ok(Math.abs(heard.length - media(heard).length - 36) <= 3, `${heard.length - media(heard).length} filled in`);
  }
});

t.test('fast drift without a quiet moment still stays within three frames', async (t) => {
  const heard = listen(new JitterBuffer(), deliver(stream(90_000, { ppm: 2000 }), () => 30), 1_790_000, { from: 30 });
  inOrder(t, heard);
  inStep(t, heard, 30, 3.1);
});

t.test('packets of 10, 30, 40 and 60 ms become 20 ms frames, losses included', async (t) => {
  for (const ptimeMs of [10, 30, 40, 60]) {
    const clean = listen(new JitterBuffer(), deliver(stream(6000 / ptimeMs, { ptimeMs }), () => 30), 6030, { from: 30 });
    t.same(media(clean), count(300), `${ptimeMs} ms`);
    const random = seeded(ptimeMs);
    const lossy = listen(new JitterBuffer(), deliver(stream(60_000 / ptimeMs, { ptimeMs }), () => (random() < 0.05 ? undefined : 30)), 60_000, { from: 30 });
    t.ok(Math.abs(lossy.length - 3000) <= 4, `${ptimeMs} ms, 5 % lost: ${lossy.length} frames of 3000`);
  }
});

t.test('silence suppression: pauses are filled, speech after them is heard at once, no drift over 100 pauses', async (t) => {
  const packets = stream(10_000).filter((_, i) => i % 100 < 60).map((packet, i) => ({ ...packet, sequence: (100 + i) & 0xffff }));
  const arrivals = deliver(packets, () => 30);
  const heard = listen(new JitterBuffer(), arrivals, 200_000, { from: 30 });
  t.equal(media(heard).length, 6000, 'all speech');
  inOrder(t, heard);
  inStep(t, heard, 30, 2);
  const byNumber = new Map(heard.map((frame) => [frame.number, frame.at]));
  t.ok(packets.every((packet, i) => byNumber.get((packet.payload[0]! << 16) | (packet.payload[1]! << 8) | packet.payload[2]!) === arrivals[i]!.at), 'each on arrival');
});

t.test('a timestamp jump, a restarted sequence and another SSRC go on without a burst', async (t) => {
  const first = stream(100, { firstSequence: 1000, firstTimestamp: 5000 });
  const after = (options: Parameters<typeof stream>[1], ssrc: number) =>
    stream(100, { startAt: 2000, ...options }).map((packet, i) => ({ ...packet, ssrc, payload: stream(200)[100 + i]!.payload }));
  const cases = {
    'timestamp jump': after({ firstSequence: 1100, firstTimestamp: 3_000_000_000 }, 7),
    'sequence restart': after({ firstSequence: 40_000, firstTimestamp: 9 }, 7),
    'a little back': after({ firstSequence: 1040, firstTimestamp: 21_000 }, 7),
    'another SSRC': after({ firstSequence: 5, firstTimestamp: 77 }, 8),
  };
  for (const [name, second] of Object.entries(cases)) {
    const heard = listen(new JitterBuffer(), deliver([...first, ...second], () => 30), 4030, { from: 30 });
    t.ok(media(heard).length >= 194, `${name}: ${media(heard).length} of 200`);
    inOrder(t, heard);
    inStep(t, heard, 30, 2);
  }
});

t.test('one stray packet of another stream changes nothing', async (t) => {
  const packets = stream(100);
  const stray = { ...packets[50]!, ssrc: 99, sequence: 3, timestamp: 12 };
  const heard = listen(new JitterBuffer(), [...deliver(packets, () => 30), { at: 1005, packet: stray }].sort((a, b) => a.at - b.at), 2000, { from: 30 });
  t.same(media(heard), count(99));
});

t.test('a delay that grows by 80 ms for good: the listener follows and loses nothing', async (t) => {
  const jitter = new JitterBuffer();
  const heard = listen(jitter, deliver(stream(300), (i) => (i < 100 ? 30 : 110)), 6100, { from: 30 });
  t.same(media(heard), count(300));
  t.ok(heard.filter((frame) => frame.kind === 'conceal' && frame.at < 6000).length <= 5);
});

t.test('a listener that stood still for 700 ms hears what waited, and fills nothing that came', async (t) => {
  const heard = listen(new JitterBuffer(), deliver(stream(200), () => 30), 4000, { from: 30, stall: { from: 1000, to: 1700 } });
  t.same(media(heard), count(199));
  t.ok(heard.filter((frame) => frame.kind === 'conceal').length <= 1);
});

t.test('no packet ever: silence in step with wall time; then a stream starts', async (t) => {
  const heard = listen(new JitterBuffer(), deliver(stream(100, { startAt: 5000 }), () => 3), 7000, { from: 0 });
  t.same(media(heard), count(100));
  inStep(t, heard, 0, 2);
});

t.test('key presses in the stream are no loss and no sound', async (t) => {
  const packets = stream(100).map((packet, i) => (i >= 40 && i < 50 ? { ...packet, sound: false, timestamp: stream(100)[40]!.timestamp, payload: new Uint8Array(4) } : packet));
  const jitter = new JitterBuffer();
  const heard = listen(jitter, deliver(packets, () => 30), 2030, { from: 30 });
  t.same(media(heard), count(100).filter((i) => i < 40 || i >= 50));
  inStep(t, heard, 30, 1.5);
});

t.test('loss, jitter, reordering and duplicates at once', async (t) => {
  for (const seed of [11, 12, 13]) {
    const random = seeded(seed);
    const arrivals = deliver(stream(3000), () => (random() < 0.1 ? undefined : 60 + 30 * (random() + random() - 1)));
    const doubled = [...arrivals, ...arrivals.filter(() => random() < 0.2).map(({ at, packet }) => ({ at: at + 40 * random(), packet }))].sort((a, b) => a.at - b.at);
    const heard = listen(new JitterBuffer(), doubled, 60_000, { from: 95 });
    inOrder(t, heard);
    const arrived = new Set(arrivals.map(({ packet }) => packet.sequence)).size;
    t.ok(media(heard).length >= arrived * 0.98, `${media(heard).length} of ${arrived} that arrived`);
    t.ok(Math.abs(heard.length - (60_000 - 45) / 20) <= 6, `${heard.length} frames`);
  }
});

t.test('payloads of no sense are refused', async (t) => {
  const jitter = new JitterBuffer();
  const [packet] = stream(1);
  const heard = listen(jitter, [{ at: 0, packet: { ...packet!, payload: new Uint8Array(0) } }, { at: 0, packet: { ...packet!, payload: new Uint8Array(1400) } }], 5);
  t.same(heard, []);
  t.equal(jitter.stats.droppedFrames, 2);
});
