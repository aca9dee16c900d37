import t from 'tap';
import { afterAttempt, ATTEMPT_RESULTS, watchFailures, type Retry } from '../../../src/resources/campaigns/attempt.ts';
import { isTimezone } from '../../../src/resources/agents/timezone.ts';
import { mayCall, nextOpening, WEEKDAYS, type CallingHours, type Weekday } from '../../../src/resources/campaigns/calling-hours.ts';
import { CAMPAIGN_MOVES, CAMPAIGN_STATUSES, nextStatus, type CampaignMove, type CampaignStatus } from '../../../src/resources/campaigns/state.ts';

t.test('every status and every move', (t) => {
  const none = undefined;
  // In the order of CAMPAIGN_STATUSES.
  const expected: Record<CampaignMove, (CampaignStatus | undefined)[]> = {
    start: ['running', 'running', none, none, 'running', 'running'],
    pause: ['idle', 'paused', 'paused', 'completed', 'stopped', 'paused'],
    resume: [none, none, none, none, none, 'running'],
    stop: ['stopped', 'stopped', 'stopped', none, 'stopped', 'stopped'],
    schedule: ['scheduled', 'scheduled', none, none, none, none],
    unschedule: ['idle', 'idle', none, none, none, none],
    fall_due: [none, 'running', none, none, none, none],
    halt: [none, 'paused', 'paused', none, none, none],
    finish: [none, none, 'completed', none, none, none],
  };
  t.same(CAMPAIGN_STATUSES, ['idle', 'scheduled', 'running', 'completed', 'stopped', 'paused']);
  for (const move of CAMPAIGN_MOVES) for (const [index, status] of CAMPAIGN_STATUSES.entries()) t.equal(nextStatus(status, move), expected[move][index], `${move} when ${status}`);
  t.end();
});

t.test('calling hours', (t) => {
  const weekdays: Weekday[] = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'];
  const hours = (start: string, end: string, days: readonly Weekday[] = WEEKDAYS, timezone = 'Europe/Berlin'): CallingHours => ({ timezone, days, start, end });
  const may = (calling_hours: CallingHours | null, at: string, lead: string | null = null, agent = 'UTC'): boolean => mayCall({ calling_hours }, { timezone: lead }, { timezone: agent }, Date.parse(at));
  const opens = (calling_hours: CallingHours, zone: string, at: string): string => new Date(nextOpening(calling_hours, zone, Date.parse(at))).toISOString();

  t.equal(may(null, '2026-11-21T03:00:00Z'), true, 'without hours, any time');
  const office = hours('09:00', '17:00', weekdays);
  for (const [at, expected, why] of [
    ['2026-11-20T07:59:59.999Z', false, 'the last millisecond before'], ['2026-11-20T08:00:00Z', true, 'the first minute is in it'],
    ['2026-11-20T15:59:59.999Z', true, 'the last millisecond'], ['2026-11-20T16:00:00Z', false, 'the end is not in it'],
    ['2026-11-21T10:00:00Z', false, 'Saturday'], ['2026-11-23T10:00:00Z', true, 'Monday'],
  ] as const) t.equal(may(office, at), expected, why);

  t.test('past midnight a window is still that of the day it began', (t) => {
    const night = hours('20:00', '02:00', ['friday'], 'UTC');
    for (const [at, expected] of [
      ['2026-11-20T19:59:00Z', false], ['2026-11-20T20:00:00Z', true], ['2026-11-21T01:59:59Z', true], ['2026-11-21T02:00:00Z', false],
      ['2026-11-20T01:00:00Z', false], ['2026-11-21T20:30:00Z', false],
    ] as const) t.equal(may(night, at), expected, at);
    t.equal(may(hours('18:00', '00:00', ['friday'], 'UTC'), '2026-11-20T23:59:59Z'), true, 'until midnight');
    t.equal(may(hours('18:00', '00:00', ['friday'], 'UTC'), '2026-11-21T00:00:00Z'), false);
    t.end();
  });

  t.test('whose clock', (t) => {
    const nine = (timezone: string): CallingHours => hours('09:00', '10:00', WEEKDAYS, timezone);
    t.equal(may(nine('agent'), '2026-11-20T14:30:00Z', 'Asia/Tokyo', 'America/New_York'), true);
    t.equal(may(nine('lead'), '2026-11-20T00:30:00Z', 'Asia/Tokyo', 'America/New_York'), true);
    t.equal(may(nine('lead'), '2026-11-20T14:30:00Z', 'Asia/Tokyo', 'America/New_York'), false);
    t.equal(may(nine('lead'), '2026-11-20T14:30:00Z', null, 'America/New_York'), true, 'the agent\'s, where a lead has none');
    t.equal(may(nine('lead'), '2026-11-20T14:30:00Z', 'Mars/Olympus', 'America/New_York'), true, 'or one that nobody knows');
    t.equal(may(nine('Asia/Kolkata'), '2026-11-20T03:30:00Z', 'Asia/Tokyo', 'America/New_York'), true, 'half an hour off the hour');
    t.end();
  });

  t.test('summer time', (t) => {
    // Berlin: forward on 2026-03-29 at 02:00 (01:00Z), back on 2026-10-25 at 03:00 (01:00Z).
    const morning = hours('09:00', '12:00');
    t.equal(may(morning, '2026-03-28T08:00:00Z'), true);
    t.equal(may(morning, '2026-03-29T07:00:00Z'), true, 'nine is an hour earlier in UTC the day after');
    t.equal(may(morning, '2026-03-29T06:59:59Z'), false);
    t.equal(may(morning, '2026-10-25T07:59:59Z'), false);
    const small = hours('02:15', '02:45');
    t.equal(may(small, '2026-03-29T01:20:00Z'), false, 'an hour that does not exist is never open');
    t.equal(may(small, '2026-10-25T00:20:00Z'), true, 'one that comes twice is open');
    t.equal(may(small, '2026-10-25T01:20:00Z'), true, 'both times');
    t.equal(opens(morning, 'Europe/Berlin', '2026-03-28T20:00:00Z'), '2026-03-29T07:00:00.000Z');
    t.equal(opens(morning, 'Europe/Berlin', '2026-10-24T20:00:00Z'), '2026-10-25T08:00:00.000Z');
    t.end();
  });

  t.test('the next opening', (t) => {
    t.equal(opens(office, 'Europe/Berlin', '2026-11-20T16:00:00Z'), '2026-11-23T08:00:00.000Z', 'over the weekend');
    t.equal(opens(office, 'Europe/Berlin', '2026-11-20T07:00:00Z'), '2026-11-20T08:00:00.000Z', 'today still');
    t.equal(opens(hours('08:00', '09:00', ['friday'], 'UTC'), 'UTC', '2026-11-20T08:00:00Z'), '2026-11-27T08:00:00.000Z', 'a week later');
    t.end();
  });

  t.test('names of zones', (t) => {
    for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Ushuaia']) t.equal(isTimezone(name), true, name);
    for (const name of ['', '+01:00', 'Mars/Olympus', 'agent', 'x'.repeat(60)]) t.equal(isTimezone(name), false, name);
    t.end();
  });
  t.end();
});

