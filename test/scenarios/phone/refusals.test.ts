/** Calls that must not be answered: each refused with the status that says why, and a stranger with silence. */
import { availableParallelism } from 'node:os';
import t from 'tap';
import { apiClient } from '../../support/api-client.ts';
import { startRunningGateway } from '../../support/running-gateway.ts';
import { answered, bye, hungUp, invite, pause, refused, sipp } from '../../support/sipp.ts';
import { until } from '../../support/until.ts';
import { request, SDP, tcpPeer, udpPeer } from '../../sip/support/sip-peer.ts';

const service = await startRunningGateway({ maxCallsPerCore: 1 });
t.teardown(() => service.stop());
const capacity = availableParallelism();
const testApi = apiClient(service.httpUrl, service.gateway.firstStart.apiKeys?.test ?? '');

const telephone = (caller: string, steps: string[], number = service.number): ReturnType<typeof sipp> => sipp({ port: service.sipPort, number, caller, steps, withinMs: 15_000 });
const calls = async (): Promise<unknown[]> => (await service.api.request('GET', '/v1/calls')).body['data'] as unknown[];

t.test('a number that nobody has: 404', async (t) => {
  const { code, output } = await telephone('a', [invite(), refused(404)], '+15550109999').done;
  t.equal(code, 0, output);
});

t.test('what is no number at all: 404', async (t) => {
  for (const number of ['operator', '%00', '1'.repeat(200), "+1'OR'1'='1"]) {
    const { code, output } = await telephone('a', [invite(), refused(404)], number).done;
    t.equal(code, 0, code === 0 ? number.slice(0, 30) : output);
  }
});

t.test('a number without an agent: 480', async (t) => {
  const [trunk] = (await service.api.request('GET', '/v1/sip-trunks')).body['data'] as { id: string }[];
  const made = await service.api.request('POST', '/v1/phone-numbers', { phone_number: '+15550100088', sip_trunk_id: trunk?.id, agent_id: null });
  t.equal(made.status, 201);
  const { code, output } = await telephone('a', [invite(), refused(480)], '+15550100088').done;
  t.equal(code, 0, output);
});

t.test('no codec in common: 488', async (t) => {
  const { code, output } = await telephone('a', [invite('9 18', 'a=rtpmap:9 G722/8000'), refused(488)]).done;
  t.equal(code, 0, output);
});

t.test('none of the refused is a call', async (t) => {
  t.same(await calls(), []);
  t.same(service.webhooks.deliveries, []);
});

t.test('every place taken: 503 with Retry-After, until one is free', async (t) => {
  const live = Array.from({ length: capacity }, (_, index) => telephone(`takes-${index}`, [invite(), answered(), hungUp()]));
  const held = await Promise.all(live.map((_, index) => service.api.call(({ from, status }) => from === `takes-${index}` && status === 'in_progress')));
  const late = await telephone('is-late', [invite(), refused(503, 'Retry-After: [1-9]')]).done;
  t.equal(late.code, 0, late.output);
  t.equal((await calls()).length, capacity, 'the refused call is none');
  const [first, ...rest] = held;
  await service.api.request('POST', `/v1/calls/${first?.id}/hangup`);
  const next = await telephone('is-next', [invite(), answered(), pause(200), bye()]).done;
  t.equal(next.code, 0, next.output);
  await Promise.all(rest.map(({ id }) => service.api.request('POST', `/v1/calls/${id}/hangup`)));
  for (const { code, output } of await Promise.all(live.map(({ done }) => done))) t.equal(code, 0, output);
});

t.test('an unknown source gets not one byte, over UDP and TCP', async (t) => {
  for (const api of [service.api, testApi]) {
    const [trunk] = (await api.request('GET', '/v1/sip-trunks')).body['data'] as { id: string }[];
    t.equal((await api.request('PATCH', `/v1/sip-trunks/${trunk?.id}`, { allowed_addresses: ['127.0.0.1/32'] })).status, 200);
  }
  const to = { port: service.sipPort };
  const known = await udpPeer(to);
  const stranger = await udpPeer(to, '127.0.0.2');
  t.teardown(() => Promise.all([known.close(), stranger.close()]));
  const uri = service.sipUri;
  await until('the trunk is narrowed in memory', 5000, async () => {
    const probe = await udpPeer(to, '127.0.0.2');
    probe.send(request(probe, 'OPTIONS', { callId: `probe-${probe.port}`, uri }));
    known.send(request(known, 'OPTIONS', { callId: `barrier-${probe.port}`, uri }));
    await known.next('SIP/2.0 200');
    await probe.close();
    return probe.inbox.length === 0;
  });
  stranger.send(request(stranger, 'OPTIONS', { callId: 'stranger-1', uri }));
  stranger.send(request(stranger, 'INVITE', { callId: 'stranger-2', uri, body: SDP }));
  stranger.send(request(stranger, 'REGISTER', { callId: 'stranger-3', uri }));
  stranger.send('SIP/2.0 nonsense\r\n\r\n');
  const connected = await tcpPeer(to, '127.0.0.2');
  connected.send(request(connected, 'INVITE', { callId: 'stranger-4', uri, body: SDP }));
  await connected.closed;
  known.send(request(known, 'OPTIONS', { callId: 'barrier', uri }));
  t.match(await known.next('SIP/2.0 200'), /barrier/);
  t.same(stranger.inbox, []);
  t.same(connected.inbox, []);
  t.equal((await calls()).length, capacity + 1, 'no call came of it');
});
