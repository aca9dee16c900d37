import t from 'tap';
import { Admission } from '../../../src/calls/admission.ts';

t.test('only addresses inside the ranges may speak, IPv4 in IPv6 clothes too', async (t) => {
  const admission = await Admission.start(() => Promise.resolve(['127.0.0.0/8', '203.0.113.7/32', '2001:db8::/32', 'not a range']));
  for (const address of ['127.0.0.1', '127.9.9.9', '203.0.113.7', '2001:db8::1', '::ffff:127.0.0.1']) t.equal(admission.admits(address), true, address);
  for (const address of ['128.0.0.1', '203.0.113.8', '::1', '2001:db9::1', '', 'localhost', '127.0.0.1.5']) t.equal(admission.admits(address), false, address);
});

t.test('a changed trunk counts at once, and a failing read leaves the ranges as they were', async (t) => {
  let ranges: string[] | Error = [];
  const admission = await Admission.start(() => (ranges instanceof Error ? Promise.reject(ranges) : Promise.resolve(ranges)));
  t.equal(admission.admits('127.0.0.1'), false);
  ranges = ['127.0.0.1/32'];
  await admission.refresh();
  t.equal(admission.admits('127.0.0.1'), true);
  ranges = new Error('the database is away');
  await t.rejects(admission.refresh());
  t.equal(admission.admits('127.0.0.1'), true);
});

t.test('verdicts are remembered within bounds', async (t) => {
  const admission = await Admission.start(() => Promise.resolve(['10.0.0.0/8']));
  let admitted = 0;
  for (let index = 0; index < 25_000; index++) if (admission.admits(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`)) admitted++;
  t.equal(admitted, 25_000);
  t.equal(admission.admits('11.0.0.1'), false);
});
