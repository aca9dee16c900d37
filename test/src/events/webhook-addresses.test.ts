import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { AddressGuard, isUnsafeAddress } from '../../../src/events/address-guard.ts';
import { EVENT_IDS } from '../../../src/events/event.ts';
import { postWebhook } from '../../../src/events/webhook-post.ts';
import { writeConfig } from '../../../src/events/webhook-store.ts';
import { startApiHarness } from '../../support/api-harness.ts';

/** First, last and a middle address of each range that is not the public internet's. */
const BAD = [
  '0.0.0.0', '0.1.2.3', '0.255.255.255', '10.0.0.0', '10.1.2.3', '10.255.255.255', '100.64.0.0', '100.100.100.200', '100.127.255.255', '127.0.0.0', '127.0.0.1', '127.1.1.1', '127.255.255.255',
  '169.254.0.0', '169.254.169.254', '169.254.170.2', '169.254.255.255', '172.16.0.0', '172.20.1.1', '172.31.255.255', '192.0.0.0', '192.0.0.192', '192.0.2.1', '192.88.99.1', '192.168.0.0', '192.168.255.255',
  '198.18.0.0', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', '168.63.129.16',
  '::', '::1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:169.254.169.254', '::ffff:0:127.0.0.1', '::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::1', '100::1', '2001::1', '2001:10::1', '2001:20::1',
  '2001:db8::1', '2002:7f00:1::', '2002:a9fe:a9fe::1', '3fff::1', '5f00::1', 'fc00::1', 'fd00:ec2::254', 'fdff::1', 'fe80::1', 'fe80::1%eth0', 'febf::1', 'fec0::1', 'feff::1', 'ff02::1', 'ff0e::1', '1234::1',
];
const GOOD = ['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.1', '93.184.216.34', '100.63.255.255', '100.128.0.1', '126.255.255.255', '128.0.0.1', '169.253.255.255', '172.15.255.255', '172.32.0.1', '192.167.255.255', '198.17.255.255', '223.255.255.255', '2606:4700::1111', '2a00:1450:4001::1', '::ffff:8.8.8.8'];
const BAD_LITERALS = BAD.filter((address) => !address.includes('%'));
const inUrl = (address: string): string => `http://${address.includes(':') ? `[${address}]` : address}/`;
/** The same places in other clothes. */
const HOSTILE = [
  'http://2130706433/', 'http://0x7f000001/', 'http://0x7f.1/', 'http://0177.0.0.1/', 'http://017700000001/', 'http://127.1/', 'http://127.0.1/', 'http://0/', 'http://127.0.0.1./', 'http://localhost/', 'http://LOCALHOST./',
  'http://①②⑦.⓪.⓪.①/', 'http://127。0。0。1/', 'http://%31%32%37.0.0.1/', 'http://[::ffff:7f00:1]/', 'http://[0:0:0:0:0:0:0:1]/', 'http://[::127.0.0.1]/', 'http://127.0.0.1:80@127.0.0.1/', 'http://example.com@127.0.0.1/', 'http:\\\\127.0.0.1\\', 'http://127.0.0.1#@example.com/',
  'http://127.0.0.1\\@example.com/', '  http://127.0.0.1/', 'http:127.0.0.1', 'https:////127.0.0.1/',
];
const post = { body: '{}', secret: 'x', event: 'inboundCall', attempt: 1, deliveryId: 'd', at: new Date() };
const REFUSED = { responseStatus: null, error: 'unsafe_webhook_url', succeeded: false, mayRetry: false };

