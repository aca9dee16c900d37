/** Our INVITEs: the client transaction, dialogs, CANCEL, forks and digest authentication, against raw text. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { DigestClient, digestAnswer, parseChallenges } from '../../sip/auth/digest.ts';
import { Headers } from '../../sip/message/headers.ts';
import { InviteClientTransaction } from '../../sip/transaction/ict.ts';
import type { Outgoing } from '../../sip/transaction/wire.ts';
import type { InviteOptions, InviteOutcome } from '../../sip/user-agent.ts';
import { until } from '../support/until.ts';
import { agent, ANSWER, type Agent } from './support/agent.ts';
import { reply } from './support/callee.ts';
import { FakeClock } from './support/fake-clock.ts';
import { header, request, SDP, type Peer } from './support/sip-peer.ts';

function transaction(reliable: boolean) {
  const clock = new FakeClock();
  const began = clock.now();
  const sent: [number, string][] = [];
  const told: unknown[] = [];
  const message = (summary: string): Outgoing => ({ bytes: Buffer.alloc(0), callId: 'x', summary });
  const ict = new InviteClientTransaction<{ status: number }>(message('INVITE'), () => message('ACK'), { reliable, send: ({ summary }) => void sent.push([clock.now() - began, summary]) }, clock, {
    onResponse: ({ status }) => told.push(status),
    onFailed: ({ kind }) => told.push(kind),
    onTerminated: () => told.push('terminated'),
  });
  ict.start();
  return { clock, ict, sent, told };
}

t.test('INVITE client: A doubles without a bound, B ends it (UDP); no A over TCP', async (t) => {
  const { clock, sent, told } = transaction(false);
  clock.advance(40_000);
  t.same(sent.map(([at]) => at), [0, 500, 1500, 3500, 7500, 15_500, 31_500]);
  t.same(told, ['terminated', 'timeout']);
  t.equal(clock.pending, 0);
  const tcp = transaction(true);
  tcp.clock.advance(31_999);
  t.equal(tcp.sent.length, 1);
  tcp.clock.advance(1);
  t.same(tcp.told, ['terminated', 'timeout']);
});

t.test('INVITE client: a provisional response stops A and B', async (t) => {
  const { clock, ict, sent, told } = transaction(false);
  ict.response({ status: 100 });
  clock.advance(600_000);
  t.equal(sent.length, 1);
  t.equal(ict.state, 'proceeding');
  ict.transportFailed('gone');
  t.same(told, [100, 'terminated', 'transport_failed']);
});

t.test('INVITE client: each copy of a refusal gets its ACK until D', async (t) => {
  for (const [reliable, lastsMs] of [[false, 32_000], [true, 0]] as const) {
    const { clock, ict, sent, told } = transaction(reliable);
    ict.response({ status: 486 });
    ict.response({ status: 486 });
    ict.response({ status: 200 });
    t.same(sent.map(([, summary]) => summary), ['INVITE', 'ACK', 'ACK']);
    t.same(told, [486], 'told once');
    clock.advance(Math.max(0, lastsMs - 1));
    t.equal(ict.state, lastsMs === 0 ? 'terminated' : 'completed');
    clock.advance(1);
    t.equal(ict.state, 'terminated');
    t.equal(clock.pending, 0);
  }
});

t.test('INVITE client: every 2xx passes until M', async (t) => {
  const { clock, ict, sent, told } = transaction(false);
  for (const status of [180, 200, 200, 486, 180]) ict.response({ status });
  t.same(told, [180, 200, 200]);
  t.equal(sent.length, 1, 'the ACK is the dialog\'s');
  clock.advance(31_999);
  t.equal(ict.state, 'accepted');
  clock.advance(1);
  t.equal(ict.state, 'terminated');
  ict.response({ status: 200 });
  t.same(told.slice(3), ['terminated']);
});

t.test('digest: the examples of RFC 7616', async (t) => {
  const challenge = (algorithm: string) => parseChallenges([`Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=${algorithm}, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`])[0]!;
  const asked = { method: 'GET', uri: '/dir/index.html', cnonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ', count: 1 };
  const mufasa = { username: 'Mufasa', password: 'Circle of Life' };
  t.match(digestAnswer(challenge('MD5'), mufasa, asked), 'response="8ca523f5e9506fed4657c9700eebdbec"');
  const answer = digestAnswer(challenge('SHA-256'), mufasa, asked);
  t.match(answer, 'response="753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"');
  for (const field of ['algorithm=SHA-256', 'nc=00000001', 'qop=auth', 'opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"']) t.match(answer, field);
  const [long] = parseChallenges(['Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK"']);
  // As corrected by erratum 4897.
  t.match(digestAnswer(long!, { username: 'Jäsøn Doe', password: 'Secret, or not?' }, { method: 'GET', uri: '/doe.json', cnonce: 'NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v', count: 1 }), 'response="3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5"');
  const [old] = parseChallenges(['DIGEST realm="r",nonce="n",opaque=""']);
  t.match(digestAnswer(old!, { username: 'a"b', password: 'c' }, { ...asked, method: 'INVITE' }), /^Digest username="a\\"b", realm="r", nonce="n", uri="[^"]+", response="[0-9a-f]{32}", opaque=""$/, 'RFC 2069: no qop, no cnonce');
});

t.test('digest: what is answered, and how often', async (t) => {
  const client = new DigestClient({ username: 'u', password: 'p' }, () => 'abcd');
  const ask = (...values: string[]) => ({ status: 401, headers: new Headers(values.map((value) => ({ name: 'www-authenticate', value }))) });
  const attempt = client.attempt();
  const md5 = 'Digest realm="r", nonce="n1", algorithm="MD5", qop="auth"';
  const sha = 'Digest realm="r", nonce="n2", algorithm=SHA-256, qop="auth-int,auth"';
  const strong = attempt.answer(ask(md5, sha, 'Basic realm="x"', 'Digest realm="r", nonce="n3", algorithm=WHIRLPOOL'), 'INVITE', 'sip:x@y');
  t.match(strong, [['Authorization', /nonce="n2".*algorithm=SHA-256.*nc=00000001/]]);
  t.equal(attempt.answer(ask(sha), 'INVITE', 'sip:x@y'), undefined, 'refused');
  t.match(attempt.answer(ask(`${sha}, stale=true`), 'INVITE', 'sip:x@y'), [['Authorization', /nc=00000002/]], 'stale: once more');
  t.equal(attempt.answer(ask(`${sha}, stale=true`), 'INVITE', 'sip:x@y'), undefined);
  const both = client.attempt();
  both.answer(ask(md5), 'BYE', 'sip:x@y');
  const proxy = { status: 407, headers: new Headers([{ name: 'proxy-authenticate', value: md5.replace('"r"', '"proxy"') }]) };
  t.same(both.answer(proxy, 'BYE', 'sip:x@y')?.map(([name]) => name), ['Authorization', 'Proxy-Authorization']);
  t.equal(client.attempt().answer(ask('Digest realm="r", nonce="n", qop="auth-int"', 'Digest realm="r"', 'nonsense', ''), 'INVITE', 'sip:x@y'), undefined);
  t.equal(new DigestClient({ username: 'u', password: 'p', realm: 'mine' }, () => '').attempt().answer(ask(md5), 'INVITE', 'sip:x@y'), undefined, 'another realm');
  t.equal(client.attempt().answer({ ...ask(md5), status: 403 }, 'INVITE', 'sip:x@y'), undefined);
});

const to = (peer: Peer, more: Partial<InviteOptions> = {}): InviteOptions => ({ uri: `sip:+15550100@127.0.0.1:${peer.port}`, from: '<sip:+15550111@gateway.example>', sdp: SDP, transport: 'udp', ...more });

async function caller(t: Test): Promise<Agent & { peer: Peer }> {
  // Nobody is known: who answers our INVITE is let in all the same.
  const made = await agent(t, { admits: () => false });
  return { ...made, peer: await made.udp() };
}

/** Everything has gone when time has. */
async function empty(t: Test, { ua, clock, faults }: Agent): Promise<void> {
  await until('the end of every dialog', 5000, () => ua.counts().dialogs === 0, () => ua.counts());
  clock.advance(200_000);
  t.same(ua.counts(), { dialogs: 0, transactions: 0, connections: 0 });
  t.same(faults, []);
}

