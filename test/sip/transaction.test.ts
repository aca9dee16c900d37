import t from 'tap';
import { parseMessage } from '../../sip/message/parse.ts';
import type { SipMessage } from '../../sip/message/message.ts';
import { InviteServerTransaction } from '../../sip/transaction/ist.ts';
import { TransactionLayer, type TransactionUser } from '../../sip/transaction/layer.ts';
import { NonInviteClientTransaction, type RequestOutcome } from '../../sip/transaction/nict.ts';
import { NonInviteServerTransaction } from '../../sip/transaction/nist.ts';
import type { ServerTransaction } from '../../sip/transaction/server-transaction.ts';
import type { Outgoing } from '../../sip/transaction/wire.ts';
import { FinalAnswer } from '../../sip/dialog/final-answer.ts';
import { FakeClock } from './support/fake-clock.ts';
import { request, type Peer } from './support/sip-peer.ts';

function setup(reliable: boolean) {
  const clock = new FakeClock();
  const began = clock.now();
  const sent: [number, string][] = [];
  const wire = { reliable, send: (message: Outgoing) => void sent.push([clock.now() - began, message.summary]) };
  return { clock, wire, sent, message: (summary: string): Outgoing => ({ bytes: Buffer.alloc(0), callId: 'x', summary }) };
}

t.test('INVITE server: G doubles to T2, H ends it (UDP)', async (t) => {
  const { clock, wire, sent, message } = setup(false);
  let ended = 0;
  const transaction = new InviteServerTransaction(wire, clock, () => ended++);
  transaction.respond(100, message('100'));
  transaction.retransmission();
  transaction.respond(486, message('486'));
  clock.advance(40_000);
  t.same(sent.map(([at]) => at), [0, 0, 0, 500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500]);
  t.equal(transaction.state, 'terminated');
  t.equal(ended, 1);
  t.equal(clock.pending, 0);
});

t.test('INVITE server: ACK stops G, I absorbs, and the INVITE again is answered before it', async (t) => {
  const { clock, wire, sent, message } = setup(false);
  const transaction = new InviteServerTransaction(wire, clock, () => undefined);
  transaction.respond(486, message('486'));
  transaction.retransmission();
  t.equal(sent.length, 2);
  t.equal(transaction.ack(), 'absorbed');
  t.equal(transaction.state, 'confirmed');
  transaction.retransmission();
  clock.advance(4999);
  t.equal(sent.length, 2);
  t.equal(transaction.state, 'confirmed');
  clock.advance(1);
  t.equal(transaction.state, 'terminated');
});

t.test('INVITE server: no G over TCP, and ACK ends it at once', async (t) => {
  const { clock, wire, sent, message } = setup(true);
  const transaction = new InviteServerTransaction(wire, clock, () => undefined);
  transaction.respond(486, message('486'));
  clock.advance(10_000);
  t.equal(sent.length, 1);
  transaction.ack();
  t.equal(transaction.state, 'terminated');
});

t.test('INVITE server: accepted (RFC 6026) absorbs the INVITE, passes 2xx and ACK until L', async (t) => {
  const { clock, wire, sent, message } = setup(false);
  const transaction = new InviteServerTransaction(wire, clock, () => undefined);
  transaction.respond(200, message('200'));
  transaction.retransmission();
  transaction.respond(200, message('200'));
  transaction.respond(486, message('486'));
  t.same(sent.map(([, summary]) => summary), ['200', '200']);
  t.equal(transaction.ack(), 'dialog');
  clock.advance(31_999);
  t.equal(transaction.state, 'accepted');
  clock.advance(1);
  t.equal(transaction.state, 'terminated');
});

t.test('non-INVITE server: absorbs, replays, J', async (t) => {
  const { clock, wire, sent, message } = setup(false);
  const transaction = new NonInviteServerTransaction(wire, clock, () => undefined);
  transaction.retransmission();
  t.equal(sent.length, 0);
  transaction.respond(200, message('200'));
  transaction.respond(500, message('500'));
  transaction.retransmission();
  t.same(sent.map(([, summary]) => summary), ['200', '200']);
  clock.advance(31_999);
  t.equal(transaction.state, 'completed');
  clock.advance(1);
  t.equal(transaction.state, 'terminated');
  const tcp = setup(true);
  const quick = new NonInviteServerTransaction(tcp.wire, tcp.clock, () => undefined);
  quick.respond(200, message('200'));
  tcp.clock.advance(0);
  t.equal(quick.state, 'terminated', 'J is 0 over TCP');
});

