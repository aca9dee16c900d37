import fc from 'fast-check';
import t from 'tap';
import { DEFAULT_BOOKING } from '../../../src/resources/agents/booking.ts';
import type { Booking } from '../../../src/resources/agents/booking-schema.ts';
import { freeSlots, type SlotRequest } from '../../../src/resources/appointments/slots.ts';
import { startApiHarness } from '../../support/api-harness.ts';

const HOUR_MS = 3_600_000;
const every = (ranges: Booking['hours']['monday']): Booking['hours'] => ({ monday: ranges, tuesday: ranges, wednesday: ranges, thursday: ranges, friday: ranges, saturday: ranges, sunday: ranges });
/** One day's slots of an hour, as the clock there shows them. */
const dayOf = (timezone: string, date: string, start: string, end: string, more: Partial<SlotRequest> = {}): string[] => {
  const fromMs = Date.parse(`${date}T00:00:00Z`) - 24 * HOUR_MS;
  const slots = freeSlots({
    booking: { ...DEFAULT_BOOKING, hours: every([{ start, end }]), slot_minutes: 60, max_days_ahead: 365 },
    timezone, fromMs, toMs: fromMs + 72 * HOUR_MS, nowMs: fromMs, durationMs: HOUR_MS, taken: [], ...more,
  });
  return slots.map(({ localTime }) => localTime).filter((time) => time.startsWith(date)).map((time) => time.slice(11));
};

t.test('slots on the days that clocks change', (t) => {
  t.same(dayOf('Europe/Berlin', '2026-03-28', '00:00', '05:00'), ['00:00:00+01:00', '01:00:00+01:00', '02:00:00+01:00', '03:00:00+01:00', '04:00:00+01:00'], 'the day before');
  t.same(dayOf('Europe/Berlin', '2026-03-29', '00:00', '05:00'), ['00:00:00+01:00', '01:00:00+01:00', '03:00:00+02:00', '04:00:00+02:00'], 'an hour less');
  t.same(dayOf('Europe/Berlin', '2026-03-29', '02:30', '05:00'), ['03:00:00+02:00', '04:00:00+02:00'], 'opens at a time that never comes: when the clock jumps over it');
  t.same(dayOf('Europe/Berlin', '2026-03-29', '00:00', '02:30'), ['00:00:00+01:00', '01:00:00+01:00'], 'closes at one');
  t.same(dayOf('Europe/Berlin', '2026-10-25', '00:00', '05:00'), ['00:00:00+02:00', '01:00:00+02:00', '02:00:00+02:00', '02:00:00+01:00', '03:00:00+01:00', '04:00:00+01:00'], 'an hour more');
  t.same(dayOf('Europe/Berlin', '2026-10-25', '01:00', '03:00'), ['01:00:00+02:00', '02:00:00+02:00', '02:00:00+01:00']);
  t.same(dayOf('Europe/Berlin', '2026-10-25', '09:00', '11:00'), ['09:00:00+01:00', '10:00:00+01:00'], 'office hours stay office hours');
  t.same(dayOf('America/New_York', '2026-11-01', '00:00', '24:00').length, 25);
  t.same(dayOf('America/New_York', '2026-03-08', '00:00', '24:00').length, 23);
  t.same(dayOf('Australia/Lord_Howe', '2026-04-05', '00:00', '04:00'), ['00:00:00+11:00', '01:00:00+11:00', '01:30:00+10:30', '02:30:00+10:30'], 'half an hour more');
  t.same(dayOf('Africa/Cairo', '2026-04-24', '00:00', '03:00'), ['01:00:00+03:00', '02:00:00+03:00'], 'a day without a midnight');
  t.same(dayOf('Asia/Kathmandu', '2026-11-23', '09:00', '11:00'), ['09:00:00+05:45', '10:00:00+05:45']);
  t.end();
});

