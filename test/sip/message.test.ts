import t from 'tap';
import { buildRequest, buildResponse, replyTo } from '../../sip/message/build.ts';
import { bodyContent } from '../../sip/message/body.ts';
import { parseCSeq, parseNameAddr, parseVia, viaText } from '../../sip/message/headers.ts';
import { splitList } from '../../sip/message/lexer.ts';
import { parseMessage } from '../../sip/message/parse.ts';
import { redactedText } from '../../sip/message/redact.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import { asSipUri, parseUri, uriUser } from '../../sip/message/uri.ts';
import { seeded } from './support/random.ts';

const INVITE = [
  'INVITE sip:+49%2330@example.com;user=phone SIP/2.0',
  'v: SIP/2.0/UDP 192.0.2.1:5070;branch=z9hG4bKabc;rport, SIP/2.0/TCP [2001:db8::1];branch=z9hG4bKdef',
  'f: "Jörg \\"J\\" Müller" <sip:joerg@example.com>;tag=1',
  't: <sip:bob@example.com>',
  'i: call@example',
  'CSeq:  1',
  '\tINVITE',
  'm: <sip:joerg@192.0.2.1;transport=tcp>;expires=60',
  'Record-Route: <sip:a;lr>,<sip:b;lr>',
  'Content-Type: application/sdp',
  'l: 4',
  '',
  'v=0\n',
].join('\r\n');

function parsed(text: string): SipRequest {
  const result = parseMessage(Buffer.from(text, 'utf8'));
  if (result.kind !== 'message' || result.message.kind !== 'request') throw new Error(JSON.stringify(result));
  return result.message;
}

t.test('a request is read with compact names, folding, lists and UTF-8', async (t) => {
  const message = parsed(INVITE);
  t.equal(message.method, 'INVITE');
  t.equal(message.uri.user, '+49%2330');
  t.equal(uriUser(message.uri), '+49#30');
  t.equal(message.from.displayName, 'Jörg "J" Müller');
  t.equal(message.from.tag, '1');
  t.same(message.cseq, { number: 1, method: 'INVITE' });
  t.equal(message.topVia.port, 5070);
  t.equal(message.contact?.params.get('expires'), '60');
  t.same(message.headers.list('via').length, 2);
  t.same(message.headers.list('record-route'), ['<sip:a;lr>', '<sip:b;lr>']);
  t.equal(message.body.toString(), 'v=0\n');
});