t.test('answered: routes reversed, Contact followed, 2xx acknowledged each time, BYE both ways', async (t) => {
  const world = await caller(t);
  const { ua, peer, clock } = world;
  const progress: number[] = [];
  const invite = ua.invite(to(peer, { headers: { 'X-Account': '7' }, onProgress: ({ status }) => void progress.push(status) }));
  const asked = await peer.next('INVITE');
  for (const [name, value] of [['Max-Forwards', '70'], ['CSeq', '1 INVITE'], ['X-Account', '7'], ['Content-Type', 'application/sdp'], ['To', `<sip:+15550100@127.0.0.1:${peer.port}>`]] as const) t.equal(header(asked, name), value);
  t.match(header(asked, 'Allow'), 'UPDATE');
  peer.send(reply(peer, asked, '180 Ringing'));
  const routes = ['Record-Route: <sip:127.0.0.1:9;lr>', `Record-Route: <sip:127.0.0.1:${peer.port};lr>`];
  const ok = reply(peer, asked, '200 OK', { headers: routes, body: ANSWER });
  peer.send(ok);
  const outcome = await invite.outcome;
  t.match(outcome, { kind: 'answered', status: 200, sdp: ANSWER });
  t.same(progress, [180]);
  const ack = await peer.next('ACK');
  t.equal(ack.split('\r\n')[0], `ACK sip:callee@127.0.0.1:${peer.port} SIP/2.0`);
  t.same(ack.split('\r\n').filter((line) => line.startsWith('Route')), [`Route: <sip:127.0.0.1:${peer.port};lr>`, 'Route: <sip:127.0.0.1:9;lr>']);
  t.equal(header(ack, 'CSeq'), '1 ACK');
  t.not(header(ack, 'Via'), header(asked, 'Via'));
  peer.send(ok);
  await peer.next('ACK');
  if (outcome.kind !== 'answered') return;
  t.equal(await outcome.dialog.acknowledged, undefined);
  const fromTag = 'callee';
  const toTag = /;tag=(\w+)/.exec(header(asked, 'From') ?? '')?.[1] ?? '';
  peer.send(request(peer, 'OPTIONS', { callId: invite.callId, fromTag, toTag, cseq: 1 }));
  await peer.next('SIP/2.0 200');
  const done = outcome.dialog.bye();
  const bye = await peer.next('BYE');
  t.equal(header(bye, 'CSeq'), '2 BYE');
  peer.send(reply(peer, bye, '200 OK'));
  await done;
  clock.advance(0);
  await empty(t, world);
});

