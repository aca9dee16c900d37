import { connect } from 'node:net';
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { BrowserServer } from '../../../src/session/browser/browser-server.ts';
import { expectSession } from '../../support/browser-session.ts';
import { RealtimeClient } from '../../support/realtime-client.ts';

const limits = { startWithinMs: 150, resumeWithinMs: 300, closeWithinMs: 200 };
const server = await BrowserServer.listen({ host: '127.0.0.1', port: 0, limits });

for (const by of ['subprotocol', 'message'] as const) {
  t.test(`joins with the secret in the ${by}`, async (t) => {
    const { leg, secret, url, events } = expectSession(server);
    const client = await RealtimeClient.join({ url, show: { secret }, by });
    const ready = await client.next('session.ready');
    t.equal(client.socket.protocol, 'wirevoice.v1', 'only the protocol is answered, never the secret');
    t.match(ready, { call_id: leg.callId, audio: { input: { encoding: 'pcm16', sample_rate: 16_000 } }, resume_token: /^[\w-]{43}$/, resumed: false });
    t.strictSame(events, ['joined']);
    leg.hangUp('agent_hangup');
    t.match(await client.next('session.ended'), { end_reason: 'agent_hangup' });
    t.strictSame(await client.closed, { code: 1000, reason: 'agent_hangup' });
    t.equal(leg.signal.reason, 'agent_hangup');
    await leg.close();
  });

  t.test(`refuses a wrong secret in the ${by}, and the right one still works`, async (t) => {
    const { leg, secret, url, events } = expectSession(server);
    const stranger = await RealtimeClient.join({ url, show: { secret: 'guessed' }, by });
    t.strictSame(await stranger.closed, { code: 4401, reason: 'wrong client secret' });
    t.strictSame(events, []);
    const client = await RealtimeClient.join({ url, show: { secret }, by });
    await client.next('session.ready');
    leg.hangUp('agent_hangup');
    await client.closed;
  });
}

t.test('a secret opens one session once', async (t) => {
  const { leg, secret, url } = expectSession(server);
  const first = await RealtimeClient.join({ url, show: { secret } });
  await first.next('session.ready');
  const second = await RealtimeClient.join({ url, show: { secret } });
  t.match(await second.closed, { code: 4401, reason: /already used/ });
  first.send({ type: 'ping', id: 'still here' });
  t.strictSame(await first.next('pong'), { type: 'pong', id: 'still here' });
  leg.hangUp('agent_hangup');
  await first.closed;
});

t.test('refuses an upgrade for what it does not expect', async (t) => {
  const base = `ws://127.0.0.1:${server.port}`;
  const unknown = randomBytes(12).toString('hex');
  const { leg, url } = expectSession(server);
  for (const path of [`/v1/realtime?session=${unknown}`, '/v1/realtime', '/v1/realtime?session=../../x', '/', '/v1/realtimes?session=1', '//?session=']) {
    await t.rejects(RealtimeClient.join({ url: base + path }), { message: 'HTTP 404' }, path);
  }
  leg.hangUp('api_hangup');
  await t.rejects(RealtimeClient.join({ url }), { message: 'HTTP 404' }, 'a session that is over');
  const page = await fetch(`http://127.0.0.1:${server.port}/v1/realtime?session=${unknown}`);
  t.equal(page.status, 426);
});

t.test('the origin list keeps other pages out', async (t) => {
  const { leg, secret, url } = expectSession(server, { allowedOrigins: ['https://shop.example'] });
  for (const origin of ['https://evil.example', 'null', 'https://shop.example.evil.example', 'garbage']) {
    await t.rejects(RealtimeClient.join({ url, show: { secret }, origin }), { message: 'HTTP 403' }, origin);
  }
  const client = await RealtimeClient.join({ url, show: { secret }, origin: 'https://shop.example' });
  await client.next('session.ready');
  leg.hangUp('agent_hangup');
  await client.closed;
});

t.test('a page of the same host may always join, whatever its port', async (t) => {
  for (const origin of ['http://127.0.0.1:8080', 'http://localhost:8080', undefined]) {
    const { leg, secret, url } = expectSession(server);
    const client = await RealtimeClient.join({ url, show: { secret }, ...(origin === undefined ? {} : { origin }) });
    await client.next('session.ready');
    leg.hangUp('agent_hangup');
    t.equal((await client.closed).code, 1000);
  }
});

t.test('nobody joins: the leg ends by itself', async (t) => {
  const { leg, url } = expectSession(server, { joinBefore: Date.now() + 60 });
  const idle = await RealtimeClient.join({ url });
  await aborted(leg.signal);
  t.equal(leg.signal.reason, 'session_not_joined');
  t.strictSame(await idle.closed, { code: 4401, reason: 'the session is over' });
  await leg.close();
});

t.test('a client must start soon, and with a start', async (t) => {
  const { leg, url, events } = expectSession(server);
  const silent = await RealtimeClient.join({ url });
  t.match(await silent.closed, { code: 4408 });
  for (const first of ['{"type":"session.start"}', '{"type":"input.text","text":"hello"}', 'not json', '{"type":"session.start","client_secret":7}']) {
    const client = await RealtimeClient.join({ url });
    client.socket.send(first);
    t.match(await client.closed, { code: 4401, reason: /first message/ }, first);
  }
  const audio = await RealtimeClient.join({ url });
  audio.socket.send(Buffer.alloc(640));
  t.match(await audio.closed, { code: 4401 });
  t.strictSame(events, []);
  leg.hangUp('api_hangup');
});

