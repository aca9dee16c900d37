import t from 'tap';
import type { Test } from 'tap';
import type { InboundInvite, InviteDialog } from '../../sip/user-agent.ts';
import { agent, ANSWER, settled, type Agent } from './support/agent.ts';
import { header, request, responseTo, SDP, toTag, type Peer, type RequestParts } from './support/sip-peer.ts';

interface Call {
  readonly setup: Agent;
  readonly peer: Peer;
  readonly invite: InboundInvite;
  readonly dialog: InviteDialog;
  readonly ok: string;
  readonly tag: string;
  /** Sends a request inside the dialog. */
  say(method: string, cseq: number, parts?: Partial<RequestParts>): void;
}

async function call(t: Test, parts: Partial<RequestParts> & { transport?: 'tcp' } = {}): Promise<Call> {
  const setup = await agent(t);
  const peer = parts.transport === 'tcp' ? await setup.tcp() : await setup.udp();
  peer.send(request(peer, 'INVITE', { callId: 'call', body: SDP, ...parts }));
  await peer.next('SIP/2.0 100');
  const invite = setup.invites[0]!;
  const dialog = invite.accept(ANSWER);
  const ok = await peer.next('SIP/2.0 200');
  const tag = toTag(ok);
  return { setup, peer, invite, dialog, ok, tag, say: (method, cseq, more = {}) => peer.send(request(peer, method, { callId: 'call', cseq, toTag: tag, ...more })) };
}

for (const transport of ['udp', 'tcp'] as const) {
  t.test(`${transport}: a whole call, ended by the caller`, async (t) => {
    const { setup, peer, invite, dialog, ok, say } = await call(t, transport === 'tcp' ? { transport } : {});
    t.equal(invite.requestUri.user, '+4930123456');
    t.equal(invite.from.displayName, 'A Caller');
    t.equal(invite.offer, SDP);
    t.equal(invite.header('call-id'), 'call');
    t.equal(invite.header('i'), 'call');
    t.equal(invite.source.transport, transport);
    t.ok(ok.endsWith(`\r\n\r\n${ANSWER}`));
    t.equal(header(ok, 'Contact'), `<sip:127.0.0.1:${setup.ua.port}${transport === 'tcp' ? ';transport=tcp' : ''}>`);
    t.match(header(ok, 'Via'), new RegExp(`;rport=${peer.port};received=127.0.0.1`));
    say('ACK', 1);
    t.equal(await dialog.acknowledged, undefined);
    say('OPTIONS', 2);
    t.match(header(await peer.next('SIP/2.0 200'), 'Allow'), /UPDATE/);
    t.notOk(dialog.signal.aborted);
    say('BYE', 3);
    await peer.next('SIP/2.0 200');
    t.same(dialog.signal.reason, { kind: 'remote_bye' });
    await dialog.bye();
    t.equal(setup.ua.counts().dialogs, 0);
    say('BYE', 4);
    await peer.next('SIP/2.0 481');
    setup.clock.advance(64_000);
    t.equal(setup.ua.counts().transactions, 0);
    t.same(setup.faults, []);
  });

  t.test(`${transport}: ended by us, BYE goes along the connection or to the Contact`, async (t) => {
    const { peer, dialog, setup, tag, say } = await call(t, transport === 'tcp' ? { transport } : {});
    say('ACK', 1);
    await dialog.acknowledged;
    const gone = dialog.bye();
    t.equal(dialog.bye(), gone, 'idempotent');
    t.same(dialog.signal.reason, { kind: 'local_bye' });
    const bye = await peer.next('BYE');
    t.match(bye, new RegExp(`^BYE sip:caller@127.0.0.1:${peer.port}`));
    t.equal(header(bye, 'From'), `<sip:+4930123456@127.0.0.1>;tag=${tag}`);
    t.equal(header(bye, 'To'), '"A Caller" <sip:+4940987654@127.0.0.1>;tag=caller');
    t.equal(header(bye, 'CSeq'), '1 BYE');
    peer.send(responseTo(bye, '200 OK'));
    await gone;
    t.equal(setup.ua.counts().dialogs, 0);
  });
}

