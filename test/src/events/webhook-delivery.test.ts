import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { AddressGuard } from '../../../src/events/address-guard.ts';
import { EVENT_IDS, type AccountEvent } from '../../../src/events/event.ts';
import { postWebhook } from '../../../src/events/webhook-post.ts';
import { writeConfig } from '../../../src/events/webhook-store.ts';
import { Webhooks } from '../../../src/events/webhooks.ts';
import { startApiHarness, type ApiHarness } from '../../support/api-harness.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';

/** A receiver that hangs costs eight seconds of real time. */
t.setTimeout(60_000);

interface Received { path: string; headers: IncomingHttpHeaders; body: string }
interface Receiver { host: string; received: Received[] }
interface Sender { webhooks: Webhooks; clock: TestClock; records(accountId?: string): Promise<Record<string, unknown>[]> }

/** A receiver on loopback. */
async function receiver(t: { teardown(work: () => unknown): unknown }, answer: RequestListener): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, reply) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => { body += chunk; }).on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body });
      answer(request, reply);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

/** Deliveries over real connections, with retries on a clock that moves when told. */
function sender(api: ApiHarness, hosts: string[]): Sender {
  const { db, keyring, log } = api.context;
  const clock = new TestClock();
  const timers = { now: () => clock.now(), setTimeout: (work: () => void, ms: number) => clock.after(ms, work), clearTimeout: (cancel: never) => (cancel as () => void)() };
  const webhooks = new Webhooks({ db, keyring, log, timers, guard: new AddressGuard({ allowed: hosts }) });
  return { webhooks, clock, records: (accountId = api.account.id) => db.query<Record<string, unknown>>('SELECT * FROM webhook_delivery WHERE account_id = $1 ORDER BY occurred_at, attempt', [accountId]) };
}

const eventOf = (accountId: string, id = 'x'): AccountEvent => ({ event: 'leadCreated', accountId, livemode: true, data: { id, object: 'lead' }, eventKey: `leadCreated:${id}` });
const configure = (api: ApiHarness, url: string, accountId = api.account.id): Promise<void> =>
  writeConfig(api.context.db, api.context.keyring, accountId, { url, enabled: true, events: [...EVENT_IDS], secret: 'whsec_test' });

t.test('what is tried again, and when', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const closed = await receiver(t, () => undefined).then(async ({ host }) => host.replace(/\d+$/, '1'));
  const answering = await receiver(t, (request, reply) => {
    const [, status] = (request.url ?? '').split('/');
    if (status === 'drop') request.socket.destroy();
    else reply.writeHead(Number(status), status?.startsWith('3') ? { location: `http://${answering.host}/200` } : {}).end('canary of the receiver');
  });
  const cases: [path: string, attempts: number, shown: { response_status: number | null; error: string | RegExp | null }][] = [
    ...[408, 429, 500, 502, 503, 504, 599].map((status): [string, number, { response_status: number; error: string }] => [String(status), 3, { response_status: status, error: `HTTP ${status}` }]),
    ...[301, 302, 307, 308, 304, 400, 401, 403, 404, 409, 410, 413, 422, 451].map((status): [string, number, { response_status: number; error: string }] => [String(status), 1, { response_status: status, error: `HTTP ${status}` }]),
    ...[200, 201, 202, 204, 299].map((status): [string, number, { response_status: number; error: null }] => [String(status), 1, { response_status: status, error: null }]),
    ['drop', 3, { response_status: null, error: /./ }],
  ];
  const targets: [name: string, url: string, attempts: number, shown: object][] = [
    ...cases.map(([path, attempts, shown]): [string, string, number, object] => [path, `http://${answering.host}/${path}`, attempts, shown]),
    ['nobody listens', `http://${closed}/`, 3, { response_status: null, error: 'ECONNREFUSED' }], ['no such name', 'http://no-such-host.invalid/', 3, { response_status: null, error: /ENOTFOUND|EAI_AGAIN/ }],
  ];
  // Side by side, each with an account and a clock of its own.
  await Promise.all(targets.map(async ([name, url, attempts, shown]) => {
    const { id: accountId } = await api.newAccount();
    await configure(api, url, accountId);
    const { webhooks, clock, records } = sender(api, [answering.host, closed]);
    const startMs = clock.now();
    webhooks.emit(eventOf(accountId));
    for (let attempt = 1; attempt <= attempts; attempt++) {
      await until(`attempt ${attempt} of ${name}`, 10_000, async () => (await records(accountId)).length === attempt);
      await new Promise((done) => setImmediate(done));
      const waitMs = attempt === 1 ? 5000 : 30_000;
      clock.advance(waitMs - 1);
      t.equal((await records(accountId)).length, attempt, `${name}: not before ${waitMs} ms`);
      clock.advance(1);
    }
    await webhooks.close();
    const rows = await records(accountId);
    t.match(rows, Array.from({ length: attempts }, (_, n) => ({ ...shown, attempt: n + 1, url, event: 'leadCreated', will_retry: n + 1 < attempts, duration_ms: Number })), name);
    t.equal(rows.length, attempts, name);
    t.same(rows.map(({ occurred_at }) => (occurred_at as Date).getTime() - startMs), [0, 5000, 35_000].slice(0, attempts), name);
    t.notMatch(JSON.stringify(rows), 'canary', 'never what the receiver said');
    if (!url.includes(answering.host)) return;
    const received = answering.received.filter(({ path }) => path === `/${name}`);
    t.same(received.map(({ headers }) => headers['x-service-delivery-attempt']), Array.from({ length: attempts }, (_, n) => String(n + 1)), name);
    t.equal(new Set(received.map(({ body }) => body)).size, 1, 'the same bytes each time');
    t.same(received.map(({ headers }) => headers['x-service-delivery-id']), rows.map(({ id }) => id), 'a record for each attempt');
  }));
  t.equal(answering.received.length, cases.reduce((sum, [, attempts]) => sum + attempts, 0), 'no redirect was followed');
});

