/** Whatever strangers and broken peers send: a clear refusal or silence, no crash, no leak, and the live call goes on. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { seeded } from '../../sip/support/random.ts';
import { request, tcpPeer, udpPeer } from '../../sip/support/sip-peer.ts';
import { processSize } from '../../support/process-size.ts';
import { RealtimeClient } from '../../support/realtime-client.ts';
import { startRunningGateway } from '../../support/running-gateway.ts';
import { asteriskPrompt, readSpeechFile, wordErrorRate } from '../../support/speech-fixtures.ts';
import { Telephone } from '../../support/telephone.ts';
import { until } from '../../support/until.ts';

const service = await startRunningGateway();
t.teardown(() => service.stop());
const { api, sipPort, httpUrl } = service;
const random = seeded(4475);
const TORTURE = new URL('../../../node_modules/sip/test/messages/', import.meta.url);
const ROUNDS = 3;
const MAX_HEAP_GROWTH = 4 * 1024 * 1024;

const phone = await Telephone.call({ sipPort, number: service.number, caller: 'stays' });
const { id: callId } = await api.call(({ from }) => from === '+4940987654');
let agentId = '';

const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, () => random(256)));
/** No RTP by its first two bits. */
const noRtp = (length: number): Buffer => {
  const bytes = noise(length);
  if (bytes.length > 0) bytes[0] = random(128);
  return bytes;
};

async function lives(t: Test, after: string): Promise<void> {
  const before = phone.received;
  await until(`RTP of the live call after ${after}`, 5000, () => phone.received >= before + 10);
  t.match((await api.request('GET', `/v1/calls/${callId}`)).body, { status: 'in_progress' }, `the call goes on after ${after}`);
}

let barriers = 0;

/** A SIP exchange that must work: everything sent before it has been read by then. */
async function barrier(): Promise<void> {
  const peer = await udpPeer({ port: sipPort });
  try {
    peer.send(request(peer, 'OPTIONS', { callId: `barrier-${++barriers}`, uri: service.sipUri }));
    await peer.next('SIP/2.0 200');
  } finally {
    await peer.close();
  }
}

/** A message of RFC 4475 that is new to the gateway, answered to where it came from. */
function fresh(message: Buffer, mark: string): Buffer {
  return Buffer.from(message.toString('latin1').replaceAll('branch=z9hG4bK', `rport;branch=z9hG4bK${mark}`), 'latin1');
}

function mutated(message: Buffer): Buffer {
  for (let n = random(6); n >= 0; n--) message[random(message.length)] = random(256);
  return message;
}

/** RFC 4475 and noise, over UDP from several addresses and over TCP. Answers the statuses that came back. */
async function tortureSip(round: number): Promise<number[]> {
  const messages = readdirSync(TORTURE).filter((name) => name.endsWith('.dat')).map((name) => readFileSync(new URL(name, TORTURE)));
  const statuses: number[] = [];
  for (let source = 0; source < 3; source++) {
    const peer = await udpPeer({ port: sipPort }, `127.0.0.${10 + 3 * round + source}`);
    try {
      for (const message of messages.map((one) => fresh(one, `r${round}s${source}`))) peer.send(source === 0 ? message : mutated(message));
      for (let n = 0; n < 100; n++) peer.send(noise(random(1400)));
      await barrier();
      statuses.push(...peer.inbox.map((text) => Number(/^SIP\/2\.0 (\d{3}) /.exec(text)?.[1])));
    } finally {
      await peer.close();
    }
  }
  for (const message of [...messages.slice(0, 12), noise(2000), Buffer.alloc(100_000, 'a'), Buffer.from(`INVITE ${'x'.repeat(70_000)} SIP/2.0\r\n\r\n`)]) {
    const peer = await tcpPeer({ port: sipPort }, '127.0.0.9');
    peer.send(message);
    await barrier();
    await peer.close();
  }
  return statuses;
}