t.test('180 is repeated every minute, the INVITE again gets it again', async (t) => {
  const { udp, invites, clock } = await agent(t);
  const peer = await udp();
  const text = request(peer, 'INVITE', { callId: 'ring', body: SDP });
  peer.send(text);
  await peer.next('SIP/2.0 100');
  invites[0]!.ring();
  const ringing = await peer.next('SIP/2.0 180');
  t.ok(toTag(ringing));
  peer.send(text);
  t.equal(await peer.next('SIP/2.0 180'), ringing);
  clock.advance(60_000);
  await peer.next('SIP/2.0 180');
  t.equal(invites.length, 1);
  clock.advance(120_000);
  await peer.next('SIP/2.0 487');
  t.same(invites[0]!.signal.reason, { kind: 'expired' });
  t.throws(() => invites[0]!.accept(ANSWER), /already over/);
});

t.test('CANCEL before the answer: 200 and 487, and the call is over', async (t) => {
  const { udp, invites, ua } = await agent(t);
  const peer = await udp();
  peer.send(request(peer, 'INVITE', { callId: 'c', branch: 'can', body: SDP }));
  await peer.next('SIP/2.0 100');
  invites[0]!.ring();
  const ringing = await peer.next('SIP/2.0 180');
  peer.send(request(peer, 'CANCEL', { callId: 'c', branch: 'can', headers: ['Reason: SIP;cause=200;text="elsewhere"'] }));
  const ok = await peer.next('SIP/2.0 200');
  t.equal(header(ok, 'CSeq'), '1 CANCEL');
  t.equal(toTag(ok), toTag(ringing));
  await peer.next('SIP/2.0 487');
  t.same(invites[0]!.signal.reason, { kind: 'canceled', detail: 'SIP;cause=200;text="elsewhere"' });
  invites[0]!.ring();
  invites[0]!.reject(486);
  t.throws(() => invites[0]!.accept(ANSWER));
  peer.send(request(peer, 'ACK', { callId: 'c', branch: 'can', toTag: toTag(ringing) }));
  await settled(peer);
  t.same(peer.inbox, [], 'nothing after the 487');
  t.equal(ua.counts().dialogs, 0);
});

t.test('CANCEL that crosses the 200: answered, without effect', async (t) => {
  const { setup, peer, dialog, say } = await call(t, { branch: 'cross' });
  peer.send(request(peer, 'CANCEL', { callId: 'call', branch: 'cross' }));
  t.equal(header(await peer.next('SIP/2.0 200'), 'CSeq'), '1 CANCEL');
  t.notOk(dialog.signal.aborted);
  say('ACK', 1);
  await dialog.acknowledged;
  say('BYE', 2);
  await peer.next('SIP/2.0 200');
  t.same(dialog.signal.reason, { kind: 'remote_bye' });
  t.equal(setup.invites.length, 1);
});

t.test('CANCEL of nothing: 481', async (t) => {
  const peer = await (await agent(t)).udp();
  peer.send(request(peer, 'CANCEL', { callId: 'none' }));
  await peer.next('SIP/2.0 481');
});

t.test('BYE before the ACK: 200, no more 2xx, acknowledged rejects', async (t) => {
  const { setup, peer, dialog, say } = await call(t);
  const acknowledged = dialog.acknowledged.catch((end: unknown) => end);
  say('BYE', 2);
  await peer.next('SIP/2.0 200');
  t.same(await acknowledged, { kind: 'remote_bye' });
  setup.clock.advance(30_000);
  await settled(peer);
  t.same(peer.inbox, []);
});

