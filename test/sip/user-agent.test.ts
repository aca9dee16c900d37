import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';
import t from 'tap';
import { UserAgent, type SipSource } from '../../sip/user-agent.ts';
import { agent, ANSWER, settled } from './support/agent.ts';
import { header, request, responseTo, SDP, toTag } from './support/sip-peer.ts';

t.test('an unknown source gets no byte, whatever it sends', async (t) => {
  const { udp, ua, refused, trace, invites } = await agent(t, { admits: (source: SipSource) => source.address === '127.0.0.1' });
  const friend = await udp();
  const stranger = await udp('127.0.0.2');
  for (const method of ['INVITE', 'OPTIONS', 'REGISTER', 'BYE', 'CANCEL', 'ACK', 'NONSENSE']) stranger.send(request(stranger, method, { callId: `s-${method}`, body: method === 'INVITE' ? SDP : '' }));
  stranger.send('OPTIONS sip:x SIP/2.0\r\n\r\n');
  stranger.send('\r\n\r\n');
  await settled(friend);
  t.same(stranger.inbox, []);
  t.equal(invites.length, 0);
  t.notOk(trace.some((entry) => entry.callId.startsWith('s-')));
  t.match(refused[0], { source: { address: '127.0.0.2', port: stranger.port, transport: 'udp' }, reason: 'unknown source' });
  t.equal(ua.counts().transactions, 1, 'only the friend\'s');
});

t.test('an unknown TCP source is cut off before a byte is read', async (t) => {
  const { tcp } = await agent(t, { admits: () => false });
  const peer = await tcp('127.0.0.2');
  peer.send(request(peer, 'OPTIONS', { callId: 'x' }));
  await peer.closed;
  t.same(peer.inbox, []);
});

t.test('in-dialog requests are authorised by their dialog, not by their source', async (t) => {
  const { udp, tcp, invites, ua, clock } = await agent(t, { admits: (source: SipSource) => source.address === '127.0.0.1' });
  const peer = await udp();
  const other = await udp('127.0.0.3');
  peer.send(request(peer, 'INVITE', { callId: 'call', body: SDP }));
  await peer.next('SIP/2.0 100');
  const dialog = invites[0]!.accept(ANSWER);
  const tag = toTag(await peer.next('SIP/2.0 200'));
  other.send(request(other, 'ACK', { callId: 'call', toTag: tag }));
  await dialog.acknowledged;
  other.send(request(other, 'BYE', { callId: 'call', cseq: 2, toTag: 'guessed' }));
  other.send(request(other, 'BYE', { callId: 'call', cseq: 2, toTag: tag, fromTag: 'guessed' }));
  other.send(request(other, 'INVITE', { callId: 'call', cseq: 2, body: SDP }));
  other.send(request(other, 'BYE', { callId: 'other', cseq: 2, toTag: tag }));
  await settled(peer);
  t.same(other.inbox, [], 'Call-ID and both tags, or silence');
  t.notOk(dialog.signal.aborted);
  const guest = await tcp('127.0.0.4');
  guest.send('\r\n\r\n');
  guest.send(request(guest, 'OPTIONS', { callId: 'call', cseq: 2, toTag: tag }));
  await guest.next('SIP/2.0 200');
  t.same(guest.inbox, [], 'no pong before the proof');
  const intruder = await tcp('127.0.0.4');
  intruder.send(request(intruder, 'OPTIONS', { callId: 'x' }));
  await intruder.closed;
  const silent = await tcp('127.0.0.4');
  await settled(await tcp());
  clock.advance(10_000);
  await silent.closed;
  const bye = request(other, 'BYE', { callId: 'call', cseq: 3, toTag: tag });
  other.send(bye);
  await other.next('SIP/2.0 200');
  t.same(dialog.signal.reason, { kind: 'remote_bye' });
  other.send(bye);
  await other.next('SIP/2.0 200');
  t.equal(ua.counts().dialogs, 0);
});

t.test('a response to our BYE may come from elsewhere', async (t) => {
  const { udp, invites } = await agent(t, { admits: (source: SipSource) => source.address === '127.0.0.1' });
  const peer = await udp();
  const other = await udp('127.0.0.3');
  peer.send(request(peer, 'INVITE', { callId: 'call', body: SDP }));
  await peer.next('SIP/2.0 100');
  const dialog = invites[0]!.accept(ANSWER);
  peer.send(request(peer, 'ACK', { callId: 'call', toTag: toTag(await peer.next('SIP/2.0 200')) }));
  await dialog.acknowledged;
  const gone = dialog.bye();
  other.send(responseTo(await peer.next('BYE'), '200 OK'));
  await gone;
  t.pass('bye() resolved');
});

