import t from 'tap';
import { endOf } from '../../../src/calls/outbound-call.ts';
import { inviteThrough, numberFor } from '../../../src/calls/trunk-invite.ts';
import type { DialTrunk } from '../../../src/resources/calls/live-calls.ts';

const TRUNK: DialTrunk = {
  host: 'sip.example', port: null, transport: 'udp', outboundProxy: null, username: null, password: null, realm: null, fromDomain: null,
  callerIdMode: 'from', numberFormat: 'e164', headers: {}, codecs: ['PCMU'],
};
const call = { from: '+4930123456', to: '+14155550199' };

t.test('numbers as trunks want them', async (t) => {
  for (const [number, national] of [['+14155550199', '4155550199'], ['+4930123456', '30123456'], ['+35312345678', '12345678'], ['+74951234567', '4951234567'], ['+971501234567', '501234567'], ['+6598765432', '98765432']] as const) {
    t.equal(numberFor('national', number), national);
    t.equal(numberFor('strip_plus', number), number.slice(1));
    t.equal(numberFor('e164', number), number);
  }
});

t.test('a trunk\'s settings in the INVITE', async (t) => {
  t.same(inviteThrough(TRUNK, call), { uri: 'sip:+14155550199@sip.example', from: '<sip:+4930123456@sip.example>', transport: 'udp', headers: {} });
  const account = { ...TRUNK, username: 'shop 1', password: 'secret', fromDomain: 'shop.example', headers: { 'X-Account': '7' } };
  t.match(inviteThrough({ ...account, callerIdMode: 'pai', realm: 'pbx' }, call), {
    from: '<sip:shop%201@shop.example>', credentials: { username: 'shop 1', password: 'secret', realm: 'pbx' },
    headers: { 'X-Account': '7', 'P-Asserted-Identity': '<sip:+4930123456@shop.example>' },
  });
  t.match(inviteThrough({ ...account, callerIdMode: 'rpid' }, call), { headers: { 'Remote-Party-ID': '<sip:+4930123456@shop.example>;party=calling;screen=yes;privacy=off' } });
  t.match(inviteThrough(account, call), { from: '<sip:+4930123456@shop.example>' });
  t.match(inviteThrough({ ...TRUNK, host: '2001:db8::1', port: 5070, transport: 'tcp' }, call), { uri: 'sip:+14155550199@[2001:db8::1]:5070;transport=tcp' });
  for (const [given, proxy] of [['edge.example', 'sip:edge.example;lr'], ['edge.example:5080;transport=tcp', 'sip:edge.example:5080;transport=tcp;lr'], ['sip:10.0.0.1;lr', 'sip:10.0.0.1;lr']] as const) {
    t.equal(inviteThrough({ ...TRUNK, outboundProxy: given }, call).proxy, proxy);
  }
});

t.test('how a call that was not answered ends', async (t) => {
  for (const [status, reason] of [
    [486, 'busy'], [600, 'busy'], [408, 'no_answer'], [480, 'no_answer'], [603, 'declined'], [607, 'declined'], [404, 'invalid_destination'], [484, 'invalid_destination'],
    [604, 'invalid_destination'], [500, 'sip_error'], [488, 'sip_error'], [302, 'sip_error'],
  ] as const) t.match(endOf({ kind: 'refused', status, reason: 'Said', challenged: false }), { reason, detail: `The trunk answered ${status} Said.` });
  t.match(endOf({ kind: 'refused', status: 401, reason: 'Unauthorized', challenged: true }), { reason: 'trunk_auth_failed' });
  t.match(endOf({ kind: 'timeout' }), { reason: 'no_answer' });
  t.match(endOf({ kind: 'transport_failed', detail: 'gone' }), { reason: 'trunk_unavailable', detail: 'The trunk could not be reached: gone.' });
  t.match(endOf({ kind: 'canceled' }), { reason: 'api_hangup' });
});