t.test('BYE in the early dialog: the INVITE is answered 487', async (t) => {
  const { udp, invites } = await agent(t);
  const peer = await udp();
  peer.send(request(peer, 'INVITE', { callId: 'early', body: SDP }));
  await peer.next('SIP/2.0 100');
  invites[0]!.ring();
  const tag = toTag(await peer.next('SIP/2.0 180'));
  peer.send(request(peer, 'INVITE', { callId: 'early', cseq: 2, toTag: tag, body: SDP }));
  t.ok(header(await peer.next('SIP/2.0 500'), 'Retry-After'));
  peer.send(request(peer, 'UPDATE', { callId: 'early', cseq: 3, toTag: tag, body: SDP }));
  await peer.next('SIP/2.0 500');
  peer.send(request(peer, 'UPDATE', { callId: 'early', cseq: 4, toTag: tag }));
  await peer.next('SIP/2.0 200');
  peer.send(request(peer, 'BYE', { callId: 'early', cseq: 5, toTag: tag }));
  t.equal(header(await peer.next('SIP/2.0 200'), 'CSeq'), '5 BYE');
  t.equal(header(await peer.next('SIP/2.0 487'), 'CSeq'), '1 INVITE');
  t.equal(invites[0]!.signal.reason.kind, 'canceled');
});

t.test('the 200 is repeated until the ACK, then no more', async (t) => {
  const { setup, peer, ok, dialog, say } = await call(t);
  setup.clock.advance(500);
  t.equal(await peer.next('SIP/2.0 200'), ok);
  setup.clock.advance(1000);
  t.equal(await peer.next('SIP/2.0 200'), ok);
  say('ACK', 1, { body: SDP });
  t.equal(await dialog.acknowledged, SDP);
  say('ACK', 1);
  setup.clock.advance(20_000);
  await settled(peer);
  t.same(peer.inbox, []);
});

t.test('no ACK within 64*T1: BYE, and the dialog ends with no_ack', async (t) => {
  const { setup, peer, dialog } = await call(t);
  const acknowledged = dialog.acknowledged.catch((end: unknown) => end);
  setup.clock.advance(32_000);
  t.same(await acknowledged, { kind: 'no_ack' });
  t.same(dialog.signal.reason, { kind: 'no_ack' });
  peer.send(responseTo(await peer.next('BYE'), '200 OK'));
  await dialog.bye();
  t.equal(setup.ua.counts().dialogs, 0);
});

t.test('the same INVITE long after its transaction does not take over the dialog', async (t) => {
  const { setup, peer, dialog, say } = await call(t, { branch: 'again' });
  say('ACK', 1);
  await dialog.acknowledged;
  setup.clock.advance(40_000);
  peer.send(request(peer, 'INVITE', { callId: 'call', branch: 'again', body: SDP }));
  await peer.next('SIP/2.0 482');
  say('BYE', 2);
  await peer.next('SIP/2.0 200');
  t.same(dialog.signal.reason, { kind: 'remote_bye' });
  peer.send(request(peer, 'INVITE', { callId: 'call', branch: 'again', body: SDP }));
  await peer.next('SIP/2.0 482');
  setup.clock.advance(40_000);
  t.equal(setup.invites.length, 1);
  peer.send(request(peer, 'INVITE', { callId: 'call', branch: 'again', body: SDP }));
  await peer.next('SIP/2.0 100');
  t.equal(setup.ua.counts().dialogs, 1);
});

t.test('bye() before the ACK waits for it (section 15)', async (t) => {
  const { peer, dialog, say } = await call(t);
  const gone = dialog.bye();
  t.ok(dialog.signal.aborted, 'the call is over at once');
  await settled(peer);
  t.same(peer.inbox.filter((text) => text.startsWith('BYE')), []);
  say('ACK', 1);
  peer.send(responseTo(await peer.next('BYE'), '200 OK'));
  await gone;
});

t.test('both say BYE: ours is answered or not, theirs always', async (t) => {
  const { setup, peer, dialog, say } = await call(t);
  say('ACK', 1);
  await dialog.acknowledged;
  const gone = dialog.bye();
  await peer.next('BYE');
  say('BYE', 2);
  await peer.next('SIP/2.0 200');
  t.same(dialog.signal.reason, { kind: 'local_bye' });
  setup.clock.advance(32_000);
  await gone;
  t.equal(setup.ua.counts().dialogs, 0, 'an unanswered BYE times out');
});