t.test('refused: the ACK has the branch of the INVITE and the tag of the refusal', async (t) => {
  const world = await caller(t);
  const { ua, peer } = world;
  const invite = ua.invite(to(peer, { proxy: `sip:127.0.0.1:${peer.port};lr`, uri: 'sip:+15550100@carrier.invalid' }));
  const asked = await peer.next('INVITE sip:+15550100@carrier.invalid');
  t.equal(header(asked, 'Route'), `<sip:127.0.0.1:${peer.port};lr>`);
  peer.send(reply(peer, asked, '486 Busy Here'));
  t.same(await invite.outcome, { kind: 'refused', status: 486, reason: 'Busy Here', challenged: false });
  const ack = await peer.next('ACK');
  t.equal(header(ack, 'Via'), header(asked, 'Via'));
  t.equal(header(ack, 'Route'), header(asked, 'Route'));
  t.match(header(ack, 'To'), /;tag=callee$/);
  peer.send(reply(peer, asked, '486 Busy Here'));
  await peer.next('ACK');
  await empty(t, world);
});

t.test('challenged by server and proxy; the ACK carries the credentials, and so does the BYE', async (t) => {
  const world = await caller(t);
  const { ua, peer } = world;
  const invite = ua.invite(to(peer, { credentials: { username: 'u', password: 'p' } }));
  const first = await peer.next('INVITE');
  peer.send(reply(peer, first, '401 Unauthorized', { headers: ['WWW-Authenticate: Digest realm="a", nonce="1", qop="auth"', 'WWW-Authenticate: Digest realm="a", nonce="2", algorithm=SHA-256, qop="auth"'] }));
  const second = await peer.next('INVITE');
  t.equal(header(second, 'CSeq'), '2 INVITE');
  t.equal(header(second, 'Call-ID'), header(first, 'Call-ID'));
  t.equal(header(second, 'From'), header(first, 'From'));
  t.match(header(second, 'Authorization'), /nonce="2"/);
  peer.send(reply(peer, second, '407 Proxy Authentication Required', { headers: ['Proxy-Authenticate: Digest realm="b", nonce="3"'] }));
  const third = await peer.next('INVITE');
  t.match([header(third, 'Authorization'), header(third, 'Proxy-Authorization')], [/nc=00000002/, /nonce="3"/]);
  peer.send(reply(peer, third, '200 OK', { body: ANSWER }));
  const outcome = await invite.outcome;
  for (let ack = await peer.next('ACK'); ; ack = await peer.next('ACK')) {
    if (header(ack, 'CSeq') !== '3 ACK') continue;
    t.equal(header(ack, 'Authorization'), header(third, 'Authorization'));
    break;
  }
  if (outcome.kind !== 'answered') return t.fail(outcome.kind);
  const done = outcome.dialog.bye();
  peer.send(reply(peer, await peer.next('BYE'), '401 Unauthorized', { headers: ['WWW-Authenticate: Digest realm="a", nonce="4", qop="auth"'] }));
  const bye = await peer.next('BYE');
  t.match([header(bye, 'CSeq'), header(bye, 'Authorization')], ['5 BYE', /nonce="4"/]);
  peer.send(reply(peer, bye, '200 OK'));
  await done;
  t.notOk(JSON.stringify(world.trace.map(({ text }) => text)).includes('nonce='), 'credentials and challenges stay out of the trace');
  await empty(t, world);
});

