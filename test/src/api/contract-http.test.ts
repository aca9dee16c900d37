import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import t from 'tap';
import { rateLimits } from '../../../src/api/rate-limit.ts';
import { startApiHarness, type Answer } from '../../support/api-harness.ts';
import { AGENT } from '../../support/examples/agents.ts';
import { until } from '../../support/until.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const REQUEST_ID = /^req_[0-9a-f]{24}$/;

const api = await startApiHarness();
t.teardown(() => api.close());
await api.app.listen({ port: 0, host: '127.0.0.1' });
const { port } = api.app.server.address() as AddressInfo;
const AUTHORIZED = `Host: localhost\r\nAuthorization: Bearer ${api.account.live}\r\n`;

interface Peer { socket: Socket; text: () => string; isClosed: () => boolean; head(): Promise<string> }

/** Bytes on a real connection, and what comes back. */
async function send(bytes: string): Promise<Peer> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let closed = false;
  socket.setEncoding('utf8').on('data', (chunk: string) => { text += chunk; }).on('error', () => undefined).on('close', () => { closed = true; });
  await once(socket, 'connect');
  socket.write(bytes);
  return { socket, text: () => text, isClosed: () => closed, head: () => until('an answer', 10_000, () => text.includes('\r\n\r\n') && text.split('\r\n\r\n', 1)[0]) };
}

/** Writes chunks of 64 KiB as fast as they are taken, at most `most` bytes; answers how many were. */
async function pour(socket: Socket, most: number): Promise<number> {
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(64 * KIB, 0x20), Buffer.from('\r\n')]);
  let sent = 0;
  while (sent < most && !socket.destroyed) {
    sent += 64 * KIB;
    if (!socket.write(chunk)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined);
  }
  return sent;
}

t.test('every answer names its request, its version and its bucket', async (t) => {
  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> => api.call('POST', '/v1/agents', { body, headers });
  const raw = (text: string, type: string): Promise<Answer> => api.call('POST', '/v1/agents', { raw: text, headers: { 'content-type': type } });
  const answers: [status: number, policy: string, answer: Promise<Answer>][] = [
    [200, 'read', api.call('GET', '/v1/agents')], [200, 'read', api.call('HEAD', '/v1/agents')], [201, 'write', post(AGENT)],
    [400, 'write', post({})], [400, 'write', raw('{', 'application/json')], [400, 'read', api.call('GET', '/v1/agents?limit=0')],
    [401, 'unauthenticated', api.call('GET', '/v1/agents', { key: null })], [401, 'unauthenticated', api.call('GET', '/v1/agents', { key: 'wrong' })],
    [403, 'read', api.call('GET', '/v1/agents', { key: await api.newKey(api.account, ['leads:read']) })], [404, 'read', api.call('GET', `/v1/agents/${'f'.repeat(24)}`)],
    [404, 'public', api.call('GET', '/v1/nothing')], [405, 'public', api.call('PUT', '/v1/agents')], [409, 'write', api.call('POST', '/v1/webhook/test', { body: { event: 'leadCreated' } })],
    [413, 'write', raw('x'.repeat(MIB + 1), 'application/json')], [415, 'write', raw('<a/>', 'text/xml')], [200, 'public', api.call('GET', '/openapi.json', { key: null })],
  ];
  for (const [status, policy, answering] of answers) {
    const { status: answered, headers } = await answering;
    t.equal(answered, status);
    t.match(headers, { 'request-id': REQUEST_ID, 'service-version': '2026-09-01', 'x-content-type-options': 'nosniff' }, `${status} ${policy}`);
    t.match(headers['ratelimit-policy'], new RegExp(`^"${policy}";q=\\d+;w=\\d+$`), `${status}`);
    t.match(headers['ratelimit'], new RegExp(`^"${policy}";r=\\d+;t=\\d+$`), `${status}`);
  }
  const malformed = await api.call('GET', '/v1/agents/%zz');
  t.match(malformed, { status: 400, headers: { 'request-id': REQUEST_ID, 'service-version': '2026-09-01' } });
  t.equal(malformed.body.error.request_id, malformed.headers['request-id']);
});

t.test('what is no HTTP request is answered with the error body too', async (t) => {
  for (const [bytes, status, code] of [
    ['NONSENSE\r\n\r\n', 400, 'invalid_parameter'], [`GET /v1/agents HTTP/1.1\r\n${AUTHORIZED}X-Long: ${'x'.repeat(17 * KIB)}\r\n\r\n`, 431, 'headers_too_large'],
    [`POST /v1/agents HTTP/1.1\r\n${AUTHORIZED}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n`, 400, 'invalid_parameter'],
  ] as const) {
    const peer = await send(bytes);
    const head = await peer.head();
    t.match(head, new RegExp(`^HTTP/1.1 ${status} `));
    t.match(head, /\r\nService-Version: 2026-09-01\r\n/i);
    await until('the connection is closed', 5000, peer.isClosed);
    const { error } = JSON.parse(peer.text().slice(head.length));
    t.match(error, { type: 'invalid_request_error', code, message: /\w/, doc_url: /#/, request_id: REQUEST_ID });
    t.match(head, `Request-Id: ${error.request_id}`);
  }
});

t.test('a body without a length is cut off at its limit', async (t) => {
  for (const [path, limit] of [['/v1/agents', MIB], ['/v1/campaigns', 4 * MIB], ['/v1/leads/bulk', 10 * MIB]] as const) {
    const peer = await send(`POST ${path} HTTP/1.1\r\n${AUTHORIZED}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const sent = await pour(peer.socket, 100 * MIB);
    t.ok(sent > limit && sent < limit + 30 * MIB, `${path}: the connection was closed after ${(sent / MIB).toFixed(1)} MiB`);
    await until('it is closed', 5000, peer.isClosed);
    if (peer.text() !== '') t.match(peer.text(), /^HTTP\/1.1 413 .*"code":"body_too_large"/s);
  }
  t.match(await api.call('GET', '/v1/agents'), { status: 200 }, 'others are served as ever');
});

t.test('a length beyond the limit is refused before a byte of the body', async (t) => {
  const peer = await send(`POST /v1/agents HTTP/1.1\r\n${AUTHORIZED}Content-Type: application/json\r\nContent-Length: ${MIB + 1}\r\n\r\n`);
  t.match(await peer.head(), /^HTTP\/1.1 413 /);
  peer.socket.destroy();
});

t.test('whoever is refused does not go on sending for ever', { timeout: 30_000 }, async (t) => {
  const peer = await send('POST /v1/voices HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n');
  t.match(await peer.head(), /^HTTP\/1.1 401 /, 'refused while it still sends');
  const drip = setInterval(() => peer.socket.write('1\r\nx\r\n'), 200);
  t.teardown(() => clearInterval(drip));
  await until('the connection is cut', 20_000, peer.isClosed);
});

t.test('the published rates, and twice as many at once', (t) => {
  const { read, write, call } = rateLimits();
  t.same([read, write, call], [{ perSecond: 100, burst: 200 }, { perSecond: 25, burst: 50 }, { perSecond: 5, burst: 10 }]);
  t.same(rateLimits({ call: 1 }).call, { perSecond: 1, burst: 2 }, 'configurable');
  t.end();
});