t.test('methods, extensions, schemes, hops: the RFC\'s answers', async (t) => {
  const { udp, invites } = await agent(t);
  const peer = await udp();
  let cases = 0;
  const answered = async (method: string, status: number, parts: Partial<Parameters<typeof request>[2]> = {}): Promise<string> => {
    peer.send(request(peer, method, { callId: `case${++cases}`, ...parts }));
    const answer = await peer.next('SIP/2.0 ');
    t.equal(Number(answer.slice(8, 11)), status, `${method} ${JSON.stringify(parts)}`);
    t.ok(toTag(answer), 'every answer has a To tag');
    return answer;
  };
  const options = await answered('OPTIONS', 200);
  t.match(header(options, 'Allow'), /^INVITE, ACK, CANCEL, BYE, OPTIONS, UPDATE$/);
  t.match(header(options, 'Accept'), /application\/sdp/);
  for (const method of ['REGISTER', 'PRACK', 'SUBSCRIBE', 'NOTIFY', 'PUBLISH', 'INFO', 'REFER', 'MESSAGE']) t.ok(header(await answered(method, 405), 'Allow'));
  await answered('FROBNICATE', 501);
  for (const method of ['BYE', 'UPDATE']) await answered(method, 481);
  for (const method of ['INVITE', 'BYE', 'UPDATE', 'OPTIONS']) await answered(method, 481, { toTag: 'nobody' });
  t.equal(header(await answered('INVITE', 420, { headers: ['Require: 100rel, timer'], body: SDP }), 'Unsupported'), '100rel, timer');
  await answered('INVITE', 416, { uri: 'http://example.com/' });
  await answered('INVITE', 483, { headers: ['Max-Forwards: 0'], body: SDP });
  await answered('OPTIONS', 200, { headers: ['Max-Forwards: 0'] });
  t.match(header(await answered('INVITE', 415, { body: 'x', contentType: 'text/plain' }), 'Accept'), /application\/sdp/);
  t.equal(header(await answered('INVITE', 415, { body: SDP, headers: ['Content-Encoding: gzip'] }), 'Accept-Encoding'), 'identity');
  await answered('INVITE', 406, { body: SDP, headers: ['Accept: text/html'] });
  await answered('INVITE', 400, { body: SDP, headers: ['Contact: *'] });
  await answered('INVITE', 400, { body: SDP, headers: ['Contact: <mailto:a@b>'] });
  await answered('INVITE', 400, { body: SDP, headers: ['Record-Route: <'] });
  await answered('INVITE', 400, { body: SDP, headers: [`Record-Route: ${Array.from({ length: 101 }, () => '<sip:a;lr>').join()}`] });
  await answered('INVITE', 400, { body: SDP, contentType: '' });
  await answered('OPTIONS', 400, { cseqMethod: 'INVITE' });
  t.equal(invites.length, 0, 'none of these reached the user');
  peer.send(request(peer, 'OPTIONS', { callId: 'v' }).replace('SIP/2.0\r\n', 'SIP/4.0\r\n'));
  await peer.next('SIP/2.0 505');
});

t.test('a tel Request-URI is handed out as the SIP URI it stands for', async (t) => {
  const { udp, invites } = await agent(t);
  const peer = await udp();
  peer.send(request(peer, 'INVITE', { callId: 'tel', uri: 'tel:+49-30-123456', body: SDP }));
  await peer.next('SIP/2.0 100');
  t.match(invites[0]!.requestUri, { scheme: 'sip', user: '+49-30-123456', host: '127.0.0.1' });
});

t.test('draining: OPTIONS is 503 outside a dialog, 200 inside', async (t) => {
  let draining = false;
  const { udp, invites } = await agent(t, { draining: () => draining });
  const peer = await udp();
  peer.send(request(peer, 'INVITE', { callId: 'call', body: SDP }));
  await peer.next('SIP/2.0 100');
  invites[0]!.accept(ANSWER);
  const tag = toTag(await peer.next('SIP/2.0 200'));
  draining = true;
  peer.send(request(peer, 'OPTIONS', { callId: 'o' }));
  t.ok(header(await peer.next('SIP/2.0 503'), 'Retry-After'));
  peer.send(request(peer, 'OPTIONS', { callId: 'call', cseq: 2, toTag: tag }));
  await peer.next('SIP/2.0 200');
});