t.test('whatever the calendar holds', (t) => {
  const MINUTE_MS = 60_000;
  const start = Date.parse('2026-03-23T00:00:00Z');
  const appointments = fc.array(fc.record({ gap: fc.integer({ min: 0, max: 900 }), minutes: fc.integer({ min: 5, max: 480 }) }), { maxLength: 30 });
  fc.assert(fc.property(appointments, fc.constantFrom('Europe/Berlin', 'America/St_Johns', 'UTC'), fc.integer({ min: 5, max: 90 }), fc.integer({ min: 0, max: 60 }), fc.integer({ min: 5, max: 120 }), (gaps, timezone, slotMinutes, buffer, minutes) => {
    let at = start;
    const taken = gaps.map((one) => {
      const startMs = at + one.gap * MINUTE_MS;
      at = startMs + one.minutes * MINUTE_MS;
      return { startMs, endMs: at };
    });
    const booking = { ...DEFAULT_BOOKING, slot_minutes: slotMinutes, buffer_minutes: buffer };
    const request = { booking, timezone, fromMs: start, toMs: start + 8 * 24 * HOUR_MS, nowMs: start, durationMs: minutes * MINUTE_MS };
    const all = freeSlots({ ...request, taken: [] });
    const free = new Set(freeSlots({ ...request, taken }).map(({ startMs }) => startMs));
    for (const { startMs, localTime } of all) {
      const clear = taken.every((one) => one.endMs + buffer * MINUTE_MS <= startMs || one.startMs - buffer * MINUTE_MS >= startMs + minutes * MINUTE_MS);
      const [hour = 0, minute = 0] = localTime.slice(11, 16).split(':').map(Number);
      const opened = hour * 60 + minute - 540;
      if (clear !== free.has(startMs) || opened < 0 || opened + minutes > 480 || opened % slotMinutes !== 0) return false;
    }
    return free.size <= all.length;
  }), { numRuns: 40 });
  t.end();
});

