import { randomBytes } from 'node:crypto';
import t from 'tap';
import { BrowserServer } from '../../../src/session/browser/browser-server.ts';
import { readClientMessage } from '../../../src/session/browser/protocol.ts';
import { expectSession, type ExpectedSession } from '../../support/browser-session.ts';
import { RealtimeClient } from '../../support/realtime-client.ts';

t.test('messages that are understood', (t) => {
  const messages = [
    { type: 'session.start' }, { type: 'session.start', client_secret: 's' }, { type: 'session.start', resume_token: 'r' },
    { type: 'playback.position', item_id: 'i', played_ms: 0 }, { type: 'playback.position', item_id: 'i', played_ms: 1234.5 },
    { type: 'input.text', text: 'hello' }, { type: 'interrupt' }, { type: 'dtmf', digits: '0123456789ABCD*#' },
    { type: 'mute', muted: true }, { type: 'ping' }, { type: 'ping', id: 'x' }, { type: 'session.end' }, { type: 'context' }, { type: 'tool.result' },
  ];
  for (const message of messages) t.strictSame(readClientMessage(JSON.stringify({ ...message, later_field: 1 })), message);
  t.end();
});

const BAD: [code: string, text: string][] = [
  ['invalid_json', ''], ['invalid_json', '{'], ['invalid_json', '\u0000'], ['invalid_json', '['.repeat(60_000)],
  ['invalid_message', 'null'], ['invalid_message', '7'], ['invalid_message', '[]'], ['invalid_message', '{}'], ['invalid_message', '{"type":7}'],
  ['unknown_type', '{"type":"nonsense"}'], ['unknown_type', '{"type":"toString"}'], ['unknown_type', '{"type":"__proto__"}'],
  ['invalid_message', '{"type":"input.text"}'], ['invalid_message', '{"type":"input.text","text":"  "}'],
  ['invalid_message', JSON.stringify({ type: 'input.text', text: 'x'.repeat(4001) })],
  ['invalid_message', '{"type":"dtmf","digits":"1;2"}'], ['invalid_message', `{"type":"dtmf","digits":"${'1'.repeat(33)}"}`],
  ['invalid_message', '{"type":"mute"}'], ['invalid_message', '{"type":"mute","muted":"yes"}'],
  ['invalid_message', '{"type":"playback.position","item_id":"i","played_ms":-1}'], ['invalid_message', '{"type":"playback.position","item_id":"i","played_ms":1e400}'],
  ['invalid_message', '{"type":"playback.position","item_id":"","played_ms":1}'], ['invalid_message', '{"type":"ping","id":{}}'],
  ['invalid_message', JSON.stringify({ type: 'session.start', client_secret: 'x'.repeat(513) })],
];

t.test('messages that are not', (t) => {
  for (const [code, text] of BAD) t.match(readClientMessage(text), { type: 'misunderstood', code, message: /\w/ }, JSON.stringify(text.slice(0, 80)));
  t.end();
});

const server = await BrowserServer.listen({ host: '127.0.0.1', port: 0, limits: { closeWithinMs: 200 } });

async function joined(): Promise<{ session: ExpectedSession; client: RealtimeClient }> {
  const session = expectSession(server);
  const client = await RealtimeClient.join({ url: session.url, show: { secret: session.secret } });
  await client.next('session.ready');
  return { session, client };
}

t.test('over the socket: an error for each, and the session goes on', async (t) => {
  const { session, client } = await joined();
  for (const [code, text] of BAD) {
    client.socket.send(text);
    t.match(await client.next('error'), { code, fatal: false });
  }
  for (const type of ['context', 'tool.result']) {
    client.send({ type });
    t.match(await client.next('warning'), { code: 'not_supported', message: new RegExp(type.replace('.', '\\.')) });
  }
  client.send({ type: 'input.text', text: 'hello' });
  client.send({ type: 'playback.position', item_id: 'item', played_ms: 40 });
  client.send({ type: 'ping' });
  await client.next('pong');
  t.strictSame(session.control, [{ type: 'input.text', text: 'hello' }, { type: 'playback.position', item_id: 'item', played_ms: 40 }]);
  t.strictSame(session.leg.played, { itemId: 'item', playedMs: 40 });
  session.leg.hangUp('agent_hangup');
  await client.closed;
});

const FAULTS: [name: string, code: number, act: (client: RealtimeClient) => void][] = [
  ['a flood of control', 4429, (client) => { for (let count = 0; count < 300; count++) client.send({ type: 'ping' }); }],
  ['a flood of pings', 4429, (client) => { for (let count = 0; count < 300; count++) client.socket.ping(); }],
  ['a flood of sound', 4429, (client) => { for (let count = 0; count < 1000; count++) client.socket.send(Buffer.alloc(640)); }],
  ['a flood of bad sound', 4429, (client) => { for (let count = 0; count < 1000; count++) client.socket.send(Buffer.alloc(3)); }],
  ['an oversize text', 4413, (client) => client.socket.send('x'.repeat(65_537))],
  ['an oversize binary', 4413, (client) => client.socket.send(Buffer.alloc(1_000_000))],
  ['an oversize message in fragments', 4413, (client) => { for (let count = 0; count < 10; count++) client.socket.send(Buffer.alloc(10_000), { fin: false }); }],
  ['text that is not UTF-8', 1007, (client) => client.socket.send(Buffer.from([0xff, 0xfe, 0xfd]), { binary: false })],
];
for (const [name, code, act] of FAULTS) {
  t.test(`${name} closes with ${code} and ends the call`, async (t) => {
    const { session, client } = await joined();
    act(client);
    const closed = await client.closed;
    t.equal(closed.code, code, closed.reason);
    if (code > 4000) t.match(closed.reason, /\w/);
    if (!session.leg.signal.aborted) await new Promise((resolve) => session.leg.signal.addEventListener('abort', resolve));
    t.equal(session.leg.signal.reason, 'caller_hangup');
  });
}

t.test('a burst after a stall of ten seconds is no flood', async (t) => {
  const { session, client } = await joined();
  for (let count = 0; count < 500; count++) client.socket.send(Buffer.alloc(640, 0x30));
  t.match(await client.next('warning'), { code: 'audio_too_fast' });
  client.send({ type: 'ping' });
  await client.next('pong');
  t.equal(session.leg.signal.aborted, false);
  session.leg.hangUp('agent_hangup');
  await client.closed;
});

t.test('garbage bytes on the wire of a joined session end it, and nothing else', async (t) => {
  for (let round = 0; round < 60; round++) {
    const { session, client } = await joined();
    const raw = (client.socket as unknown as { _socket: import('node:net').Socket })._socket;
    raw.write(randomBytes(1 + round * 7));
    raw.end();
    client.socket.terminate();
    session.leg.hangUp('api_hangup');
    await session.leg.close();
  }
  const { session, client } = await joined();
  client.send({ type: 'ping' });
  t.ok(await client.next('pong'));
  session.leg.hangUp('agent_hangup');
  await client.closed;
});

t.test('closing the server closes all', () => server.close());