t.test('one source\'s messages are limited, another\'s are not; refusals are reported sparingly', async (t) => {
  const { udp, refused, clock } = await agent(t, { limits: { perSourcePerSecond: 10, perSourceBurst: 20 } });
  const loud = await udp('127.0.0.5');
  const quiet = await udp('127.0.0.6');
  for (let i = 0; i < 200; i++) loud.send(request(loud, 'OPTIONS', { callId: `l${i}` }));
  await settled(quiet);
  t.equal(loud.inbox.length, 20);
  t.equal(refused.length, 50);
  t.match(refused[0], { source: { address: '127.0.0.5' }, reason: 'rate limited' });
  clock.advance(1000);
  for (let i = 0; i < 50; i++) loud.send(request(loud, 'OPTIONS', { callId: `m${i}` }));
  await settled(quiet);
  t.equal(loud.inbox.length, 30, 'ten more a second');
  t.equal(refused.length, 60);
});

t.test('dialogs are bounded: 503 with Retry-After', async (t) => {
  const { udp, ua, invites } = await agent(t, { limits: { dialogs: 2 } });
  const peer = await udp();
  for (const callId of ['a', 'b']) {
    peer.send(request(peer, 'INVITE', { callId, body: SDP }));
    await peer.next('SIP/2.0 100');
  }
  peer.send(request(peer, 'INVITE', { callId: 'c', body: SDP }));
  t.ok(header(await peer.next('SIP/2.0 503'), 'Retry-After'));
  invites[0]!.reject(486);
  peer.send(request(peer, 'INVITE', { callId: 'd', body: SDP }));
  await peer.next('SIP/2.0 100');
  t.equal(ua.counts().dialogs, 2);
});

t.test('responses: to the source port with rport, to the Via\'s without, never to maddr', async (t) => {
  const { udp, trace } = await agent(t);
  const peer = await udp();
  peer.send(request(peer, 'OPTIONS', { callId: 'a' }).replace(`:${peer.port};`, ':9;').replace('SIP/2.0/UDP 127.0.0.1', 'SIP/2.0/UDP 192.0.2.66'));
  t.match(header(await peer.next('SIP/2.0 200'), 'Via'), new RegExp(`^SIP/2.0/UDP 192.0.2.66:9;.*;rport=${peer.port};received=127.0.0.1`));
  const listening = await udp();
  peer.send(request(peer, 'OPTIONS', { callId: 'b' }).replace(`:${peer.port};`, `:${listening.port};maddr=127.0.0.8;received=127.0.0.8;`).replace(';rport', ''));
  t.notMatch(header(await listening.next('SIP/2.0 200'), 'Via'), /received=127.0.0.8/);
  t.notOk(trace.some((entry) => entry.source.address === '127.0.0.8'));
});

t.test('TCP: messages cut at every byte, ping and pong, garbage closes, a slow one too', async (t) => {
  const { tcp, clock, refused, ua } = await agent(t, { limits: { perSourceBurst: 10_000 } });
  const peer = await tcp();
  const text = request(peer, 'OPTIONS', { callId: 'whole' });
  for (let cut = 1; cut < text.length; cut += 7) {
    const branch = text.replace(/branch=[^;]+/, `branch=z9hG4bKcut${cut}`).replace('Call-ID: whole', `Call-ID: whole${cut}`);
    peer.send(branch.slice(0, cut));
    await new Promise((resolve) => setImmediate(resolve));
    peer.send(branch.slice(cut));
    await peer.next('SIP/2.0 200');
  }
  for (const octet of text) peer.send(octet);
  await peer.next('SIP/2.0 200');
  peer.send('\r\n\r\n');
  await peer.next('PONG');
  const garbage = await tcp();
  garbage.send('OPTIONS sip:x SIP/2.0\r\nContent-Length: -5\r\n\r\n');
  await garbage.closed;
  const big = await tcp();
  big.send(`OPTIONS sip:x SIP/2.0\r\nContent-Length: 65000\r\nX: ${'x'.repeat(1000)}\r\n\r\n`);
  await big.closed;
  const slow = await tcp();
  slow.send('OPTIONS sip:x SI');
  const probe = await tcp();
  await settled(probe);
  clock.advance(5000);
  slow.send('P');
  await settled(probe);
  clock.advance(5000);
  await slow.closed;
  t.ok(refused.some((refusal) => /did not end within/.test(refusal.reason)));
  const tooMuch = refused.filter((refusal) => refusal.source.transport === 'tcp').length;
  t.equal(tooMuch, 3);
  clock.advance(600_000);
  await peer.closed;
  await probe.closed;
  const last = await tcp();
  await settled(last);
  t.equal(ua.counts().connections, 1, 'idle ones were closed');
});

