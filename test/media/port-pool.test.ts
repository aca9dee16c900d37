import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import t from 'tap';
import { PortPool } from '../../media/rtp/port-pool.ts';

const HOST = '127.0.0.1';

t.test('port pool: even pairs at random, held ports stepped over, all given back', async (t) => {
  const pool = new PortPool({ from: 36_001, to: 36_008, random: () => 0 });
  t.equal(pool.size, 3);
  const blocker = createSocket('udp4');
  blocker.bind(36_003, HOST);
  await once(blocker, 'listening');
  const fixed = new PortPool({ from: 36_002, to: 36_009, random: (() => { let next = 0; return (below: number) => next++ % below; })() });
  const pairs = [await fixed.bind(HOST), await fixed.bind(HOST), await fixed.bind(HOST)];
  t.same(pairs.map(({ port }) => port).sort((a, b) => a - b), [36_004, 36_006, 36_008]);
  t.same(pairs.map(({ rtp, rtcp }) => [rtp.address().port, rtcp.address().port]), pairs.map(({ port }) => [port, port + 1]));
  await t.rejects(fixed.bind(HOST), { message: /No free RTP port pair in 36002-36009/ });
  await Promise.all(pairs.map((pair) => pair.release()));
  await pairs[0]!.release();
  t.equal(fixed.free, 4);
  await t.rejects(fixed.bind('203.0.113.9'), { code: 'EADDRNOTAVAIL' });
  t.equal(fixed.free, 4);
  blocker.close();
  for (const [from, to] of [[5000, 5000], [5001, 5002], [0, 10], [65_000, 70_000], [10, 5]] as const) t.throws(() => new PortPool({ from, to }), RangeError);
});