t.test('headers and payload', async (t) => {
  const { host, received } = await receiver(t, (_request, reply) => reply.writeHead(204).end());
  const api = await startApiHarness({ allowPrivateAddresses: [host] });
  t.teardown(() => api.close());
  const { secret } = (await api.call('PATCH', '/v1/webhook', { body: { url: `http://${host}/hook?x=1` } })).body;
  for (const event of EVENT_IDS) {
    api.context.webhooks.emit({ event, accountId: api.account.id, livemode: event !== 'leadCreated', data: { id: event, name: 'Zoë ✓' }, eventKey: `${event}:1`, ...(event === 'outboundCall' ? { test: true } : {}) });
  }
  await until('ten events', 10_000, () => received.length === 10);
  const { body: { data } } = await until('ten records', 5000, async () => {
    const answer = await api.call('GET', '/v1/webhook/deliveries?limit=100');
    return answer.body.data.length === 10 && answer;
  });
  const pages: { id: string; occurred_at: string }[] = [];
  for (let cursor = ''; ;) {
    const { body: page } = await api.call('GET', `/v1/webhook/deliveries?limit=4${cursor}`);
    pages.push(...page.data);
    if (!page.has_more) break;
    cursor = `&starting_after=${page.next_cursor}`;
  }
  t.same(pages, data, 'paged as every list');
  t.same(pages.toSorted((a, b) => (a.occurred_at + a.id < b.occurred_at + b.id ? 1 : -1)), pages, 'newest first');
  t.same((await api.call('GET', '/v1/webhook/deliveries?status=failed')).body.data, []);
  for (const event of EVENT_IDS) {
    const { headers = {}, body = '', path } = received.find((one) => one.headers['x-service-event'] === event) ?? {};
    t.equal(path, '/hook?x=1');
    t.equal(headers['x-service-signature'], createHmac('sha256', secret).update(Buffer.from(body)).digest('hex'), 'over the raw bytes');
    t.match(headers, { 'content-type': 'application/json', 'x-service-delivery-attempt': '1', 'x-service-timestamp': /^\d{4}-\d\d-\d\dT.*Z$/, 'x-service-delivery-id': /^[0-9a-f]{24}$/ });
    const test = event === 'outboundCall' ? { test: true } : {};
    t.strictSame(JSON.parse(body), { event, timestamp: JSON.parse(body).timestamp, livemode: event !== 'leadCreated', ...test, data: { id: event, name: 'Zoë ✓', ...test, event_key: `${event}:1` } });
    t.match(JSON.parse(body).timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    t.ok(data.some((record: { id: string; event: string }) => record.id === headers['x-service-delivery-id'] && record.event === event), 'the record has the id that was sent');
  }
});

t.test('a receiver that hangs', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const hanging = await receiver(t, () => undefined);
  const dripping = await receiver(t, (_request, reply) => { reply.writeHead(200).write('still'); });
  const quick = await receiver(t, (_request, reply) => reply.writeHead(200).end());
  const other = await api.newAccount();
  await configure(api, `http://${hanging.host}/`);
  await configure(api, `http://${quick.host}/`, other.id);
  const { webhooks } = sender(api, [hanging.host, quick.host]);
  const startedMs = performance.now();
  for (let n = 0; n < 60; n++) webhooks.emit(eventOf(api.account.id, String(n)));
  await until('the slow one is asked', 5000, () => hanging.received.length >= 5);
  for (let n = 0; n < 20; n++) webhooks.emit(eventOf(other.id, String(n)));
  await until('the other has its twenty', 5000, () => quick.received.length === 20);
  const guard = new AddressGuard({ allowed: [hanging.host, dripping.host] });
  const post = { body: '{}', secret: 'x', event: 'leadCreated', attempt: 1, deliveryId: 'd', at: new Date() };
  t.ok(performance.now() - startedMs < 7000, 'none of which waited for the slow one');
  t.equal(hanging.received.length, 5, 'which is asked five times at once and no more');
  for (let n = 0; n < 60; n++) webhooks.forget(String(n));
  const now = (): number => performance.now();
  const [silent, drips] = await Promise.all([postWebhook({ ...post, url: `http://${hanging.host}/` }, guard, now), postWebhook({ ...post, url: `http://${dripping.host}/` }, guard, now)]);
  t.match(silent, { responseStatus: null, error: 'no answer within 8 s', succeeded: false, mayRetry: true });
  t.ok(silent.durationMs >= 7900 && silent.durationMs < 12_000, `${silent.durationMs} ms`);
  t.match(drips, { responseStatus: 200, succeeded: true }, 'what comes after the status is not waited for longer');
  t.ok(drips.durationMs < 12_000, `${drips.durationMs} ms`);
  await webhooks.close();
});

t.test('a restart forgets what was to be tried again, and keeps what was tried', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const failing = await receiver(t, (_request, reply) => reply.writeHead(500).end());
  await configure(api, `http://${failing.host}/`);
  const before = sender(api, [failing.host]);
  before.webhooks.emit(eventOf(api.account.id));
  await until('the first attempt', 5000, async () => (await before.records()).length === 1);
  await before.webhooks.close();
  const after = sender(api, [failing.host]);
  before.clock.advance(60_000);
  after.clock.advance(60_000);
  after.webhooks.emit(eventOf(api.account.id, 'later'));
  await until('an attempt after the restart', 5000, async () => (await after.records()).length === 2);
  t.same(failing.received.map(({ body }) => JSON.parse(body).data.id), ['x', 'later'], 'the old event is not sent again');
  await after.webhooks.close();
});
