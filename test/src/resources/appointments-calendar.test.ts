import t from 'tap';
import { startApiHarness } from '../../support/api-harness.ts';

t.test('calendar feed', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const open = (token: string) => api.call('GET', `/v1/appointments.ics?token=${encodeURIComponent(token)}`, { key: null });
  const make = async (key = api.account.live): Promise<string> => (await api.call('POST', '/v1/appointments/calendar', { key })).body.secret;
  const book = (body: object, key = api.account.live) => api.call('POST', '/v1/appointments', { key, body: { client_name: 'Ada', phone_number: '+14155550123', date_time: '2026-12-01T10:00:00Z', ...body } });
  const refused = { status: 401, body: { error: { type: 'authentication_error', code: 'invalid_calendar_token' } } };

  t.test('made, shown once, rotated, revoked', async (t) => {
    for (const method of ['GET', 'DELETE'] as const) t.match(await api.call(method, '/v1/appointments/calendar'), { status: 404, body: { error: { code: 'calendar_not_found' } } });
    const made = await api.call('POST', '/v1/appointments/calendar');
    t.match(made, { status: 201, body: { object: 'calendar', livemode: true, url: 'http://localhost:8080/v1/appointments.ics', secret: /^wvf_[\w-]{43}$/, created_at: String } });
    const { secret, ...shown } = made.body;
    t.same((await api.call('GET', '/v1/appointments/calendar')).body, shown, 'without the secret afterwards');
    t.equal((await open(secret)).status, 200);
    const second = await make();
    t.not(second, secret);
    t.match(await open(secret), refused, 'the earlier one stops working at once');
    t.equal((await open(second)).status, 200);
    t.match(await api.call('DELETE', '/v1/appointments/calendar'), { status: 200, body: { object: 'calendar', deleted: true } });
    t.match(await open(second), refused, 'a revoked one');
  });

  t.test('a retry shows no secret again', async (t) => {
    const send = () => api.call('POST', '/v1/appointments/calendar', { headers: { 'idempotency-key': 'calendar-1' } });
    const { body: { secret, ...shown } } = await send();
    t.match(await send(), { status: 201, body: { ...shown, secret: null, secret_already_shown: true } });
    t.equal((await open(secret)).status, 200, 'and rotates nothing');
    await api.context.db.query(`UPDATE idempotency SET answer = NULL, status = NULL, lease_until = $1 WHERE key = 'calendar-1'`, [new Date(0)]);
    t.match(await send(), { status: 201, body: { ...shown, secret: null, secret_already_shown: true } });
    const rows = await api.context.db.query<{ text: string }>('SELECT calendar_feed::text AS text FROM calendar_feed UNION ALL SELECT idempotency::text FROM idempotency');
    t.notMatch(JSON.stringify(rows), secret, 'it is stored nowhere in the clear');
  });

  t.test('only its token opens it', async (t) => {
    const secret = await make();
    const tokens = ['', 'x', `${secret}x`, secret.slice(0, -1), secret.replace('wvf_', 'wvs_'), secret.toLowerCase(), api.account.live, `wvf_${'A'.repeat(43)}`, 'x'.repeat(200)];
    for (const token of tokens) t.match(await open(token), refused, token.slice(0, 20));
    t.match(await api.call('GET', '/v1/appointments.ics', { key: null }), refused);
    t.match(await api.call('GET', '/v1/appointments.ics'), refused, 'an API key is not asked for, and does not help');
    t.equal((await api.call('GET', `/v1/appointments.ics?token=${secret}&nonsense=1`, { key: null })).status, 400);
    t.match(await api.call('GET', '/v1/appointments', { key: secret }), { status: 401 }, 'nor is the token an API key');
    t.notMatch(api.logged.join('\n'), secret.slice(4), 'never in the log');
    t.match(api.logged.join('\n'), '"route":"/v1/appointments.ics"', 'which names the route only');
  });

  t.test('what it holds', async (t) => {
    const secret = await make();
    const hostile = 'Eve\r\nATTENDEE:mailto:x@example.com;,\\';
    const { id } = (await book({ client_name: hostile, notes: 'a\nEND:VEVENT\nb', duration_minutes: 45 })).body;
    await api.call('PATCH', `/v1/appointments/${id}`, { body: { date_time: '2026-12-02T10:00:00Z' } });
    const canceled = (await book({})).body.id;
    await api.call('DELETE', `/v1/appointments/${canceled}`);
    for (const [client_name, date_time] of [['Past', '2026-08-01T00:00:00Z'], ['Recent', '2026-09-01T00:00:00Z'], ['Far', '2028-01-01T00:00:00Z']]) await book({ client_name, date_time });
    await book({ client_name: 'Stranger' }, (await api.newAccount()).live);
    await book({ client_name: 'Tester' }, api.account.test);

    const answer = await open(secret);
    t.match(answer, { status: 200, headers: { 'content-type': 'text/calendar; charset=utf-8', 'cache-control': 'no-store' } });
    const unfolded = String(answer.body).replaceAll('\r\n ', '');
    const lines = unfolded.split('\r\n');
    t.equal(lines[0], 'BEGIN:VCALENDAR');
    t.ok(String(answer.body).split('\r\n').every((line) => Buffer.byteLength(line) <= 75), 'lines are folded');
    const events = unfolded.split('BEGIN:VEVENT').slice(1);
    const moved = events.find((event) => event.includes(id)) ?? '';
    for (const line of [`UID:${id}@wirevoice`, 'DTSTART:20261202T100000Z', 'DTEND:20261202T104500Z', 'SEQUENCE:1', 'STATUS:CONFIRMED']) t.ok(moved.includes(`${line}\r\n`), line);
    t.notOk(lines.some((line) => line.startsWith('ATTENDEE')), 'a name cannot add a property');
    t.match(events.find((event) => event.includes(canceled)), 'STATUS:CANCELLED', 'programs take a canceled one out');
    t.same(events.length, 3, 'the moved, the canceled and the recent one');
    t.notMatch(unfolded, /Past|Far|Stranger|Tester/);
    const tests = String((await open(await make(api.account.test))).body);
    t.match(tests, 'SUMMARY:Tester');
    t.notMatch(tests, /Recent/);
    t.equal((await open(secret)).status, 200, 'each mode has its own');
    t.equal((await api.call('HEAD', `/v1/appointments.ics?token=${secret}`, { key: null })).status, 200);
  });
});
