import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import t from 'tap';
import { AddressGuard, isUnsafeAddress } from '../../../src/events/address-guard.ts';
import { EVENT_IDS, type AccountEvent } from '../../../src/events/event.ts';
import { postWebhook, type PostResult, type WebhookPost } from '../../../src/events/webhook-post.ts';
import { writeConfig } from '../../../src/events/webhook-store.ts';
import { Webhooks } from '../../../src/events/webhooks.ts';
import { startApiHarness, type ApiHarness } from '../../support/api-harness.ts';
import { TestClock } from '../../support/test-clock.ts';

interface Received { headers: IncomingHttpHeaders; body: string; url: string | undefined }

/** A receiver on loopback that answers as told. */
async function receiver(t: { teardown(work: () => unknown): unknown }) {
  const received: Received[] = [];
  const answer = { status: 200, headers: {} as Record<string, string> };
  const server = createServer((request, reply) => {
    let body = '';
    request.on('data', (chunk) => { body += String(chunk); });
    request.on('end', () => {
      received.push({ headers: request.headers, body, url: request.url });
      reply.writeHead(answer.status, answer.headers).end('the receiver\'s secret words');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { received, answer, host: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function signatureOf(secret: string, received: Received | undefined): string {
  return createHmac('sha256', secret).update(received?.body ?? '').digest('hex');
}

function eventOf(api: ApiHarness, more: Partial<AccountEvent> = {}): AccountEvent {
  return { event: 'callCompleted', accountId: api.account.id, livemode: true, data: { id: 'x', object: 'call' }, eventKey: 'callCompleted:x', ...more };
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!await condition()) await new Promise((done) => setTimeout(done, 2));
}

t.test('configuration and delivery', async (t) => {
  const { received, answer, host } = await receiver(t);
  const api = await startApiHarness({ allowPrivateAddresses: [host] });
  t.teardown(() => api.close());
  t.match((await api.call('GET', '/v1/webhook')).body, { object: 'webhook', url: null, enabled: true, events: EVENT_IDS, secret_set: false });
  t.match(await api.call('POST', '/v1/webhook/test', { body: { event: 'inboundCall' } }), { status: 409, body: { error: { code: 'webhook_not_configured' } } });
  for (const url of ['http://127.0.0.1/', 'http://localhost:1/', 'https://169.254.169.254/latest', 'http://[::1]/', 'http://[::ffff:7f00:1]/', 'http://0x7f000001/', 'http://2130706433/', 'http://10.1.2.3/', 'http://user:pass@example.com/', 'http://168.63.129.16/']) {
    t.match(await api.call('PATCH', '/v1/webhook', { body: { url } }), { status: 400, body: { error: { code: 'unsafe_webhook_url', param: 'url' } } }, url);
  }
  for (const url of ['ftp://example.com/', 'nonsense', '']) t.match(await api.call('PATCH', '/v1/webhook', { body: { url } }), { status: 400, body: { error: { param: 'url' } } }, url);
  t.match(await api.call('PATCH', '/v1/webhook', { body: { events: ['callExploded'] } }), { status: 400, body: { error: { code: 'unknown_event' } } });

  const configured = await api.call('PATCH', '/v1/webhook', { body: { url: `http://${host}/hook` } });
  t.match(configured, { status: 200, body: { url: `http://${host}/hook`, secret_set: true, secret: /^whsec_/ } });
  const { secret } = configured.body;
  t.notOk('secret' in (await api.call('GET', '/v1/webhook')).body);
  t.notOk('secret' in (await api.call('PATCH', '/v1/webhook', { body: { enabled: true } })).body, 'shown once');
  t.notMatch(JSON.stringify(await api.context.db.query('SELECT secret::text AS secret FROM webhook')), Buffer.from(secret).toString('hex'), 'sealed at rest');

  const { webhooks } = api.context;
  const recorded = async (): Promise<number> => (await api.call('GET', '/v1/webhook/deliveries')).body.data.length;
  webhooks.emit(eventOf(api));
  await until(async () => await recorded() === 1);
  const [first] = received;
  t.equal(first?.headers['x-service-signature'], signatureOf(secret, first));
  t.match(first, { url: '/hook', headers: { 'x-service-event': 'callCompleted', 'x-service-delivery-attempt': '1', 'content-type': /json/ } });
  t.match(JSON.parse(first?.body ?? ''), { event: 'callCompleted', livemode: true, timestamp: /Z$/, data: { id: 'x', event_key: 'callCompleted:x' } });
  t.match((await api.call('GET', '/v1/webhook/deliveries')).body.data, [{ object: 'webhook_delivery', event: 'callCompleted', attempt: 1, status: 'succeeded', response_status: 200, will_retry: false }]);

  await api.call('PATCH', '/v1/webhook', { body: { enabled: false, events: ['inboundCall'] } });
  webhooks.emit(eventOf(api));
  const tested = await api.call('POST', '/v1/webhook/test', { body: { event: 'leadCreated' } });
  t.match(tested, { status: 200, body: { event: 'leadCreated', status: 'succeeded', will_retry: false } }, 'a test ignores the switch and the subscription');
  t.match(JSON.parse(received[1]?.body ?? ''), { test: true, data: { test: true } });
  await api.call('PATCH', '/v1/webhook', { body: { enabled: true } });
  webhooks.emit(eventOf(api));
  t.match((await api.call('POST', '/v1/webhook/test', { body: { event: 'inboundCall' } })).body.status, 'succeeded');
  t.equal(received.length, 3, 'neither switched off nor unsubscribed events were sent');

  const rotated = await api.call('POST', '/v1/webhook/rotate-secret');
  t.match(rotated, { status: 200, body: { object: 'webhook_secret', secret: /^whsec_/ } });
  answer.status = 302;
  answer.headers = { location: 'http://127.0.0.1:1/' };
  const redirected = await api.call('POST', '/v1/webhook/test', { body: { event: 'inboundCall' } });
  t.match(redirected.body, { status: 'failed', response_status: 302, error: 'HTTP 302' }, 'redirects are failures, not followed');
  t.notMatch(JSON.stringify(redirected.body), 'secret words');
  const last = received.at(-1);
  t.equal(last?.headers['x-service-signature'], signatureOf(rotated.body.secret, last), 'the new secret at once');
  t.same((await api.call('GET', '/v1/webhook/deliveries?status=failed')).body.data.map(({ status }: { status: string }) => status), ['failed']);
  t.equal((await api.call('GET', '/v1/webhook/deliveries', { key: (await api.newAccount()).live })).body.data.length, 0);
  t.match((await api.call('PATCH', '/v1/webhook', { body: { url: null } })).body, { url: null, secret_set: true });
});

t.test('retries', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  await api.context.db.query("INSERT INTO webhook (account_id, url, enabled, events, updated_at) VALUES ($1, 'http://example.com/', true, $2, now())", [api.account.id, EVENT_IDS]);
  const outcomes: [status: number | null, attempts: number][] = [[null, 3], [408, 3], [429, 3], [500, 3], [503, 3], [400, 1], [404, 1], [302, 1], [200, 1]];
  for (const [responseStatus, attempts] of outcomes) {
    const clock = new TestClock();
    const posts: WebhookPost[] = [];
    const startedMs = clock.now();
    const times: number[] = [];
    const post = (sent: WebhookPost): Promise<PostResult> => {
      posts.push(sent);
      times.push(clock.now() - startedMs);
      const mayRetry = responseStatus === null || responseStatus === 408 || responseStatus === 429 || responseStatus >= 500;
      return Promise.resolve({ responseStatus, error: 'failed', durationMs: 1, succeeded: responseStatus === 200, mayRetry });
    };
    const timers = { now: () => clock.now(), setTimeout: (work: () => void, ms: number) => clock.after(ms, work), clearTimeout: (cancel: never) => (cancel as () => void)() };
    const { db, keyring, guard, log } = api.context;
    const webhooks = new Webhooks({ db, keyring, guard, log, timers, post });
    await db.query('DELETE FROM webhook_delivery');
    webhooks.emit(eventOf(api));
    const recorded = async (): Promise<number> => (await db.query('SELECT 1 FROM webhook_delivery')).length;
    for (let attempt = 1; attempt <= attempts; attempt++) {
      await until(async () => await recorded() >= attempt);
      // What follows a recorded attempt happens in the same turn of the loop as its answer.
      await new Promise((done) => setImmediate(done));
      clock.advance(attempt === 1 ? 5000 : 30_000);
    }
    await webhooks.close();
    t.same(times, [0, 5000, 35_000].slice(0, attempts), `status ${responseStatus}`);
    t.equal(new Set(posts.map(({ body }) => body)).size, 1, 'the same bytes each time');
    t.same(posts.map(({ attempt }) => attempt), [1, 2, 3].slice(0, attempts));
  }
});

t.test('between a failure and its retry', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const { db, keyring, guard, log } = api.context;
  await writeConfig(db, keyring, api.account.id, { url: 'http://example.com/', enabled: true, events: [...EVENT_IDS], secret: 'old' });
  const clock = new TestClock();
  const posts: WebhookPost[] = [];
  const post = (sent: WebhookPost): Promise<PostResult> => {
    posts.push(sent);
    return Promise.resolve({ responseStatus: 500, error: 'HTTP 500', durationMs: 1, succeeded: false, mayRetry: true });
  };
  const timers = { now: () => clock.now(), setTimeout: (work: () => void, ms: number) => clock.after(ms, work), clearTimeout: (cancel: never) => (cancel as () => void)() };
  const webhooks = new Webhooks({ db, keyring, guard, log, timers, post });
  const recorded = async (): Promise<number> => (await db.query('SELECT 1 FROM webhook_delivery')).length;
  webhooks.emit(eventOf(api, { data: { id: 'kept' } }));
  webhooks.emit(eventOf(api, { data: { id: 'erased' } }));
  await until(async () => await recorded() === 2);
  await new Promise((done) => setImmediate(done));
  webhooks.forget('erased');
  await writeConfig(db, keyring, api.account.id, { url: 'http://example.com/', enabled: true, events: [...EVENT_IDS], secret: 'new' });
  clock.advance(5000);
  await until(async () => await recorded() === 3);
  await webhooks.close();
  t.match(posts[2], { secret: 'new', attempt: 2, body: /kept/ }, 'a rotated secret signs the retry, and an erased call is not told of');
  t.equal(posts.length, 3);
});

t.test('addresses', async (t) => {
  const bad = [
    '0.0.0.0', '10.0.0.1', '100.64.0.1', '127.0.0.1', '127.255.255.254', '169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.2.1', '192.168.0.1', '198.18.0.1', '198.51.100.1',
    '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '168.63.129.16', '::', '::1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '64:ff9b::7f00:1', 'fc00::1', 'fe80::1', 'ff02::1', '2001:db8::1',
    '2002:7f00:1::', '2001::1', '3fff::1', 'fec0::1', '100::1', 'nonsense',
  ];
  for (const address of bad) t.equal(isUnsafeAddress(address), true, address);
  for (const address of ['8.8.8.8', '1.1.1.1', '93.184.216.34', '2606:4700::1111', '2a00:1450:4001::1', '::ffff:8.8.8.8']) t.equal(isUnsafeAddress(address), false, address);

  // A name that was safe when it was saved, and points inside when it is connected to.
  const { received, host } = await receiver(t);
  const port = host.split(':')[1];
  let asked = 0;
  const rebinding = ((_name: string, _options: object, done: (error: null, addresses: { address: string; family: number }[]) => void) => {
    done(null, [{ address: asked++ === 0 ? '93.184.216.34' : '127.0.0.1', family: 4 }]);
  }) as never;
  const guard = new AddressGuard({ allowed: [], resolve: rebinding });
  const url = `http://rebound.example:${port}/`;
  t.equal(await guard.fault(url), undefined);
  const post = { url, body: '{}', secret: 'x', event: 'inboundCall', attempt: 1, deliveryId: 'd', at: new Date() };
  t.match(await postWebhook(post, guard, () => performance.now()), { responseStatus: null, error: 'unsafe_webhook_url', succeeded: false, mayRetry: false });
  t.match(await postWebhook({ ...post, url: `http://127.0.0.1:${port}/` }, guard, () => performance.now()), { error: 'unsafe_webhook_url' });
  const mixed = new AddressGuard({ allowed: [], resolve: ((_n: string, _o: object, done: (e: null, a: object[]) => void) => done(null, [{ address: '8.8.8.8', family: 4 }, { address: '127.0.0.1', family: 4 }])) as never });
  t.match(await postWebhook(post, mixed, () => performance.now()), { error: 'unsafe_webhook_url' }, 'one bad address of several is enough');
  t.equal(received.length, 0, 'nothing inside was reached');
});