t.test('availability', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  // The clock stands at Saturday, 21 November 2026, 12:00 UTC.
  const newAgent = async (booking: object, more: object = {}, key = api.account.live): Promise<string> =>
    (await api.call('POST', '/v1/agents', { key, body: { name: 'A', system_prompt: 'P', opening_message: 'O', booking, ...more } })).body.id;
  const ask = (agent_id: string, query: string) => api.call('GET', `/v1/appointments/availability?agent_id=${agent_id}&${query}`);
  const book = (agent_id: string, date_time: string, duration_minutes = 30) => api.call('POST', '/v1/appointments', { body: { client_name: 'Ada', phone_number: '+14155550123', agent_id, date_time, duration_minutes } });
  const times = async (agent_id: string, query: string): Promise<string[]> => (await ask(agent_id, query)).body.data.map(({ date_time }: { date_time: string }) => date_time.slice(11, 16));
  const MONDAY = 'from=2026-11-23T00:00:00Z&to=2026-11-24T00:00:00Z';
  const short = { hours: { monday: [{ start: '09:00', end: '11:00' }] } };

  t.test('as a list of slots', async (t) => {
    const id = await newAgent({ ...short, timezone: 'Europe/Berlin' });
    t.same((await ask(id, MONDAY)).body, {
      object: 'list', has_more: false, next_cursor: null, previous_cursor: null, agent_id: id, timezone: 'Europe/Berlin',
      data: ['08:00', '08:30', '09:00', '09:30'].map((time, n) => ({ object: 'slot', date_time: `2026-11-23T${time}:00.000Z`, duration_minutes: 30, local_time: `2026-11-23T${['09:00', '09:30', '10:00', '10:30'][n]}:00+01:00` })),
    });
    t.same(await times(id, `${MONDAY}&duration_minutes=60`), ['08:00', '08:30', '09:00'], 'a longer one must end within the hours');
    t.same(await times(id, `${MONDAY}&duration_minutes=121`), []);
    t.same(await times(id, 'from=2026-11-23T08:30:00Z&to=2026-11-23T09:30:00Z'), ['08:30', '09:00'], 'slots that begin from then on and before');
    t.equal((await ask(await newAgent(short, { timezone: 'Asia/Tokyo' }), MONDAY)).body.timezone, 'Asia/Tokyo', 'the agent\'s own timezone when booking names none');
    t.same((await times(await newAgent({}), 'from=2026-11-22T00:00:00Z&to=2026-11-24T00:00:00Z')).length, 16, 'office hours by default, not on Sunday');
  });

  t.test('what is booked is gone, with its buffer; what is canceled comes back', async (t) => {
    const id = await newAgent({ ...short, buffer_minutes: 15 });
    const { body } = await book(id, '2026-11-23T09:50:00Z', 10);
    t.same(await times(id, MONDAY), ['09:00', '10:30'], 'neither 09:30 (until 10:00) nor 10:00 (ten minutes after)');
    await book(id, '2026-11-23T08:00:00Z', 60);
    t.same(await times(id, MONDAY), ['10:30'], 'what lies before the hours needs its buffer too');
    await api.call('PATCH', `/v1/appointments/${body.id}`, { body: { status: 'confirmed' } });
    t.same(await times(id, MONDAY), ['10:30']);
    await api.call('DELETE', `/v1/appointments/${body.id}`);
    t.same(await times(id, MONDAY), ['09:30', '10:00', '10:30']);
    t.same((await times(await newAgent(short), MONDAY)).length, 4, 'another agent\'s calendar is its own');
    const [slot] = (await ask(id, MONDAY)).body.data;
    t.equal((await book(id, slot.date_time, slot.duration_minutes)).status, 201, 'a slot that is offered can be booked');
    t.equal((await book(id, slot.date_time, slot.duration_minutes)).status, 409);
  });

  t.test('not in the past, not too far ahead', async (t) => {
    const id = await newAgent({ hours: { saturday: [{ start: '10:00', end: '14:00' }] }, slot_minutes: 60, max_days_ahead: 7 });
    t.same(await times(id, 'from=2026-11-21T00:00:00Z&to=2026-11-22T00:00:00Z'), ['12:00', '13:00'], 'from now on');
    t.same((await ask(id, 'from=2026-11-22T00:00:00Z&to=2026-12-20T00:00:00Z')).body.data.map(({ date_time }: { date_time: string }) => date_time.slice(0, 10)), Array.from({ length: 4 }, () => '2026-11-28'), 'the seventh day is the last');
    t.same(await times(id, 'from=2020-01-01T00:00:00Z&to=2020-02-01T00:00:00Z'), []);
    t.same(await times(id, 'from=9999-12-01T00:00:00Z&to=9999-12-31T00:00:00Z'), []);
  });

  t.test('what is refused', async (t) => {
    const id = await newAgent(short);
    const refused = async (agent: string, query: string, status: number, code: string, param: string): Promise<void> => {
      t.match(await ask(agent, query), { status, body: { error: { code, param } } }, query);
    };
    await refused(id, 'from=2026-11-23T00:00:00Z', 400, 'missing_parameter', 'to');
    await refused(id, 'from=2026-11-23T00:00:00Z&to=2026-11-23T00:00:00Z', 400, 'invalid_parameter', 'to');
    await refused(id, 'from=2026-11-23T00:00:00Z&to=2027-01-24T00:00:00.001Z', 400, 'invalid_parameter', 'to');
    t.equal((await ask(id, 'from=2026-11-23T00:00:00Z&to=2027-01-24T00:00:00Z')).status, 200, '62 days');
    for (const minutes of [4, 481]) await refused(id, `${MONDAY}&duration_minutes=${minutes}`, 400, 'invalid_parameter', 'duration_minutes');
    await refused('x', MONDAY, 400, 'invalid_id', 'agent_id');
    await refused('f'.repeat(24), MONDAY, 404, 'agent_not_found', 'agent_id');
    await refused(await newAgent(short, {}, (await api.newAccount()).live), MONDAY, 404, 'agent_not_found', 'agent_id');
    await refused(await newAgent(short, {}, api.account.test), MONDAY, 403, 'key_mode_mismatch', 'agent_id');
  });
});
