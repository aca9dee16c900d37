/** A program steers a live call: has the agent speak, follows it, presses keys, and reads the SIP messages afterwards. */
import t from 'tap';
import { startRunningGateway } from '../../support/running-gateway.ts';
import { Telephone } from '../../support/telephone.ts';
import { until } from '../../support/until.ts';

t.setTimeout(120_000);
const service = await startRunningGateway({ accountConcurrency: 2 });
t.teardown(() => service.stop());
const { api } = service;
const dial = (caller: string, takesKeys: boolean): Promise<Telephone> => Telephone.call({ sipPort: service.sipPort, number: service.number, caller, takesKeys });
const liveCall = async (): Promise<string> => (await api.call(({ status }) => status === 'in_progress')).id;
const tell = (id: string, what: string, body: object) => api.request('POST', `/v1/calls/${id}/${what}`, body);

t.test('a telephone call does what it is told', async (t) => {
  const telephone = await dial('steered', true);
  const id = await liveCall();
  const events = await fetch(`${service.httpUrl}/v1/calls/${id}/events`, { headers: { authorization: `Bearer ${service.liveKey}` } });
  const followed = events.text();

  t.match(await tell(id, 'context', { text: 'The caller is Ada.' }), { status: 200, body: { id, status: 'in_progress' } });
  t.match(await tell(id, 'say', { text: 'Your bicycle is ready.' }), { status: 200 });
  t.match(await tell(id, 'dtmf', { digits: '12w#' }), { status: 200 });
  await until('the keys', 10_000, () => telephone.keys === '12#', () => telephone.keys);
  await until('the agent has said it', 20_000, async () => (await api.transcript(id)).find(({ text, heard_text }) => text === 'Your bicycle is ready.' && heard_text === text), () => api.transcript(id));
  t.match((await api.log(id)).filter(({ source }) => source === 'session'), [{ event: 'context_added', detail: { characters: 18 } }]);

  await telephone.hangUp();
  await api.ended(id);
  const told = await followed;
  t.match(told, /^event: call\ndata: \{"id":"[0-9a-f]{24}".*"status":"in_progress"/);
  t.match(told, /event: transcript\ndata: \{"position":1,.*"text":"Your bicycle is ready\."/);
  t.match(told.trim().split('\n\n').at(-1), /^event: call\ndata: .*"status":"completed"/);
  t.match(await tell(id, 'say', { text: 'Too late.' }), { status: 409, body: { error: { code: 'call_not_in_progress' } } });

  const capture = Buffer.from(await (await fetch(`${service.httpUrl}/v1/calls/${id}/log?format=pcap`, { headers: { authorization: `Bearer ${service.liveKey}` } })).arrayBuffer()).toString('latin1');
  for (const message of ['INVITE sip:', 'SIP/2.0 200 OK', 'ACK sip:', 'BYE sip:']) t.ok(capture.includes(message), message);
  t.same(service.complaints, []);
});

t.test('a telephone that takes no keys is sent none; transfers and dialling are not here yet', async (t) => {
  const telephone = await dial('deaf', false);
  const id = await liveCall();
  t.match(await tell(id, 'dtmf', { digits: '1' }), { status: 409, body: { error: { code: 'dtmf_not_possible' } } });
  t.match(await tell(id, 'transfer', { to: '+14155550100' }), { status: 503, body: { error: { code: 'transfer_unavailable' } } });
  t.match(await api.request('GET', `/v1/calls/${id}`), { body: { status: 'in_progress' } });
  await telephone.hangUp();
  await api.ended(id);
});

t.test('an account at its limit: the next caller hears 503', async (t) => {
  const live = [await dial('one', false), await dial('two', false)];
  await t.rejects(dial('three', false), /got \["SIP\/2.0 100 Trying","SIP\/2.0 503/);
  t.equal(((await api.request('GET', '/v1/calls')).body['data'] as unknown[]).length, 4, 'the refused call is none');
  for (const telephone of live) await telephone.hangUp();
  t.match(service.complaints, [{ rule: 'concurrency_limit', msg: 'inbound call refused with 503' }]);
});