t.test('non-INVITE client: E doubles to T2, F is 64*T1', async (t) => {
  const { clock, wire, sent, message } = setup(false);
  const outcomes: RequestOutcome[] = [];
  new NonInviteClientTransaction(message('BYE'), wire, clock, { onOutcome: (outcome) => outcomes.push(outcome), onTerminated: () => undefined }).start();
  clock.advance(32_000);
  t.same(sent.map(([at]) => at), [0, 500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500]);
  t.same(outcomes, [{ kind: 'timeout' }]);
  t.equal(clock.pending, 0);
});

t.test('non-INVITE client: a provisional slows E to T2; K absorbs; failure is told once', async (t) => {
  const { clock, wire, sent, message } = setup(false);
  const outcomes: RequestOutcome[] = [];
  const transaction = new NonInviteClientTransaction(message('BYE'), wire, clock, { onOutcome: (outcome) => outcomes.push(outcome), onTerminated: () => undefined });
  transaction.start();
  transaction.response(100);
  clock.advance(9000);
  t.same(sent.map(([at]) => at), [0, 500, 4500, 8500]);
  transaction.response(200);
  transaction.response(481);
  transaction.transportFailed('late');
  t.same(outcomes, [{ kind: 'answered', status: 200 }]);
  t.equal(transaction.state, 'completed');
  clock.advance(5000);
  t.equal(transaction.state, 'terminated');
});

t.test('a 2xx is repeated over any transport until its ACK, at most 64*T1', async (t) => {
  const clock = new FakeClock();
  const began = clock.now();
  const at: number[] = [];
  let timeouts = 0;
  new FinalAnswer({ sequence: 1, awaitsAnswer: false, clock, send: () => at.push(clock.now() - began), onTimeout: () => timeouts++ });
  clock.advance(100_000);
  t.same(at, [0, 500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500]);
  t.equal(timeouts, 1);
  const acked = new FinalAnswer({ sequence: 1, awaitsAnswer: false, clock, send: () => at.push(0), onTimeout: () => timeouts++ });
  acked.stop();
  clock.advance(100_000);
  t.equal(at.length, 12);
  t.equal(timeouts, 1);
  t.equal(clock.pending, 0);
});

const PEER: Peer = { address: '192.0.2.1', port: 5060, transport: 'UDP', send: () => undefined, next: () => Promise.reject(new Error('no socket')), inbox: [], close: () => Promise.resolve() };
const SOURCE = { address: '192.0.2.1', port: 5060, transport: 'udp' } as const;

function message(text: string): SipMessage {
  const parsed = parseMessage(Buffer.from(text));
  if (parsed.kind !== 'message') throw new Error(parsed.reason);
  return parsed.message;
}

function layerSetup(limits = { transactions: 100, pendingInvites: 10 }) {
  const clock = new FakeClock();
  const sent: string[] = [];
  const seen: ServerTransaction[] = [];
  const acks: string[] = [];
  const cancels: (ServerTransaction | undefined)[] = [];
  const user: TransactionUser = { onRequest: (transaction) => void seen.push(transaction), onCancel: (_, invite) => void cancels.push(invite), onAck: (ack) => void acks.push(ack.callId) };
  const layer = new TransactionLayer(
    {
      clock,
      random: () => 'abcdef',
      advertised: { address: '192.0.2.9', port: 5060 },
      limits,
      tagFor: () => 'ours',
      sendResponse: (_to, _source, out) => void sent.push(out.summary),
      sendRequest: (out) => void sent.push(out.bytes.toString()),
    },
    user,
  );
  const receive = (text: string): void => layer.receive(message(text), SOURCE);
  return { clock, sent, seen, acks, cancels, layer, receive };
}

t.test('layer: a copy is absorbed, a merged request is 482, another peer with the same branch is not', async (t) => {
  const { receive, seen, sent, clock, layer } = layerSetup();
  const invite = request(PEER, 'INVITE', { callId: 'a', branch: 'one' });
  receive(invite);
  seen[0]!.respond({ status: 100 });
  receive(invite);
  t.equal(seen.length, 1);
  t.same(sent, ['100 Trying (INVITE)', '100 Trying (INVITE)']);
  receive(request(PEER, 'INVITE', { callId: 'a', branch: 'two' }));
  t.equal(sent.at(-1), '482 Loop Detected (INVITE)');
  receive(request({ ...PEER, port: 5062 }, 'INVITE', { callId: 'b', branch: 'one' }));
  t.equal(seen.length, 2, 'sent-by is part of the key');
  seen[0]!.respond({ status: 486 });
  receive(request(PEER, 'ACK', { callId: 'a', branch: 'one', toTag: 'ours' }));
  clock.advance(5000);
  t.equal(layer.size, 1);
  receive(request(PEER, 'INVITE', { callId: 'a', branch: 'three' }));
  t.equal(seen.length, 3, 'once the transaction is over, it is no merge');
});

