/** The gateway calls out through a SIP trunk: a softphone answers, is busy, or is called in vain. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import t from 'tap';
import { answerWithBaresip } from '../../support/baresip.ts';
import { startRunningGateway } from '../../support/running-gateway.ts';
import { levelDb } from '../../support/sound-analysis.ts';
import { until } from '../../support/until.ts';
import { reply } from '../../sip/support/callee.ts';
import { header, udpPeer } from '../../sip/support/sip-peer.ts';

const RATE = 8000;
const TO = '+15550100188';
const FROM = '+15550100177';
const PASSWORD = 'correct horse battery';

t.setTimeout(120_000);
const service = await startRunningGateway();
t.teardown(() => service.stop());
const { api } = service;
const agent = await api.request('POST', '/v1/agents', { name: 'Caller', opening_message: 'Good morning, your bicycle is ready.', system_prompt: 'You call customers.' });
const trunk = (await api.request('POST', '/v1/sip-trunks', { name: 'Out', host: '127.0.0.1', port: 9, username: 'shop', password: PASSWORD })).body['id'] as string;
const number = (await api.request('POST', '/v1/phone-numbers', { phone_number: FROM, sip_trunk_id: trunk })).body['id'];

async function freePort(): Promise<number> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(() => resolve()));
  return port;
}

/** Places a call through the trunk at `port`. */
async function place(port: number, body: object = {}): Promise<string> {
  const changed = await api.request('PATCH', `/v1/sip-trunks/${trunk}`, { port });
  if (changed.status !== 200) throw new Error(JSON.stringify(changed.body));
  const made = await api.request('POST', '/v1/calls', { to: TO, agent_id: agent.body['id'], from_phone_number_id: number, metadata: { order: '7' }, ...body });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return made.body['id'] as string;
}

async function testAgent(key: string): Promise<string> {
  const agents = await fetch(`${service.httpUrl}/v1/agents`, { headers: { authorization: `Bearer ${key}` } });
  const made = (await agents.json()) as { data: { id: string }[] };
  return made.data[0]?.id ?? '';
}

const shown = async (id: string) => (await api.request('GET', `/v1/calls/${id}`)).body;

t.test('a softphone answers: it hears the opening, hangs up, and the call is told of', async (t) => {
  const port = await freePort();
  const softphone = await answerWithBaresip({ user: TO, port, microphone: new Int16Array(6 * RATE), withinMs: 30_000 });
  t.teardown(() => softphone.stop());
  const id = await place(port);
  const { heard } = await softphone.done;
  const call = await api.ended(id);
  t.match(call, { status: 'completed', end_reason: 'caller_hangup', end_detail: null, outcome: 'no_conversation', from: FROM, to: TO, direction: 'outbound', quality: { codec: 'PCMU' }, sip: { call_id: String, response_code: 200, reason: String } });
  t.ok(levelDb(heard, RATE, 0, (heard.length * 1000) / RATE) > -45, 'the opening is in what it heard');
  const items = await api.transcript(id);
  t.match(items, [{ role: 'agent', text: 'Good morning, your bicycle is ready.', heard_text: 'Good morning, your bicycle is ready.' }]);
  await until('callCompleted', 5000, () => service.webhooks.of(id).length === 2, () => service.webhooks.of(id).map(({ event }) => event));
  t.match(service.webhooks.of(id), [
    { event: 'outboundCall', data: { metadata: { order: '7' }, status: 'queued' } },
    { event: 'callCompleted', signed: true, data: { metadata: { order: '7' }, status: 'completed', sip: { response_code: 200 } } },
  ]);
  const spoken = (await api.log(id)).filter(({ source }) => source === 'sip').map(({ event }) => event.split(' ')[0]);
  t.same([...new Set(spoken)].filter((word) => word !== '100' && word !== '180'), ['INVITE', '200', 'ACK', 'BYE']);
});