/** Noise and broken packets at the live call's ports, from strangers and from the peer's own socket. */
async function tortureRtp(): Promise<void> {
  const { remotePort } = phone;
  const stranger = createSocket('udp4');
  stranger.bind(0, '127.0.0.1');
  await once(stranger, 'listening');
  const send = (socket: typeof stranger, bytes: Buffer, port: number): Promise<void> => new Promise((resolve) => socket.send(bytes, port, '127.0.0.1', () => resolve()));
  for (let n = 0; n < 400; n++) {
    await send(stranger, noise(random(1400)), remotePort);
    await send(stranger, noise(random(400)), remotePort + 1);
    await send(phone.rtp, noRtp(random(300)), remotePort);
  }
  // RTP by its version: CSRCs, an extension and padding that are not there; and nothing but a header.
  for (const head of [0x8f, 0x90, 0xa0, 0xbf, 0x80]) {
    const broken = Buffer.alloc(12);
    broken[0] = head;
    await send(phone.rtp, broken, remotePort);
  }
  // RTCP: lengths that lie, a goodbye for a source that is not there, a compound that ends early.
  for (const hex of ['80c8ffff', '81cb000112345678', '80c90001', '81c8000600000000', 'bfcaffff00000000', '']) await send(stranger, Buffer.from(hex, 'hex'), remotePort + 1);
  stranger.close();
  await once(stranger, 'close');
}

/** One raw exchange with a TCP port: what came back until the other side closed. */
async function raw(port: number, bytes: Buffer | string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk) => { answer += chunk.toString('latin1'); });
  socket.on('error', () => undefined);
  socket.on('connect', () => socket.end(bytes));
  await once(socket, 'close', { signal: AbortSignal.timeout(10_000) });
  return answer;
}