t.test('layer: RFC 2543 requests without a branch are matched by their fields', async (t) => {
  const { receive, seen, sent, acks } = layerSetup();
  const old = (text: string): string => text.replace(/;branch=[^;\r]+/, '');
  receive(old(request(PEER, 'INVITE', { callId: 'a' })));
  receive(old(request(PEER, 'INVITE', { callId: 'a' })));
  t.equal(seen.length, 1);
  seen[0]!.respond({ status: 486 });
  receive(old(request(PEER, 'ACK', { callId: 'a', toTag: 'ours' })));
  t.same(acks, [], 'the ACK of a refusal is absorbed');
  receive(old(request(PEER, 'INVITE', { callId: 'a', cseq: 2 })));
  t.equal(seen.length, 2);
  t.equal(sent.length, 1);
});

t.test('layer: overload is shed with 503, calls in progress are not', async (t) => {
  const { receive, seen, sent } = layerSetup({ transactions: 3, pendingInvites: 1 });
  receive(request(PEER, 'INVITE', { callId: 'a' }));
  receive(request(PEER, 'INVITE', { callId: 'b' }));
  t.equal(sent.at(-1), '503 Service Unavailable (INVITE)');
  seen[0]!.respond({ status: 200 });
  receive(request(PEER, 'INVITE', { callId: 'c' }));
  t.equal(seen.length, 2, 'an answered INVITE makes room');
  receive(request(PEER, 'OPTIONS', { callId: 'd' }));
  receive(request(PEER, 'OPTIONS', { callId: 'e' }));
  t.equal(sent.at(-1), '503 Service Unavailable (OPTIONS)');
  receive(request(PEER, 'BYE', { callId: 'a', cseq: 2, toTag: 'ours' }));
  t.equal(seen.at(-1)?.request.method, 'BYE');
});

t.test('layer: CANCEL finds its INVITE, or nothing', async (t) => {
  const { receive, seen, cancels } = layerSetup();
  receive(request(PEER, 'INVITE', { callId: 'a', branch: 'x' }));
  receive(request(PEER, 'CANCEL', { callId: 'a', branch: 'x' }));
  receive(request(PEER, 'CANCEL', { callId: 'a', branch: 'y' }));
  t.same(cancels, [seen[0], undefined]);
});

t.test('layer: our request is matched by branch and method; foreign responses are dropped; close resolves it', async (t) => {
  const { layer, sent, receive } = layerSetup();
  const done = layer.request({ method: 'BYE', uri: 'sip:x@y', callId: 'a', headers: [['From', '<sip:u@v>;tag=1'], ['To', '<sip:x@y>;tag=2'], ['Call-ID', 'a'], ['CSeq', '1 BYE']] }, SOURCE);
  t.match(sent[0], /^BYE sip:x@y SIP\/2.0\r\nVia: SIP\/2.0\/UDP 192.0.2.9:5060;branch=z9hG4bKabcdef;rport\r\n/);
  const answer = (via: string, method: string): string => `SIP/2.0 200 OK\r\n${via}From: <sip:u@v>;tag=1\r\nTo: <sip:x@y>;tag=2\r\nCall-ID: a\r\nCSeq: 1 ${method}\r\n\r\n`;
  const ours = 'Via: SIP/2.0/UDP 192.0.2.9:5060;branch=z9hG4bKabcdef\r\n';
  receive(answer(ours.replace('abcdef', 'other'), 'BYE'));
  receive(answer(ours, 'OPTIONS'));
  receive(answer(`${ours}${ours}`, 'BYE'));
  let outcome: RequestOutcome | undefined;
  void done.then((value) => (outcome = value));
  await Promise.resolve();
  t.equal(outcome, undefined);
  receive(answer(ours, 'BYE'));
  t.match(await done, { kind: 'answered', status: 200, response: { kind: 'response', status: 200 } });
  const open = layer.request({ method: 'BYE', uri: 'sip:x@y', callId: 'a', headers: [] }, SOURCE);
  layer.close();
  t.match(await open, { kind: 'transport_failed' });
  t.match(await layer.request({ method: 'BYE', uri: 'sip:x@y', callId: 'a', headers: [] }, SOURCE), { kind: 'transport_failed' });
  t.equal(layer.size, 0);
});