t.test('credentials that are not accepted', async (t) => {
  const { ua, peer } = await caller(t);
  const challenge = { headers: ['WWW-Authenticate: Digest realm="a", nonce="1"'] };
  const invite = ua.invite(to(peer, { credentials: { username: 'u', password: 'wrong' } }));
  for (let time = 0; time < 2; time++) peer.send(reply(peer, await peer.next('INVITE'), '401 Unauthorized', challenge));
  t.match(await invite.outcome, { kind: 'refused', status: 401, challenged: true });
});

t.test('CANCEL waits for a provisional response', async (t) => {
  const world = await caller(t);
  const { ua, peer } = world;
  const invite = ua.invite(to(peer));
  const asked = await peer.next('INVITE');
  invite.cancel();
  invite.cancel();
  t.same(peer.inbox, []);
  peer.send(reply(peer, asked, '100 Trying', { tag: '' }));
  const cancel = await peer.next('CANCEL');
  t.same([header(cancel, 'Via'), header(cancel, 'CSeq'), header(cancel, 'To')], [header(asked, 'Via'), '1 CANCEL', header(asked, 'To')]);
  peer.send(reply(peer, cancel, '200 OK'));
  peer.send(reply(peer, asked, '487 Request Terminated'));
  t.same(await invite.outcome, { kind: 'canceled' });
  await peer.next('ACK');
  await empty(t, world);
});

t.test('a 200 that crosses the CANCEL is acknowledged and followed by BYE', async (t) => {
  const world = await caller(t);
  const { ua, peer } = world;
  const invite = ua.invite(to(peer));
  const asked = await peer.next('INVITE');
  peer.send(reply(peer, asked, '180 Ringing'));
  invite.cancel();
  const cancel = await peer.next('CANCEL');
  peer.send(reply(peer, asked, '200 OK', { body: ANSWER }));
  t.same(await invite.outcome, { kind: 'canceled' });
  await peer.next('ACK');
  const bye = await peer.next('BYE');
  peer.send(reply(peer, cancel, '200 OK'));
  peer.send(reply(peer, bye, '200 OK'));
  await empty(t, world);
});