t.test('only so many sockets may wait for their secret', async (t) => {
  const { leg, url } = expectSession(server);
  const waiting = await Promise.all(Array.from({ length: 4 }, () => RealtimeClient.join({ url })));
  await t.rejects(RealtimeClient.join({ url }), { message: 'HTTP 429' });
  leg.hangUp('api_hangup');
  for (const client of waiting) t.equal((await client.closed).code, 4401);
});

t.test('a lost socket comes back and the call goes on', async (t) => {
  const { leg, secret, url, events } = expectSession(server);
  const first = await RealtimeClient.join({ url, show: { secret } });
  const { resume_token: token } = await first.next('session.ready');
  leg.sendControl({ type: 'state', state: 'thinking' });
  await first.next('state');
  first.break();
  await until(() => leg.waiting);
  t.equal(leg.read(), undefined, 'nothing is heard while the agent waits');
  leg.sendControl({ type: 'transcript.final', text: 'said while away' });
  t.match(await (await RealtimeClient.join({ url, show: { resumeToken: 'guessed' } })).closed, { code: 4401 });

  const second = await RealtimeClient.join({ url, show: { resumeToken: token } });
  const ready = await second.next('session.ready');
  t.equal(ready.resumed, true);
  t.not(ready.resume_token, token);
  t.match(await second.next('transcript.final'), { text: 'said while away' });
  t.match(await second.next('state'), { state: 'thinking' });
  t.equal(leg.waiting, false);
  t.strictSame(events, ['joined', 'lost', 'resumed']);
  t.match(await (await RealtimeClient.join({ url, show: { resumeToken: token } })).closed, { code: 4401 }, 'a token works once');

  const third = await RealtimeClient.join({ url, show: { resumeToken: ready.resume_token }, by: 'message' });
  await third.next('session.ready');
  t.equal((await second.closed).code, 4409, 'the socket it replaces is closed');
  t.equal(leg.signal.aborted, false);
  t.equal(leg.figures().resumes, 2);
  third.send({ type: 'session.end' });
  t.match(await third.next('session.ended'), { end_reason: 'caller_hangup' });
  t.equal(leg.signal.reason, 'caller_hangup');
});

t.test('a lost socket that stays away ends the call', async (t) => {
  const { leg, secret, url } = expectSession(server);
  const client = await RealtimeClient.join({ url, show: { secret } });
  const { resume_token: resumeToken } = await client.next('session.ready');
  client.break();
  await aborted(leg.signal);
  t.equal(leg.signal.reason, 'caller_hangup');
  await t.rejects(RealtimeClient.join({ url, show: { resumeToken } }), { message: 'HTTP 404' });
});

t.test('a page that goes away ends the call at once', async (t) => {
  const { leg, secret, url, events } = expectSession(server);
  const client = await RealtimeClient.join({ url, show: { secret } });
  await client.next('session.ready');
  await client.close(1000);
  await aborted(leg.signal);
  t.equal(leg.signal.reason, 'caller_hangup');
  t.strictSame(events, ['joined']);
});

t.test('a client that answers no ping is lost, one that answers stays', async (t) => {
  const quick = await BrowserServer.listen({ host: '127.0.0.1', port: 0, limits: { ...limits, pingEveryMs: 40, resumeWithinMs: 40 } });
  const dead = expectSession(quick);
  const deadClient = await RealtimeClient.join({ url: dead.url, show: { secret: dead.secret } });
  deadClient.socket.pause();
  const alive = expectSession(quick);
  const aliveClient = await RealtimeClient.join({ url: alive.url, show: { secret: alive.secret } });
  await aborted(dead.leg.signal);
  t.strictSame(dead.events, ['joined', 'lost']);
  t.equal(alive.leg.signal.aborted, false);
  await quick.close();
  t.equal(alive.leg.signal.reason, 'service_shutdown');
  t.match(await aliveClient.next('session.ended'), { end_reason: 'service_shutdown' });
  deadClient.socket.terminate();
});

t.test('garbage at the port neither stops it nor stays', async (t) => {
  for (let round = 0; round < 50; round++) {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.end(round % 2 ? randomBytes(200) : `GET /v1/realtime?session=${'a'.repeat(24)} HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`);
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
  }
  const { leg, secret, url } = expectSession(server);
  const client = await RealtimeClient.join({ url, show: { secret } });
  t.ok(await client.next('session.ready'));
  leg.hangUp('agent_hangup');
  await client.closed;
});

t.test('a spec that makes no sense is refused when it is made', (t) => {
  const { leg } = expectSession(server, { sessionId: 'a'.repeat(24) });
  t.throws(() => expectSession(server, { sessionId: 'a'.repeat(24) }), /expected already/);
  t.throws(() => expectSession(server, { sessionId: 'short' }), /24 hex/);
  const bad = { encoding: 'pcmu', sampleRate: 16_000 } as const;
  t.throws(() => expectSession(server, { audio: { input: bad, output: bad } }), /pcmu at 16000 Hz/);
  leg.hangUp('api_hangup');
  t.end();
});

t.test('closing the server closes all', () => server.close());

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2));
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
