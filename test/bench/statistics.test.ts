import t from 'tap';
import { ArrivalLog } from '../../bench/support/receiver-stats.ts';
import { fitGrid, largest, median, percentile } from '../../bench/support/statistics.ts';

t.test('percentiles are nearest ranks of the sorted values', (t) => {
  const values = Array.from({ length: 200 }, (_, i) => 200 - i);
  t.equal(percentile(values, 50), 100);
  t.equal(percentile(values, 99), 198);
  t.equal(percentile(values, 99.9), 200);
  t.equal(percentile(values, 0), 1);
  t.equal(largest(values), 200);
  t.equal(median([3, 1, 2]), 2);
  t.equal(percentile([7], 99), 7);
  t.ok(Number.isNaN(percentile([], 50)));
  t.throws(() => percentile(values, 101), RangeError);
  t.same(values[0], 200, 'what was given is not sorted in place');
  t.end();
});

t.test('a grid is fitted to the many, and the few late packets show their lateness', (t) => {
  const arrivals = Array.from({ length: 500 }, (_, slot) => ({ at: 1234.5 + slot * 20 + (slot % 10 === 0 ? 7 : 0), slot }));
  const { offsetMs, deviationsMs } = fitGrid(arrivals, 20);
  t.equal(offsetMs, 1234.5);
  t.equal(percentile(deviationsMs, 50), 0);
  t.equal(percentile(deviationsMs, 99), 7);
  t.equal(deviationsMs.filter((deviation) => deviation === 7).length, 50);
  t.end();
});

t.test('a drifting sender has deviations to both sides', (t) => {
  const arrivals = Array.from({ length: 101 }, (_, slot) => ({ at: slot * 20.1, slot }));
  const { deviationsMs } = fitGrid(arrivals, 20);
  t.ok(Math.abs((deviationsMs[0] ?? 0) + 5) < 0.001, 'first is 5 ms early');
  t.ok(Math.abs((deviationsMs[100] ?? 0) - 5) < 0.001, 'last is 5 ms late');
  t.end();
});

function logOf(packets: { at: number; number: number }[], first: { sequence: number; timestamp: number }): ArrivalLog {
  const log = new ArrivalLog(10);
  for (const { at, number } of packets) log.add(at, (first.sequence + number) & 0xffff, (first.timestamp + number * 160) >>> 0);
  return log;
}

t.test('lost, late and duplicated packets are counted across a wrap of both counters', (t) => {
  const packets = Array.from({ length: 100 }, (_, number) => ({ at: number * 20, number }));
  const late = packets.map((packet) => (packet.number === 40 ? { ...packet, at: packet.at + 25 } : packet));
  const seen = late.filter(({ number }) => number !== 10 && number !== 60);
  const summary = logOf([...seen, { at: 2000, number: 50 }], { sequence: 0xffe0, timestamp: 0xffffff00 }).summary();
  t.match(summary, { received: 98, lost: 2, late: 1, duplicated: 1 });
  t.equal(largest(summary.deviationsMs), 25);
  t.equal(median(summary.deviationsMs), 0);
  t.end();
});

t.test('packets out of order are neither lost nor new', (t) => {
  const order = [0, 2, 1, 3, 5, 4];
  const summary = logOf(order.map((number, i) => ({ at: i * 20, number })), { sequence: 5, timestamp: 77 }).summary();
  t.match(summary, { received: 6, lost: 0, duplicated: 0 });
  t.end();
});

t.test('a log without packets is empty, and a full log keeps no more', (t) => {
  t.match(new ArrivalLog(1).summary(), { received: 0, lost: 0, late: 0, duplicated: 0 });
  const log = new ArrivalLog(1);
  for (let number = 0; number < 1000; number++) log.add(number * 20, number, number * 160);
  t.equal(log.size, 110);
  t.end();
});