t.test('what becomes of a lead after a call', (t) => {
  const retry: Retry = { max_attempts: 3, interval_minutes: 10, on: ['busy', 'no_answer', 'voicemail', 'failed'] };
  const now = Date.parse('2026-11-21T12:00:00Z');
  for (const result of ATTEMPT_RESULTS) {
    const again = (retry.on as readonly string[]).includes(result);
    const last = ['busy', 'no_answer', 'failed'].includes(result) ? 'failed' : 'completed';
    t.same(afterAttempt(result, 1, retry, now), again ? { status: 'pending', nextAttemptAt: new Date('2026-11-21T12:10:00Z') } : { status: last, nextAttemptAt: null }, `${result}, first`);
    t.equal(afterAttempt(result, 2, retry, now).status, again ? 'pending' : last, `${result}, second`);
    t.same(afterAttempt(result, 3, retry, now), { status: last, nextAttemptAt: null }, `${result}, third and last`);
    t.same(afterAttempt(result, 1, { ...retry, on: [] }, now), { status: last, nextAttemptAt: null }, `${result}, not tried again`);
    t.same(afterAttempt(result, 1, { ...retry, max_attempts: 1 }, now), { status: last, nextAttemptAt: null }, `${result}, one attempt`);
  }
  t.end();
});

t.test('the failure breaker', (t) => {
  const breaker = { failure_pct: 50, window_calls: 4 };
  const run = (results: string): boolean[] => {
    let recent = '';
    return [...results].map((letter) => {
      const watched = watchFailures(recent, letter === 'f' ? 'failed' : letter === 'b' ? 'busy' : 'conversation', breaker);
      recent = watched.recent;
      return watched.tripped;
    });
  };
  t.same(run('fff'), [false, false, false], 'not before there are as many calls as the window has');
  t.same(run('ffcc').at(-1), true, 'at the share');
  t.same(run('fccc').at(-1), false, 'below it');
  t.same(run('ffbb').at(-1), true, 'a busy line counts as a call');
  t.same(run('bbbbbb').at(-1), false, 'but is no failure');
  t.same(run('fcccfc').at(-1), false, 'what left the window no longer counts');
  t.same(watchFailures('1111', 'failed', null), { recent: '', tripped: false }, 'none, switched off');
  t.end();
});