t.test('re-INVITE: hold in three forms, refusal, repeated 200, target refresh', async (t) => {
  const { setup, peer, dialog, say } = await call(t);
  say('ACK', 1);
  await dialog.acknowledged;
  say('INVITE', 2, { body: SDP });
  await peer.next('SIP/2.0 488');
  const offers: (string | undefined)[] = [];
  dialog.onReinvite = (offer) => {
    offers.push(offer);
    return { status: 200, sdp: ANSWER };
  };
  const holds = [`${SDP}a=sendonly\r\n`, `${SDP}a=inactive\r\n`, SDP.replace('c=IN IP4 127.0.0.1', 'c=IN IP4 0.0.0.0')];
  for (const [index, body] of holds.entries()) {
    say('INVITE', 3 + index, { body, headers: [`Contact: <sip:moved@127.0.0.1:${peer.port}>`] });
    const ok = await peer.next('SIP/2.0 200');
    setup.clock.advance(500);
    t.equal(await peer.next('SIP/2.0 200'), ok, 'repeated until its own ACK');
    say('ACK', 3 + index);
  }
  t.same(offers, holds);
  say('UPDATE', 6, { body: SDP });
  t.match(await peer.next('SIP/2.0 200'), /m=audio 30000/);
  say('UPDATE', 7);
  t.equal(header(await peer.next('SIP/2.0 200'), 'Content-Length'), '0');
  t.equal(offers.length, 4);
  say('INVITE', 8, { body: 'x', contentType: 'text/plain' });
  t.ok(header(await peer.next('SIP/2.0 415'), 'Accept'));
  say('INVITE', 5, { body: SDP });
  t.ok(header(await peer.next('SIP/2.0 500'), 'Retry-After'), 'older than the last request');
  void dialog.bye();
  t.match(await peer.next('BYE'), new RegExp(`^BYE sip:caller@127.0.0.1:${peer.port} `), 'to the latest Contact');
});

t.test('re-INVITE without SDP: our offer, its answer in the ACK; a second offer meanwhile is 491', async (t) => {
  const { peer, dialog, say, setup } = await call(t);
  say('ACK', 1);
  await dialog.acknowledged;
  const answers: string[] = [];
  dialog.onReinvite = (offer) => (offer === undefined ? { status: 200, sdp: ANSWER } : { status: 488 });
  dialog.onAnswer = (answer) => void answers.push(answer);
  say('INVITE', 2);
  t.match(await peer.next('SIP/2.0 200'), /m=audio 30000/);
  say('UPDATE', 3, { body: SDP });
  await peer.next('SIP/2.0 491');
  say('ACK', 2, { body: SDP });
  await settled(peer);
  t.same(answers, [SDP]);
  say('INVITE', 4);
  await peer.next('SIP/2.0 200');
  setup.clock.advance(32_000);
  await peer.next('BYE');
  t.same(dialog.signal.reason, { kind: 'no_ack' });
});

t.test('late offer: the INVITE has no SDP, the ACK brings the answer', async (t) => {
  const { dialog, invite, say, peer } = await call(t, { body: '' });
  t.equal(invite.offer, undefined);
  say('UPDATE', 2, { body: SDP });
  await peer.next('SIP/2.0 491');
  say('ACK', 1, { body: SDP });
  t.equal(await dialog.acknowledged, SDP);
});

t.test('an exception in onReinvite is a 500, not a crash', async (t) => {
  const { setup, peer, dialog, say } = await call(t);
  say('ACK', 1);
  await dialog.acknowledged;
  dialog.onReinvite = () => {
    throw new Error('bug');
  };
  say('INVITE', 2, { body: SDP });
  await peer.next('SIP/2.0 500');
  t.match(setup.faults, [{ message: 'bug' }]);
  t.notOk(dialog.signal.aborted);
});