t.test('the telephone is busy, after it has asked who calls', async (t) => {
  const callee = await udpPeer({ port: service.sipPort });
  t.teardown(() => callee.close());
  const id = await place(callee.port);
  const first = await callee.next('INVITE');
  t.match(first.split('\r\n')[0], `INVITE sip:${TO}@127.0.0.1:${callee.port} SIP/2.0`);
  t.match(header(first, 'From'), new RegExp(`^<sip:\\${FROM}@127\\.0\\.0\\.1>;tag=`));
  callee.send(reply(callee, first, '401 Unauthorized', { headers: ['WWW-Authenticate: Digest realm="pbx", nonce="n1", qop="auth", algorithm=SHA-256'] }));
  const second = await callee.next('INVITE');
  t.match(header(second, 'Authorization'), /^Digest username="shop", realm="pbx"/);
  callee.send(reply(callee, second, '180 Ringing'));
  await until('the ringing', 5000, async () => (await shown(id))['status'] === 'ringing', () => shown(id));
  callee.send(reply(callee, second, '486 Busy Here'));
  await callee.next('ACK');
  const call = await api.ended(id);
  t.match(call, { status: 'busy', end_reason: 'busy', end_detail: 'The trunk answered 486 Busy Here.', outcome: 'not_connected', answered_at: null, duration_ms: 0, sip: { response_code: 486, reason: 'Busy Here' } });
  t.type((await shown(id))['ringing_at'], 'string');
  const log = JSON.stringify(await api.log(id));
  t.match(log, /Authorization: \[redacted\]/);
  for (const secret of [PASSWORD, 'response=']) t.notOk(log.includes(secret) || JSON.stringify(call).includes(secret), 'no secret is written down');
});

t.test('hung up while it rings: CANCEL, canceled', async (t) => {
  const callee = await udpPeer({ port: service.sipPort });
  t.teardown(() => callee.close());
  const id = await place(callee.port);
  const invite = await callee.next('INVITE');
  callee.send(reply(callee, invite, '180 Ringing'));
  await until('the ringing', 5000, async () => (await shown(id))['status'] === 'ringing', () => shown(id));
  t.match((await api.request('POST', `/v1/calls/${id}/hangup`)).body, { status: 'canceled', end_reason: 'api_hangup', outcome: 'not_connected' });
  const cancel = await callee.next('CANCEL');
  t.equal(header(cancel, 'Via'), header(invite, 'Via'));
  callee.send(reply(callee, cancel, '200 OK'));
  callee.send(reply(callee, invite, '487 Request Terminated'));
  await callee.next('ACK');
});

t.test('nobody answers in time: CANCEL, no_answer', async (t) => {
  const callee = await udpPeer({ port: service.sipPort });
  t.teardown(() => callee.close());
  const id = await place(callee.port, { ring_timeout_ms: 5000 });
  const invite = await callee.next('INVITE');
  callee.send(reply(callee, invite, '183 Session Progress'));
  const call = await api.ended(id, 10_000);
  t.match(call, { status: 'no_answer', end_reason: 'no_answer', end_detail: 'Nobody answered within 5000 ms.' });
  callee.send(reply(callee, invite, '487 Request Terminated'));
  await callee.next('CANCEL').catch(() => undefined);
});

t.test('what else a trunk may say', async (t) => {
  const callee = await udpPeer({ port: service.sipPort });
  t.teardown(() => callee.close());
  for (const [said, status, reason] of [
    ['603 Decline', 'failed', 'declined'], ['404 Not Found', 'failed', 'invalid_destination'], ['480 Temporarily Unavailable', 'no_answer', 'no_answer'],
    ['503 Service Unavailable', 'failed', 'sip_error'], ['407 Proxy Authentication Required', 'failed', 'trunk_auth_failed'],
  ] as const) {
    const id = await place(callee.port);
    callee.send(reply(callee, await callee.next('INVITE'), said));
    await callee.next('ACK');
    t.match(await api.ended(id), { status, end_reason: reason, outcome: 'not_connected' }, said);
  }
  await api.request('PATCH', `/v1/sip-trunks/${trunk}`, { host: 'no-such-host.invalid' });
  t.match(await api.ended(await place(callee.port), 20_000), { status: 'failed', end_reason: 'trunk_unavailable' });
  for (const change of [{ transport: 'tls' }, { media_encryption: 'required' }]) {
    await api.request('PATCH', `/v1/sip-trunks/${trunk}`, { host: '127.0.0.1', ...change });
    t.match(await api.request('POST', '/v1/calls', { to: TO, agent_id: agent.body['id'], from_phone_number_id: number }), { status: 409, body: { error: { code: 'no_trunk' } } }, JSON.stringify(change));
    await api.request('PATCH', `/v1/sip-trunks/${trunk}`, { transport: 'udp', media_encryption: 'disabled' });
  }
  const testKey = service.gateway.firstStart.apiKeys?.test ?? '';
  const refused = await fetch(`${service.httpUrl}/v1/calls`, {
    method: 'POST', headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' }, body: JSON.stringify({ to: TO, agent_id: await testAgent(testKey) }),
  });
  t.match([refused.status, await refused.json()], [503, { error: { code: 'dialling_unavailable', message: /test mode/ } }]);
  t.same(service.complaints, []);
});