/** Noise, broken upgrades and sessions that are none, at a worker's port and at the public one. */
async function tortureUpgrades(t: Test): Promise<void> {
  const worker = service.gateway.pool.browserPortOf(callId) ?? 0;
  const upgrade = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${more}\r\n`;
  for (const port of [worker, service.gateway.httpPort]) {
    t.match(await raw(port, noise(3000)), /^HTTP\/1\.1 400 /, 'noise');
    t.match(await raw(port, upgrade('/v1/realtime?session=000000000000000000000000')), /^HTTP\/1\.1 404 /, 'an unknown session');
    t.match(await raw(port, upgrade(`/v1/realtime?session=${'%'.repeat(500)}`)), /^HTTP\/1\.1 404 /, 'no session');
    t.match(await raw(port, upgrade('/v1/realtime', `X-Long: ${'x'.repeat(20_000)}\r\n`)), /^HTTP\/1\.1 431 /, 'a header too long');
  }
}

/** A real session whose client has lost its mind. */
async function tortureSession(t: Test): Promise<void> {
  const join = async (): Promise<{ client: RealtimeClient; id: string }> => {
    const { body } = await api.request('POST', '/v1/realtime/sessions', { agent_id: agentId });
    const secret = (body['client_secret'] as { value: string }).value;
    const client = await RealtimeClient.join({ url: String(body['url']).replace('localhost', '127.0.0.1'), show: { secret } });
    await client.next('session.ready');
    return { client, id: String(body['call_id']) };
  };
  const { client, id } = await join();
  for (const text of ['{', '[]', 'null', '{"type":"no.such"}', `{"type":"dtmf","digits":"${'1'.repeat(200)}"}`, '['.repeat(30_000)]) {
    client.socket.send(text);
    t.match(await client.next('error'), { fatal: false }, `answered: ${text.slice(0, 30)}`);
  }
  client.socket.send(noise(31));
  t.match(await client.next('error'), { fatal: false }, 'half a sample too much');
  client.socket.send(Buffer.alloc(70_000));
  t.match((await client.closed).code, /^(1009|4\d\d\d)$/, 'an oversize message closes the session');
  const stranger = await join();
  stranger.client.socket.terminate();
  for (const call of [id, stranger.id]) await api.request('POST', `/v1/calls/${call}/hangup`);
  await api.ended(id);
  await api.ended(stranger.id);
}

/** HTTP bodies that are wrong in one way each. */
async function tortureHttp(t: Test): Promise<void> {
  const post = async (body: string, headers: Record<string, string> = {}): Promise<[number, string | undefined, string | undefined]> => {
    const answer = await fetch(`${httpUrl}/v1/agents`, { method: 'POST', body, headers: { authorization: `Bearer ${service.liveKey}`, 'content-type': 'application/json', ...headers } });
    const { error } = (await answer.json()) as { error?: { code: string; param?: string } };
    return [answer.status, error?.code, error?.param];
  };
  const agent = (fields: object): string => JSON.stringify({ name: 'a', system_prompt: 'b', opening_message: 'c', ...fields });
  t.same(await post('{"name":'), [400, 'invalid_json', undefined]);
  t.same(await post('{"name":"\u0000"'), [400, 'invalid_json', undefined]);
  t.same(await post('{"__proto__":{"name":"x"}}'), [400, 'invalid_json', undefined]);
  t.same((await post('['.repeat(200_000))).slice(0, 2), [400, 'invalid_json']);
  t.same((await post(`${'{"voice":'.repeat(50_000)}1${'}'.repeat(50_000)}`))[0], 400, 'nested 50 000 deep');
  t.same((await post(agent({ variables: JSON.parse(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`) as object })))[0], 400, 'nested where a string belongs');
  t.same(await post(agent({ name: 'x'.repeat(201) })), [400, 'invalid_parameter', 'name']);
  t.same(await post(agent({ system_prompt: 'x'.repeat(20_001) })), [400, 'invalid_parameter', 'system_prompt']);
  t.same(await post(agent({ nam: 1 })), [400, 'unknown_parameter', 'nam']);
  t.same(await post(`"${'x'.repeat(1_100_000)}"`), [413, 'body_too_large', undefined]);
  t.same(await post('<agent/>', { 'content-type': 'application/xml' }), [415, 'unsupported_media_type', undefined]);
  for (const path of ['/v1/calls/../../etc/passwd', '/v1/calls/%00', '/v1/calls/zz', '/%ff%fe', `/v1/calls/${'a'.repeat(5000)}`]) {
    const { status } = await fetch(`${httpUrl}${path}`, { headers: { authorization: `Bearer ${service.liveKey}` } });
    t.ok(status >= 400 && status < 500, `${path.slice(0, 40)}: ${status}`);
  }
  t.match(await raw(service.gateway.httpPort, `POST /v1/agents HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n`), /^HTTP\/1\.1 400 /);
  t.match(await raw(service.gateway.httpPort, `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(40_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
}

async function round(t: Test, number: number): Promise<void> {
  const statuses = await tortureSip(number);
  t.ok(statuses.length > 20 && statuses.every((status) => status >= 100 && status < 700), `${statuses.length} answers, each with a SIP status`);
  await lives(t, 'RFC 4475 and noise at the SIP ports');
  await tortureRtp();
  await lives(t, 'noise at its RTP and RTCP ports');
  await tortureUpgrades(t);
  await tortureSession(t);
  await lives(t, 'noise at the WebSocket ports');
  await tortureHttp(t);
  await lives(t, 'broken requests');
}

t.test('a live call, and all of it at once around it', async (t) => {
  agentId = String((await api.request('POST', '/v1/agents', { name: 'Silent', opening_message: 'Hi.', system_prompt: 'Nothing.' })).body['id']);
  await t.test('first round', (t) => round(t, 0));
  const before = processSize();
  for (let number = 1; number < ROUNDS; number++) await t.test(`round ${number + 1}`, (t) => round(t, number));
  let after = processSize();
  await until('as few descriptors as before', 10_000, () => {
    after = processSize();
    return after.descriptors <= before.descriptors + 1;
  }, () => [before, after]);
  t.ok(after.heapBytes - before.heapBytes < MAX_HEAP_GROWTH, `heap ${Math.round(before.heapBytes / 1024)} kB, ${ROUNDS - 1} rounds later ${Math.round(after.heapBytes / 1024)} kB`);
});

t.test('the call that lived through it still understands and ends as ever', async (t) => {
  const { path, transcript } = asteriskPrompt('ss-noservice');
  phone.say(readSpeechFile(path, 8000));
  const words = transcript.split(' ').length;
  let heard = '';
  await until('the caller\'s words', 10_000, async () => {
    heard = (await api.transcript(callId)).filter(({ role }) => role === 'caller').map(({ text }) => text).join(' ');
    return heard.split(' ').length >= 0.7 * words;
  }, () => heard);
  t.ok(wordErrorRate([{ reference: transcript, heard }]) <= 0.35, heard);
  await phone.hangUp();
  t.match(await api.ended(callId), { end_reason: 'caller_hangup', quality: { codec: 'PCMU' } });
  t.equal((await fetch(`${httpUrl}/readyz`)).status, 200);
  t.same(service.complaints.filter(({ level }) => level === 'error' || level === 'fatal'), [], 'nothing was logged as a fault of ours');
});