t.test('Record-Route: copied into 180 and 200, loose routing for our BYE', async (t) => {
  const { setup, peer, ok, dialog, say } = await call(t, { headers: ['Record-Route: <sip:127.0.0.1:PORT;lr;r2=on>'.replace('PORT', '9'), 'Contact: <sip:far@192.0.2.77:5070>'] });
  t.equal(header(ok, 'Record-Route'), '<sip:127.0.0.1:9;lr;r2=on>');
  say('ACK', 1);
  await dialog.acknowledged;
  void dialog.bye();
  await settled(peer);
  const bye = setup.trace.find((entry) => entry.direction === 'out' && entry.text.startsWith('BYE'))!;
  t.match(bye.text, /^BYE sip:far@192\.0\.2\.77:5070 SIP\/2\.0\r\n/);
  t.equal(header(bye.text, 'Route'), '<sip:127.0.0.1:9;lr;r2=on>');
  t.same(bye.source, { address: '127.0.0.1', port: 9, transport: 'udp' });
});

t.test('two Record-Routes in one line, and one without lr: strict routing', async (t) => {
  const setup = await agent(t);
  const peer = await setup.udp();
  peer.send(request(peer, 'INVITE', { callId: 'call', body: SDP, headers: [`Record-Route: <sip:127.0.0.1:${peer.port}>, <sip:192.0.2.2;lr>`, 'Contact: <sip:far@192.0.2.77>'] }));
  await peer.next('SIP/2.0 100');
  const dialog = setup.invites[0]!.accept(ANSWER);
  const ok = await peer.next('SIP/2.0 200');
  t.same(ok.match(/^Record-Route: .*$/gm), [`Record-Route: <sip:127.0.0.1:${peer.port}>`, 'Record-Route: <sip:192.0.2.2;lr>']);
  peer.send(request(peer, 'ACK', { callId: 'call', toTag: toTag(ok) }));
  await dialog.acknowledged;
  void dialog.bye();
  const bye = await peer.next('BYE');
  t.match(bye, new RegExp(`^BYE sip:127.0.0.1:${peer.port} SIP/2.0\r\n`));
  t.same(bye.match(/^Route: .*$/gm), ['Route: <sip:192.0.2.2;lr>', 'Route: <sip:far@192.0.2.77>']);
});

t.test('TCP: the peer is gone when we answer', async (t) => {
  const { tcp, invites } = await agent(t);
  const peer = await tcp();
  peer.send(request(peer, 'INVITE', { callId: 'gone', body: SDP }).replace(/^(Via: .*:)\d+/m, '$19'));
  await peer.next('SIP/2.0 100');
  await peer.close();
  const probe = await tcp();
  await settled(probe);
  const dialog = invites[0]!.accept(ANSWER);
  await new Promise<void>((resolve) => (dialog.signal.aborted ? resolve() : dialog.signal.addEventListener('abort', () => resolve())));
  t.equal(dialog.signal.reason.kind, 'transport_failed');
});

t.test('reject: status, reason, headers, and bad ones of our own', async (t) => {
  const { udp, invites, ua } = await agent(t, { userAgent: 'Wirevoice' });
  const peer = await udp();
  peer.send(request(peer, 'INVITE', { callId: 'r', body: SDP }));
  await peer.next('SIP/2.0 100');
  t.throws(() => invites[0]!.reject(200), RangeError);
  t.throws(() => invites[0]!.reject(503, { headers: { 'Retry-After': '1\r\nEvil: 1' } }), TypeError);
  invites[0]!.reject(503, { reason: 'Überlastet', headers: { 'Retry-After': '60' } });
  const answer = await peer.next('SIP/2.0 503');
  t.match(Buffer.from(answer, 'latin1').toString(), /^SIP\/2\.0 503 Überlastet\r\n/);
  t.equal(header(answer, 'Retry-After'), '60');
  t.equal(header(answer, 'Server'), 'Wirevoice');
  t.equal(ua.counts().dialogs, 0);
});

t.test('close() ends what lives, and leaves no timer', async (t) => {
  const { setup, dialog, peer } = await call(t);
  peer.send(request(peer, 'INVITE', { callId: 'second', body: SDP }));
  await peer.next('SIP/2.0 100');
  const gone = dialog.bye();
  await setup.ua.close();
  await gone;
  t.same(setup.invites[1]!.signal.reason.kind, 'transport_failed');
  t.equal(setup.clock.pending, 0);
});