t.test('a response copies what it must, byte for byte', async (t) => {
  const message = parsed(INVITE);
  const built = buildResponse(replyTo(message), { status: 180, toTag: 'abc', headers: [['Contact', '<sip:us>']] });
  t.equal(
    built.toString('utf8'),
    [
      'SIP/2.0 180 Ringing',
      'Via: SIP/2.0/UDP 192.0.2.1:5070;branch=z9hG4bKabc;rport',
      'Via: SIP/2.0/TCP [2001:db8::1];branch=z9hG4bKdef',
      'From: "Jörg \\"J\\" Müller" <sip:joerg@example.com>;tag=1',
      'To: <sip:bob@example.com>;tag=abc',
      'Call-ID: call@example',
      'CSeq: 1 \tINVITE'.replace('\t', ''),
      'Contact: <sip:us>',
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n'),
  );
  const again = parseMessage(built);
  t.match(again, { kind: 'message', message: { kind: 'response', status: 180, reason: 'Ringing' } });
});

t.test('a request built is a request read', async (t) => {
  const bytes = buildRequest('BYE', 'sip:a@b;transport=tcp', [['Via', 'SIP/2.0/UDP h;branch=z9hG4bKx'], ['From', '<sip:a@b>;tag=1'], ['To', '<sip:c@d>;tag=2'], ['Call-ID', 'x'], ['CSeq', '7 BYE'], ['Max-Forwards', '70']]);
  t.match(parsed(bytes.toString()), { method: 'BYE', cseq: { number: 7 }, maxForwards: 70, to: { tag: '2' } });
});

t.test('no header can smuggle in a line', async (t) => {
  for (const bad of ['a\r\nEvil: 1', 'a\nb', 'a\rb', 'smile ☺']) {
    t.throws(() => buildRequest('BYE', 'sip:a@b', [['X', bad]]), TypeError);
    t.throws(() => buildResponse(replyTo(parsed(INVITE)), { status: 486, headers: [['X', bad]] }), TypeError);
  }
  t.throws(() => buildRequest('BYE', 'sip:a@b', [['X: 1\r\nY', 'v']]), TypeError);
  t.throws(() => buildResponse(replyTo(parsed(INVITE)), { status: 486, reason: 'no\r\nEvil: 1' }), TypeError);
});

t.test('limits: size and number of headers', async (t) => {
  t.match(parseMessage(Buffer.alloc(65_537, 65)), { kind: 'malformed', reason: /65537 bytes/ });
  const many = INVITE.replace('Content-Type', `${'X-Y: 1\r\n'.repeat(200)}Content-Type`);
  t.match(parseMessage(Buffer.from(many)), { kind: 'malformed', reason: /more than 200 header/ });
});

t.test('malformed requests get the right verdict', async (t) => {
  const cases: [string, (text: string) => string, number | undefined][] = [
    ['other version', (s) => s.replace('SIP/2.0\r\n', 'SIP/3.0\r\n'), 505],
    ['no Call-ID', (s) => s.replace('i: call@example\r\n', ''), 400],
    ['no Via', (s) => s.replace(/v: .*\r\n/, ''), undefined],
    ['two From', (s) => s.replace('t: <', 'From: <sip:x@y>;tag=2\r\nt: <'), 400],
    ['body too short', (s) => s.replace('l: 4', 'l: 5'), 400],
    ['header without colon', (s) => s.replace('Content-Type', 'Nonsense here\r\nContent-Type'), 400],
    ['bare line feed', (s) => s.replace('call@example', 'call\nEvil: 1'), 400],
    ['no end of head', (s) => s.slice(0, s.indexOf('\r\n\r\n')), 400],
    ['bad branch of ACK is never answered', (s) => s.replace('INVITE sip', 'ACK sip'), undefined],
    ['noise', () => '\x00\x01\x02', undefined],
    ['HTTP', () => 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', undefined],
    ['TLS hello', () => '\x16\x03\x01\x02\x00\x01\x00', undefined],
    ['101 Contacts', (s) => s.replace('m: <', `m: ${'<sip:a@b>,'.repeat(100)}<`), 400],
    ['102 Vias', (s) => s.replace('f: ', `${'v: SIP/2.0/UDP h\r\n'.repeat(100)}f: `), 400],
    ['Max-Forwards 256', (s) => s.replace('i: call', 'Max-Forwards: 256\r\ni: call'), 400],
    ['CSeq of 2^31', (s) => s.replace('CSeq:  1', 'CSeq: 2147483648'), 400],
    ['Request-URI port 0', (s) => s.replace('example.com;user', 'example.com:0;user'), 400],
  ];
  for (const [name, change, status] of cases) {
    const result = parseMessage(Buffer.from(change(INVITE), 'latin1'));
    t.equal(result.kind, 'malformed', name);
    t.equal(result.kind === 'malformed' ? result.reply?.status : -1, status, `${name}: answered ${status}`);
  }
});

t.test('URIs', async (t) => {
  t.match(parseUri('sips:alice:secret@[2001:db8::1]:5061;transport=tcp;lr?Subject=x'), { scheme: 'sips', user: 'alice', password: 'secret', host: '[2001:db8::1]', port: 5061, headers: 'Subject=x' });
  t.equal(uriUser(parseUri('sip:+49-30-1234;npdi;rn=+4930@x')), '+49301234');
  t.equal(uriUser(parseUri('tel:+49(30)1234;phone-context=x')), '+49301234');
  t.equal(uriUser(parseUri('sip:a.b-c@x')), 'a.b-c', 'dots belong to names');
  t.match(asSipUri(parseUri('tel:+4930'), 'gw'), { scheme: 'sip', user: '+4930', host: 'gw', text: 'sip:+4930@gw;user=phone' });
  for (const bad of ['', 'sip:', 'sip:@x', 'sip:a@', 'sip:a b@c', 'sip:a@b:99999', 'sip:a@b;;', 'sip:%zz@b', 'sip:a@[::1', 'sip:a@b;lr;lr', 'tel:abcxyz', 'sip:a@b@c', '<sip:a@b>', 'sip:a@b\r\n']) {
    t.throws(() => parseUri(bad), { name: 'SipSyntaxError' }, bad);
  }
});

t.test('header values', async (t) => {
  t.same(splitList('"a,b" <sip:x,y@z>, c , "\\",d"'), ['"a,b" <sip:x,y@z>', 'c', '"\\",d"']);
  const via = parseVia('SIP / 2.0 / UDP first.example.com: 4000;ttl=16 ;maddr=224.2.0.1 ;branch=z9hG4bKa7c6a8dlze.1');
  t.match(via, { transport: 'UDP', host: 'first.example.com', port: 4000 });
  t.equal(viaText(via), 'SIP/2.0/UDP first.example.com:4000;ttl=16;maddr=224.2.0.1;branch=z9hG4bKa7c6a8dlze.1');
  t.match(parseNameAddr('sip:a@b;tag=1;x="q;=,"'), { uri: { text: 'sip:a@b' }, tag: '1' });
  t.match(parseNameAddr('<tel:+49>'), { uri: { scheme: 'tel', user: '+49' }, displayName: undefined });
  for (const bad of ['', '"x <sip:a@b>', 'x" <sip:a@b>', '<sip:a@b', '<sip:a@b>;', '<sip:a@b>;tag=1;tag=2', 'sip:a@b?x=1']) t.throws(() => parseNameAddr(bad), { name: 'SipSyntaxError' }, bad);
  for (const bad of ['1', 'INVITE', '1 INVITE x', '-1 INVITE', '1.5 INVITE']) t.throws(() => parseCSeq(bad), { name: 'SipSyntaxError' }, bad);
});

t.test('the SDP is found alone, in multipart, or not at all', async (t) => {
  const make = (type: string, body: string, more = ''): SipRequest => parsed(INVITE.slice(0, INVITE.indexOf('Content-Type')) + `${more}Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  t.same(bodyContent(make('Application/SDP; charset=utf-8', 'v=0')), { kind: 'sdp', sdp: 'v=0' });
  const multipart = '--x\r\nContent-Type: application/isup\r\n\r\n\x01\x02\r\n--x\r\ncontent-type: application/sdp\r\n\r\nv=0\r\n\r\n--x--\r\n';
  t.same(bodyContent(make('multipart/mixed; boundary=x', multipart)), { kind: 'sdp', sdp: 'v=0\r\n' });
  t.match(bodyContent(make('text/plain', 'hi')), { kind: 'unsupported', what: 'type' });
  t.match(bodyContent(make('application/sdp', 'hi', 'Content-Encoding: gzip\r\n')), { kind: 'unsupported', what: 'encoding' });
  t.same(bodyContent(make('text/plain', 'hi', 'Content-Disposition: session;handling=optional\r\n')), { kind: 'none' });
});

t.test('a trace holds no credentials', async (t) => {
  const text = redactedText(Buffer.from('REGISTER sip:x SIP/2.0\r\nAuthorization: Digest username="u",\r\n response="SECRET1"\r\nproxy-authorization : Digest SECRET2\r\nX: y\r\n\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:SECRET3\r\na=ice-pwd:SECRET4\r\nk=clear:SECRET5\r\na=x\r\n'));
  t.notMatch(text, /SECRET/);
  t.match(text, /X: y\r\n/);
  t.match(text, /a=x/);
});

t.test('mutated messages and random bytes never throw', async (t) => {
  const random = seeded(4475);
  const base = Buffer.from(INVITE, 'utf8');
  const verdicts = { message: 0, malformed: 0 };
  for (let i = 0; i < 20_000; i++) {
    const bytes = Buffer.from(base);
    for (let n = 1 + random(6); n > 0; n--) bytes[random(bytes.length)] = random(256);
    const cut = random(4) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes;
    verdicts[parseMessage(cut).kind]++;
  }
  for (let i = 0; i < 2000; i++) parseMessage(Buffer.from(Array.from({ length: random(400) }, () => random(256))));
  t.ok(verdicts.message > 1000 && verdicts.malformed > 1000, `both kinds came: ${JSON.stringify(verdicts)}`);
});