t.test('a peer that forgets the canceled INVITE, and one that says nothing', async (t) => {
  const world = await caller(t);
  const { ua, peer, clock } = world;
  const forgotten = ua.invite(to(peer));
  peer.send(reply(peer, await peer.next('INVITE'), '180 Ringing'));
  forgotten.cancel();
  await peer.next('CANCEL');
  clock.advance(32_000);
  t.same(await forgotten.outcome, { kind: 'canceled' });
  const silent = ua.invite(to(peer));
  await peer.next('INVITE');
  clock.advance(32_000);
  t.same(await silent.outcome, { kind: 'timeout' });
  await empty(t, world);
});

t.test('forks: the first 2xx is the call, another is acknowledged and ended, again and again', async (t) => {
  const world = await caller(t);
  const { ua, peer } = world;
  const progress: number[] = [];
  const invite = ua.invite(to(peer, { onProgress: ({ status }) => void progress.push(status) }));
  const asked = await peer.next('INVITE');
  for (const tag of ['one', 'two']) peer.send(reply(peer, asked, '180 Ringing', { tag }));
  peer.send(reply(peer, asked, '183 Session Progress', { tag: 'three', contact: false }));
  peer.send(reply(peer, asked, '200 OK', { tag: 'two', body: ANSWER }));
  t.match(await invite.outcome, { kind: 'answered' });
  t.same(progress, [180, 180, 183]);
  t.match(header(await peer.next('ACK'), 'To'), /;tag=two$/);
  t.equal(ua.counts().dialogs, 1, 'the other early dialogs are over');
  peer.send(reply(peer, asked, '200 OK', { tag: 'one', body: ANSWER }));
  t.match(header(await peer.next('ACK'), 'To'), /;tag=one$/);
  const bye = await peer.next('BYE');
  t.match(header(bye, 'To'), /;tag=one$/);
  peer.send(reply(peer, bye, '200 OK'));
  peer.send(reply(peer, asked, '200 OK', { tag: 'one', body: ANSWER }));
  t.match(header(await peer.next('ACK'), 'To'), /;tag=one$/);
  const outcome = await invite.outcome as Extract<InviteOutcome, { kind: 'answered' }>;
  const done = outcome.dialog.bye();
  peer.send(reply(peer, await peer.next('BYE'), '200 OK'));
  await done;
  await empty(t, world);
});

t.test('no address, options that cannot be sent, and the end of the user agent', async (t) => {
  const { ua, peer } = await caller(t);
  t.match(await ua.invite(to(peer, { uri: 'sip:x@no-such-host.invalid' })).outcome, { kind: 'transport_failed' });
  t.throws(() => ua.invite(to(peer, { uri: 'not a uri' })));
  t.throws(() => ua.invite(to(peer, { from: '<sip:x@y' })));
  t.match(await ua.invite(to(peer, { headers: { 'X-A': 'b\r\nVia: c' } })).outcome, { kind: 'transport_failed' });
  const open = ua.invite(to(peer));
  await peer.next('INVITE');
  await ua.close();
  t.match(await open.outcome, { kind: 'transport_failed', detail: 'the user agent was closed' });
});

t.test('over TCP, on one connection', async (t) => {
  const { ua } = await agent(t, { admits: () => false });
  let text = '';
  let methods = '';
  const server = createServer((socket: Socket) => socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
    for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
      const length = end + 4 + Number(header(text.slice(0, end), 'Content-Length') ?? 0);
      if (text.length < length) return;
      const message = text.slice(0, length);
      text = text.slice(length);
      methods += `${message.split(' ')[0]} `;
      const peer = { address: '127.0.0.1', port, transport: 'TCP' } as Peer;
      if (!message.startsWith('ACK')) socket.write(reply(peer, message, '200 OK', message.startsWith('INVITE') ? { body: ANSWER } : {}));
    }
  })).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const outcome = await ua.invite({ ...to({ port } as Peer), transport: 'tcp' }).outcome;
  if (outcome.kind !== 'answered') return t.fail(outcome.kind);
  await outcome.dialog.bye();
  t.equal(methods.trim(), 'INVITE ACK BYE');
  t.equal(ua.counts().connections, 1);
});
