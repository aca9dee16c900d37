import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, createServer as createTcp, type AddressInfo } from 'node:net';
import t from 'tap';
import { relayUpgrades, type RelayLimits, type RelayTarget, type UpgradeRelay } from '../../../src/calls/upgrade-relay.ts';
import { BrowserServer } from '../../../src/session/browser/browser-server.ts';
import { expectSession, tone } from '../../support/browser-session.ts';
import { RealtimeClient } from '../../support/realtime-client.ts';

const worker = await BrowserServer.listen({ host: '127.0.0.1', port: 0, limits: { resumeWithinMs: 30 } });
const LIMITS: RelayLimits = { relays: 3, connectWithinMs: 500, idleMs: 5000 };

interface Public { http: Server; relay: UpgradeRelay; base: string; asked: string[]; close(): Promise<void> }

async function publicPort(target: RelayTarget | undefined, limits = LIMITS): Promise<Public> {
  const asked: string[] = [];
  const http = createServer((_, response) => response.end('page'));
  const relay = relayUpgrades(http, (sessionId) => {
    asked.push(sessionId);
    return target;
  }, { limits });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const close = async (): Promise<void> => {
    relay.close();
    http.closeAllConnections();
    const closed = once(http, 'close');
    http.close();
    await closed;
  };
  return { http, relay, base: `ws://127.0.0.1:${(http.address() as AddressInfo).port}`, asked, close };
}

const toWorker = { host: '127.0.0.1', port: worker.port };

t.test('a session through the public port, both ways', async (t) => {
  const at = await publicPort(toWorker);
  const session = expectSession(worker, { sessionId: 'ab'.repeat(12) });
  const client = await RealtimeClient.join({ url: `${at.base}/v1/realtime?session=${'ab'.repeat(12)}`, show: { secret: session.secret } });
  t.ok(await client.next('session.ready'));
  t.strictSame(at.asked, ['ab'.repeat(12)]);
  const frame = tone(500, 20);
  client.socket.send(Buffer.from(frame.buffer));
  for (let count = 0; count < 50; count++) session.leg.write(frame);
  client.send({ type: 'ping' });
  await client.next('pong');
  t.strictSame(session.frames[0], frame);
  t.equal(client.audio.length, 50);
  session.leg.hangUp('agent_hangup');
  t.match(await client.next('session.ended'), { end_reason: 'agent_hangup' }, 'the last words arrive');
  t.strictSame(await client.closed, { code: 1000, reason: 'agent_hangup' });
  await at.close();
});

t.test('when one end goes, so does the other', async (t) => {
  const at = await publicPort(toWorker);
  const session = expectSession(worker, { sessionId: 'ac'.repeat(12) });
  const client = await RealtimeClient.join({ url: `${at.base}/v1/realtime?session=${'ac'.repeat(12)}`, show: { secret: session.secret } });
  await client.next('session.ready');
  client.break();
  if (!session.leg.signal.aborted) await once(session.leg.signal, 'abort');
  t.strictSame(session.events, ['joined', 'lost']);

  const other = expectSession(worker, { sessionId: 'ad'.repeat(12) });
  const cut = await RealtimeClient.join({ url: `${at.base}/v1/realtime?session=${'ad'.repeat(12)}`, show: { secret: other.secret } });
  at.relay.close();
  t.equal((await cut.closed).code, 1006);
  if (!other.leg.signal.aborted) await once(other.leg.signal, 'abort');
  await at.close();
});

t.test('refuses what is not to be relayed', async (t) => {
  const nowhere = await publicPort(undefined);
  for (const path of ['/', '/v1/realtime', '/v1/realtime?session=x', `/v1/other?session=${'a'.repeat(24)}`, `/v1/realtime?session=${'a'.repeat(24)}`]) {
    await t.rejects(RealtimeClient.join({ url: nowhere.base + path }), { message: 'HTTP 404' }, path);
  }
  t.strictSame(nowhere.asked, ['a'.repeat(24)], 'only a well-formed id is looked up');
  t.equal(await (await fetch(nowhere.base.replace('ws', 'http'))).text(), 'page', 'other requests are untouched');
  await nowhere.close();
});

t.test('a worker that is gone is a 502', async (t) => {
  const gone = createTcp().listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port } = gone.address() as AddressInfo;
  gone.close();
  const at = await publicPort({ host: '127.0.0.1', port });
  await t.rejects(RealtimeClient.join({ url: `${at.base}/v1/realtime?session=${'a'.repeat(24)}` }), { message: 'HTTP 502' });
  await at.close();
});

t.test('relays are bounded, and a silent pair is cut', async (t) => {
  const silent = createTcp((socket) => socket.on('error', () => undefined).resume()).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const at = await publicPort({ host: '127.0.0.1', port: (silent.address() as AddressInfo).port }, { ...LIMITS, idleMs: 150 });
  const { port } = at.http.address() as AddressInfo;
  const upgrade = `GET /v1/realtime?session=${'a'.repeat(24)} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`;
  const held = Array.from({ length: 3 }, () => connect(port, '127.0.0.1').on('error', () => undefined).resume());
  for (const socket of held) socket.write(upgrade);
  const allHeld = Promise.all(held.map((socket) => once(socket, 'close')));
  await new Promise((resolve) => setTimeout(resolve, 40));
  await t.rejects(RealtimeClient.join({ url: `${at.base}/v1/realtime?session=${'a'.repeat(24)}` }), { message: 'HTTP 503' });
  await allHeld;
  await at.close();
  silent.close();
});

t.test('closing the worker closes all', () => worker.close());
