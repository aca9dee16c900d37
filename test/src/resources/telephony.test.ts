import t from 'tap';
import { createInboundCall, endCall } from '../../../src/resources/calls/actions.ts';
import { findInboundRoute } from '../../../src/resources/phone-numbers/actions.ts';
import { listAllowedAddresses } from '../../../src/resources/sip-trunks/actions.ts';
import { startApiHarness } from '../../support/api-harness.ts';

t.test('trunks, numbers and who answers', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const { db } = api.context;
  let changes = 0;
  api.context.trunkChanges.onChanged(() => { changes++; });
  const agent = (await api.call('POST', '/v1/agents', { body: { name: 'A', system_prompt: 'P', opening_message: 'O' } })).body;

  const made = await api.call('POST', '/v1/sip-trunks', { body: { name: 'Carrier', allowed_addresses: ['203.0.113.77/24', '198.51.100.9', '2001:db8::1', '::ffff:192.0.2.1'] } });
  t.match(made, { status: 201, body: {
    object: 'sip_trunk', direction: 'inbound', allowed_addresses: ['203.0.113.0/24', '198.51.100.9/32', '2001:db8::1/128', '192.0.2.1/32'],
    codecs: ['PCMU', 'PCMA'], dtmf_mode: 'auto', status: 'ok', max_concurrent_calls: null,
  } });
  const trunk = made.body;
  t.equal(changes, 1);
  for (const wrong of ['203.0.113.0/33', 'example.com', '300.1.1.1', '1', '0x7f.1', '10.0.0.0/']) {
    t.match(await api.call('POST', '/v1/sip-trunks', { body: { name: 'x', allowed_addresses: [wrong] } }), { status: 400, body: { error: { param: 'allowed_addresses[0]' } } }, wrong);
  }
  t.match(await api.call('POST', '/v1/sip-trunks', { body: { name: 'x', allowed_addresses: [] } }), { status: 400 });
  t.match(await api.call('POST', '/v1/sip-trunks', { body: { name: 'x', allowed_addresses: ['10.0.0.1'], codecs: ['G729'] } }), { status: 400, body: { error: { param: 'codecs[0]' } } });
  t.equal(changes, 1, 'a refusal changes nothing');

  const number = await api.call('POST', '/v1/phone-numbers', { body: { phone_number: '+14155550123', label: 'Main', sip_trunk_id: trunk.id } });
  t.match(number, { status: 201, body: { object: 'phone_number', phone_number: '+14155550123', agent_id: null, outbound_enabled: true, status: 'no_agent' } });
  const { id } = number.body;
  t.match(await api.call('POST', '/v1/phone-numbers', { body: { phone_number: '+14155550123' } }), { status: 409, body: { error: { type: 'conflict_error', code: 'phone_number_exists', param: 'phone_number' } } });
  for (const wrong of ['14155550123', '+0155', '+1 415', 'sip:x', '+1234567890123456']) {
    t.match(await api.call('POST', '/v1/phone-numbers', { body: { phone_number: wrong } }), { status: 400, body: { error: { code: 'invalid_phone_number', param: 'phone_number' } } }, wrong);
  }
  t.match(await api.call('PATCH', `/v1/phone-numbers/${id}`, { body: { fallback_number: 'x' } }), { status: 400, body: { error: { code: 'invalid_phone_number' } } });
  t.match(await api.call('PATCH', `/v1/phone-numbers/${id}`, { body: { agent_id: id } }), { status: 404, body: { error: { code: 'agent_not_found', param: 'agent_id' } } });
  const testAgent = (await api.call('POST', '/v1/agents', { key: api.account.test, body: { name: 'A', system_prompt: 'P', opening_message: 'O' } })).body;
  t.match(await api.call('PATCH', `/v1/phone-numbers/${id}`, { body: { agent_id: testAgent.id } }), { status: 403, body: { error: { code: 'key_mode_mismatch', param: 'agent_id' } } });

  const route = (sourceAddress: string, calledUser: string) => findInboundRoute(db, { sourceAddress, calledUser });
  t.match(await route('203.0.113.5', '+14155550123'), { kind: 'no_agent', number: { id } });
  await api.call('PATCH', `/v1/phone-numbers/${id}`, { body: { agent_id: agent.id } });
  for (const [source, user, kind] of [
    ['203.0.113.5', '+14155550123', 'route'], ['203.0.113.5', '14155550123', 'route'], ['::ffff:198.51.100.9', '14155550123', 'route'], ['2001:db8::1', '+14155550123', 'route'],
    ['203.0.114.5', '+14155550123', 'unknown_source'], ['127.0.0.1', '+14155550123', 'unknown_source'], ['nonsense', '1', 'unknown_source'],
    ['203.0.113.5', '+14155550124', 'unknown_number'], ['203.0.113.5', 'alice', 'unknown_number'], ['203.0.113.5', "1'; DROP TABLE call; --", 'unknown_number'], ['203.0.113.5', '', 'unknown_number'],
  ] as const) t.match(await route(source, user), { kind }, `${source} ${user}`);
  t.match(await route('203.0.113.5', '14155550123'), { accountId: api.account.id, livemode: true, trunk: { id: trunk.id }, agent: { id: agent.id, version: 1 } });
  t.same((await listAllowedAddresses(db)).sort(), ['192.0.2.1/32', '198.51.100.9/32', '2001:db8::1/128', '203.0.113.0/24']);

  // A stranger who lets the whole internet in gets calls to his own numbers only.
  const stranger = await api.newAccount();
  await api.call('POST', '/v1/sip-trunks', { key: stranger.live, body: { name: 'All', allowed_addresses: ['0.0.0.0/0'] } });
  t.match(await route('203.0.113.5', '14155550123'), { kind: 'route', accountId: api.account.id });
  t.match(await route('8.8.8.8', '14155550123'), { kind: 'unknown_number' });
  t.match(await api.call('POST', '/v1/phone-numbers', { key: stranger.live, body: { phone_number: '+14155550123' } }), { status: 409 });
  for (const path of [`/v1/phone-numbers/${id}`, `/v1/sip-trunks/${trunk.id}`]) {
    t.equal((await api.call('GET', path, { key: stranger.live })).status, 404);
    t.equal((await api.call('DELETE', path, { key: api.account.test })).status, 403);
  }

  await api.call('PATCH', `/v1/sip-trunks/${trunk.id}`, { body: { enabled: false } });
  t.match(await api.call('GET', `/v1/sip-trunks/${trunk.id}`), { body: { status: 'disabled' } });
  t.match(await route('203.0.113.5', '14155550123'), { kind: 'unknown_number' }, 'only the stranger\'s trunk is left');
  await api.call('PATCH', `/v1/sip-trunks/${trunk.id}`, { body: { enabled: true } });

  // Nothing a live call uses can be deleted.
  const callId = await createInboundCall(api.context, {
    accountId: api.account.id, livemode: true, agent: { id: agent.id, version: 1 }, from: '+15550100009', to: '+14155550123', phoneNumberId: id, sipTrunkId: trunk.id, sipCallId: 'x@y',
  });
  t.match(await api.call('DELETE', `/v1/agents/${agent.id}`), { status: 409, body: { error: { code: 'agent_in_use' } } });
  t.match(await api.call('DELETE', `/v1/phone-numbers/${id}`), { status: 409, body: { error: { code: 'phone_number_in_use' } } });
  t.match(await api.call('DELETE', `/v1/sip-trunks/${trunk.id}`), { status: 409, body: { error: { code: 'sip_trunk_in_use' } } });
  await endCall(api.context, callId, { status: 'completed', endReason: 'caller_hangup', outcome: 'conversation', endedAt: new Date(), summary: { turns: [], interruptions: { byCaller: 0, falseAlarms: 0 } } });

  t.equal((await api.call('DELETE', `/v1/agents/${agent.id}`)).status, 200);
  t.match(await api.call('GET', `/v1/phone-numbers/${id}`), { body: { agent_id: null, status: 'no_agent' } }, 'its number goes on without it');
  t.equal((await api.call('DELETE', `/v1/sip-trunks/${trunk.id}`)).status, 200);
  t.match(await api.call('GET', `/v1/phone-numbers/${id}`), { body: { sip_trunk_id: null, status: 'no_trunk' } });
  t.equal((await api.call('DELETE', `/v1/phone-numbers/${id}`)).status, 200);
  t.equal((await api.call('GET', `/v1/phone-numbers/${id}`)).status, 404);
  t.match(await api.call('POST', '/v1/phone-numbers', { key: stranger.live, body: { phone_number: '+14155550123' } }), { status: 201 }, 'a number that was given up is free');
  t.equal(changes, 5);
});