/** A resolver that answers a name with the addresses of its turn, the last again and again. */
function resolver(...turns: string[][]): never {
  let asked = 0;
  return ((_name: string, _options: object, done: (error: null, found: { address: string; family: number }[]) => void) => {
    const addresses = turns[Math.min(asked++, turns.length - 1)] ?? [];
    done(null, addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  }) as never;
}

t.test('addresses of the public internet, and all others', (t) => {
  t.ok(BAD.length >= 48);
  for (const address of BAD) t.equal(isUnsafeAddress(address), true, address);
  for (const address of GOOD) t.equal(isUnsafeAddress(address), false, address);
  t.end();
});

t.test('refused when they are saved, by number, in disguise, or by name', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  t.ok(HOSTILE.length >= 14);
  for (const url of [...BAD_LITERALS.map(inUrl), ...HOSTILE]) {
    t.match(await api.call('PATCH', '/v1/webhook', { body: { url } }), { status: 400, body: { error: { type: 'invalid_request_error', param: 'url', code: /^(unsafe_webhook_url|invalid_parameter)$/ } } }, url);
  }
  for (const url of BAD_LITERALS.map(inUrl)) t.equal((await api.call('PATCH', '/v1/webhook', { body: { url } })).body.error.code, 'unsafe_webhook_url', url);
  for (const url of ['ftp://example.com/', 'file:///etc/passwd', 'gopher://example.com/', 'data:text/plain,x', 'javascript:1', 'example.com', 'http://', 'https://exa mple.com/', '']) {
    t.match(await api.call('PATCH', '/v1/webhook', { body: { url } }), { status: 400, body: { error: { code: 'invalid_parameter', param: 'url' } } }, url);
  }
  t.match((await api.call('GET', '/v1/webhook')).body, { url: null, secret_set: false }, 'nothing was saved');
  t.match(await api.call('PATCH', '/v1/webhook', { body: { url: 'https://no-such-host.invalid/hook' } }), { status: 200 }, 'a name that does not resolve now may do so later');
  t.match(await api.call('PATCH', '/v1/webhook', { body: { url: 'http://8.8.8.8/hook' } }), { status: 200 }, 'http is accepted');
});

t.test('refused again when something is sent', async (t) => {
  const server = createServer((_request, reply) => reply.end('inside'));
  let asked = 0;
  server.on('connection', () => { asked++; });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const now = (): number => performance.now();
  const send = (url: string, resolve?: never): ReturnType<typeof postWebhook> => postWebhook({ ...post, url }, new AddressGuard({ allowed: [], ...(resolve ? { resolve } : {}) }), now);

  for (const address of BAD_LITERALS) {
    t.match(await send(`http://${address.includes(':') ? `[${address}]` : address}:${port}/`), REFUSED, address);
    t.match(await send(`http://named.example:${port}/`, resolver([address])), REFUSED, `a name for ${address}`);
    t.match(await send(`http://named.example:${port}/`, resolver(['8.8.8.8', address])), REFUSED, `${address} beside a public one`);
  }
  for (const url of HOSTILE.filter((text) => URL.canParse(text))) {
    const at = new URL(url);
    at.port = String(port);
    // Not every resolver knows a name of this machine that ends with a dot.
    t.match(await send(at.href), at.hostname === 'localhost.' ? { responseStatus: null, succeeded: false } : REFUSED, url);
  }
  for (const last of ['127.0.0.1', '::1', '10.0.0.1', '169.254.169.254']) {
    const guard = new AddressGuard({ allowed: [], resolve: resolver(['93.184.216.34'], [last]) });
    t.equal(await guard.fault(`http://rebound.example:${port}/`), undefined, 'safe when it was saved');
    t.match(await postWebhook({ ...post, url: `http://rebound.example:${port}/` }, guard, now), REFUSED, `then ${last}`);
  }
  t.equal(asked, 0, 'nothing inside was connected to');
});

t.test('what was checked is what is connected to', async (t) => {
  const server = createServer((_request, reply) => reply.writeHead(204).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  let asked = 0;
  const resolve = ((_name: string, _options: object, done: (error: null, found: { address: string; family: number }[]) => void) => {
    asked++;
    done(null, [{ address: '127.0.0.1', family: 4 }]);
  }) as never;
  const guard = new AddressGuard({ allowed: [`inside.example:${port}`], resolve });
  t.match(await postWebhook({ ...post, url: `http://inside.example:${port}/` }, guard, () => performance.now()), { responseStatus: 204, succeeded: true }, 'what the operator lets through');
  t.equal(asked, 1, 'the name is asked for once, and never again after the check');
  t.match(await postWebhook({ ...post, url: `http://inside.example:${port + 1}/` }, guard, () => performance.now()), REFUSED, 'host and port, not the host alone');
});

t.test('an address that became unsafe is recorded and not tried again', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  await writeConfig(api.context.db, api.context.keyring, api.account.id, { url: 'http://127.0.0.1:9/', enabled: true, events: [...EVENT_IDS], secret: 'x' });
  const tested = await api.call('POST', '/v1/webhook/test', { body: { event: 'leadCreated' } });
  t.match(tested, { status: 200, body: { status: 'failed', response_status: null, error: 'unsafe_webhook_url', will_retry: false, attempt: 1 } });
  t.same((await api.call('GET', '/v1/webhook/deliveries')).body.data, [tested.body]);
});