t.test('TCP connections are bounded per address', async (t) => {
  const { tcp } = await agent(t, { limits: { connectionsPerAddress: 2 } });
  const first = await tcp();
  await settled(first);
  await settled(await tcp());
  const third = await tcp();
  await third.closed;
  await settled(first);
});

t.test('callbacks that throw harm nobody', async (t) => {
  let bug = true;
  const { udp, faults } = await agent(t, {
    admits: () => {
      if (bug) throw new Error('admits');
      return true;
    },
    onInvite: () => {
      throw new Error('onInvite');
    },
    onTrace: () => {
      throw new Error('onTrace');
    },
  });
  const peer = await udp();
  peer.send(request(peer, 'OPTIONS', { callId: 'a' }));
  while (faults.length === 0) await new Promise((resolve) => setImmediate(resolve));
  bug = false;
  peer.send(request(peer, 'INVITE', { callId: 'b', body: SDP }));
  await peer.next('SIP/2.0 500');
  t.match(faults.map((fault) => (fault as Error).message), ['admits', 'onTrace', 'onTrace', 'onInvite', 'onTrace']);
});

t.test('the trace shows both ways, without credentials', async (t) => {
  const { udp, trace } = await agent(t);
  const peer = await udp();
  peer.send(request(peer, 'OPTIONS', { callId: 'a', headers: ['Authorization: Digest response="SECRET"'] }));
  await peer.next('SIP/2.0 200');
  t.match(trace, [{ callId: 'a', direction: 'in', summary: /^OPTIONS sip:/, source: { port: peer.port } }, { callId: 'a', direction: 'out', summary: '200 OK (OPTIONS)', source: { port: peer.port } }]);
  t.notMatch(JSON.stringify(trace), /SECRET/);
});

t.test('a port that is taken for either transport is told', async (t) => {
  const { ua } = await agent(t);
  await t.rejects(UserAgent.start({ host: '127.0.0.1', port: ua.port, advertisedAddress: '127.0.0.1', admits: () => true, onInvite: () => undefined }), { code: 'EADDRINUSE' });
  const tcpOnly = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => tcpOnly.once('listening', resolve));
  const { port } = tcpOnly.address() as { port: number };
  await t.rejects(UserAgent.start({ host: '127.0.0.1', port, advertisedAddress: '127.0.0.1', admits: () => true, onInvite: () => undefined }), { code: 'EADDRINUSE' });
  tcpOnly.close();
  await t.rejects(UserAgent.start({ host: '127.0.0.1', port: 0, advertisedAddress: '127.0.0.1', userAgent: 'a\r\nb', admits: () => true, onInvite: () => undefined }), TypeError);
});

t.test('IPv6: brackets in Contact and Via, a call over ::1', async (t) => {
  const { ua, invites } = await agent(t, { host: '::1', advertisedAddress: '::1' });
  const socket = createSocket('udp6');
  await new Promise<void>((resolve) => socket.bind(0, '::1', resolve));
  t.teardown(() => socket.close());
  const received: string[] = [];
  const two = new Promise<void>((resolve) => socket.on('message', (bytes) => received.push(bytes.toString()) === 2 && resolve()));
  const peer = { address: '[::1]', port: socket.address().port, transport: 'UDP', send: () => undefined, next: () => Promise.reject(new Error('unused')), inbox: [], close: () => Promise.resolve() } as const;
  socket.send(request({ ...peer, inbox: [] }, 'INVITE', { callId: 'six', body: SDP, uri: 'sip:+49@[::1]' }), ua.port, '::1');
  while (invites.length === 0) await new Promise((resolve) => setImmediate(resolve));
  invites[0]!.accept(ANSWER);
  await two;
  t.equal(header(received[1]!, 'Contact'), `<sip:[::1]:${ua.port}>`);
  t.match(header(received[1]!, 'Via'), new RegExp(`SIP/2.0/UDP \\[::1\\]:${peer.port};.*;received=::1`));
});
