import t from 'tap';
import type { AccountEvent } from '../../../src/events/event.ts';
import { PendingEvents } from '../../../src/events/pending-events.ts';

const event = (accountId: string, id = 'x'): AccountEvent => ({ accountId, livemode: true, event: 'leadCreated', data: { id }, eventKey: id });

t.test('one account\'s events never take the place of another\'s', (t) => {
  const pending = new PendingEvents({ inAll: 5, perAccount: 3 });
  const flood = Array.from({ length: 5 }, () => event('loud'));
  t.strictSame(flood.map((one) => pending.add(one)), [true, true, true, false, false]);
  t.ok(pending.add(event('quiet')));
  t.ok(pending.add(event('another')));
  t.notOk(pending.add(event('late')), 'so many in all');
  t.equal(pending.size, 5);
  pending.delete(flood[0] as AccountEvent);
  pending.delete(flood[0] as AccountEvent);
  pending.delete(flood[4] as AccountEvent);
  t.equal(pending.size, 4, 'each goes once');
  t.notOk(pending.has(flood[0] as AccountEvent));
  t.ok(pending.has(flood[1] as AccountEvent));
  t.ok(pending.add(event('loud')), 'there is room again');
  t.end();
});

t.test('what is about an erased object goes, whoever\'s it is', (t) => {
  const pending = new PendingEvents();
  const [gone, kept] = [event('a', 'call'), event('a', 'other')];
  pending.add(gone);
  pending.add(kept);
  pending.forget('call');
  t.strictSame([pending.has(gone), pending.has(kept), pending.size], [false, true, 1]);
  t.end();
});
