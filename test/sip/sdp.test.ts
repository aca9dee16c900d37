import t from 'tap';
import { answerOffer, makeOffer, readAnswer, type LocalMedia } from '../../sip/sdp/answer.ts';
import { SdpNegotiation } from '../../sip/sdp/negotiation.ts';
import { parseSdp } from '../../sip/sdp/session-description.ts';
import { seeded } from './support/random.ts';

const LOCAL: LocalMedia = { address: '192.0.2.1', port: 20_000, sessionId: '42', version: 7, codecs: ['PCMU', 'PCMA'] };
const head = ['v=0', 'o=a 1 1 IN IP4 192.0.2.9', 's=-', 'c=IN IP4 192.0.2.9', 't=0 0'];
const offer = (...lines: string[]): string => `${[...head, ...lines].join('\r\n')}\r\n`;

function accepted(text: string, local = LOCAL) {
  const answer = answerOffer(text, local);
  if (!answer.ok) throw new Error(answer.reason);
  return answer;
}

t.test('the answer, byte for byte', async (t) => {
  const { sdp, media } = accepted(offer('m=audio 5000 RTP/AVP 18 8 0 96 101', 'a=rtpmap:96 telephone-event/16000', 'a=rtpmap:101 telephone-event/8000', 'a=fmtp:101 0-16', 'a=ptime:20', 'a=rtcp:5005'));
  t.equal(sdp, 'v=0\r\no=- 42 7 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\nm=audio 20000 RTP/AVP 8 101\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=ptime:20\r\na=sendrecv\r\n');
  t.same(media, { codec: 'PCMA', payloadType: 8, telephoneEventPayloadType: 101, ptimeMs: 20, remote: { address: '192.0.2.9', port: 5000, rtcpPort: 5005 }, direction: 'sendrecv' });
});

t.test('codecs: offerer\'s order, ours only, dynamic types, remapped static types', async (t) => {
  t.match(accepted(offer('m=audio 5000 RTP/AVP 0')).media, { codec: 'PCMU', payloadType: 0, telephoneEventPayloadType: undefined });
  t.match(accepted(offer('m=audio 5000 RTP/AVP 0 8'), { ...LOCAL, codecs: ['PCMA'] }).media, { codec: 'PCMA' });
  t.match(accepted(offer('m=audio 5000 RTP/AVP 97', 'a=rtpmap:97 pcma/8000/1')).media, { codec: 'PCMA', payloadType: 97 });
  t.match(accepted(offer('m=audio 5000 RTP/AVP 0 8', 'a=rtpmap:0 L16/44100')).media, { codec: 'PCMA' });
  t.match(answerOffer(offer('m=audio 5000 RTP/AVP 97', 'a=rtpmap:97 PCMU/16000'), LOCAL), { ok: false, status: 488 });
  t.match(answerOffer(offer('m=audio 5000 RTP/AVP 18 9'), LOCAL), { ok: false, reason: /none of PCMU, PCMA among 18 9/ });
});

t.test('hold in its forms', async (t) => {
  const cases: [string, string[], string][] = [
    ['media sendonly', ['m=audio 5000 RTP/AVP 0', 'a=sendonly'], 'recvonly'],
    ['media inactive', ['m=audio 5000 RTP/AVP 0', 'a=inactive'], 'inactive'],
    ['media recvonly', ['m=audio 5000 RTP/AVP 0', 'a=recvonly'], 'sendonly'],
    ['session sendonly', ['a=sendonly', 'm=audio 5000 RTP/AVP 0'], 'recvonly'],
    ['session inactive, media sendrecv', ['a=inactive', 'm=audio 5000 RTP/AVP 0', 'a=sendrecv'], 'sendrecv'],
    ['media 0.0.0.0', ['m=audio 5000 RTP/AVP 0', 'c=IN IP4 0.0.0.0'], 'recvonly'],
    ['media 0.0.0.0 and inactive', ['m=audio 5000 RTP/AVP 0', 'c=IN IP4 0.0.0.0', 'a=inactive'], 'inactive'],
    ['media 0.0.0.0 and recvonly', ['m=audio 5000 RTP/AVP 0', 'c=IN IP4 0.0.0.0', 'a=recvonly'], 'inactive'],
  ];
  for (const [name, lines, direction] of cases) {
    const { sdp, media } = accepted(offer(...lines));
    t.equal(media.direction, direction, name);
    t.match(sdp, new RegExp(`a=${direction}\r\n`), name);
  }
  t.equal(accepted(offer('m=audio 5000 RTP/AVP 0').replace('c=IN IP4 192.0.2.9', 'c=IN IP4 0.0.0.0')).media.direction, 'recvonly', 'session 0.0.0.0');
});

t.test('other streams are declined in their places', async (t) => {
  const { sdp, media } = accepted(offer('m=video 6000/2 RTP/AVP 31 34', 'm=audio 7000 RTP/SAVP 0', 'm=audio 5000 RTP/AVP 0', 'm=image 8000 udptl t38', 'm=audio 9000 RTP/AVP 8'));
  t.same(sdp.match(/^m=.*$/gm), ['m=video 0 RTP/AVP 31 34', 'm=audio 0 RTP/SAVP 0', 'm=audio 20000 RTP/AVP 0', 'm=image 0 udptl t38', 'm=audio 0 RTP/AVP 8']);
  t.equal(media.remote.port, 5000);
});

t.test('packet time, timing, IPv6, media-level address', async (t) => {
  const ptime = (...lines: string[]): number => accepted(offer('m=audio 5000 RTP/AVP 0', ...lines)).media.ptimeMs;
  t.same([ptime('a=ptime:30'), ptime('a=ptime:40'), ptime('a=ptime:200'), ptime('a=ptime:40', 'a=maxptime:20'), ptime('a=maxptime:10'), ptime('a=ptime:nonsense'), ptime('a=ptime:0')], [20, 40, 60, 20, 10, 20, 20]);
  t.match(accepted(offer('m=audio 5000 RTP/AVP 0').replace('t=0 0', 't=3149328700 0')).sdp, /^t=3149328700 0\r$/m);
  t.equal(accepted(offer('m=audio 5000 RTP/AVP 0', 'c=IN IP4 198.51.100.7')).media.remote.address, '198.51.100.7');
  const six = offer('m=audio 5000 RTP/AVP 0').replaceAll('IP4 192.0.2.9', 'IP6 2001:db8::9');
  t.match(answerOffer(six, LOCAL), { ok: false, reason: /another IP version/ });
  const { sdp, media } = accepted(six, { ...LOCAL, address: '2001:db8::1' });
  t.match(sdp, /^o=- 42 7 IN IP6 2001:db8::1\r\n.*^c=IN IP6 2001:db8::1\r\n/ms);
  t.equal(media.remote.address, '2001:db8::9');
});

t.test('what is not usable is refused with a reason', async (t) => {
  const cases: [string, RegExp][] = [
    ['', /v=0/], ['hello', /v=0/], ['v=0\r\n', /o= line/], [offer(), /no media/],
    [offer('m=audio 5000 RTP/SAVP 0', 'a=crypto:1 x'), /RTP\/SAVP is not RTP\/AVP/],
    [offer('m=audio 9 UDP/TLS/RTP/SAVPF 111'), /UDP\/TLS\/RTP\/SAVPF is not/],
    [offer('m=audio 0 RTP/AVP 0'), /switched off/], [offer('m=video 5000 RTP/AVP 31'), /video is not audio/],
    [offer('m=audio 70000 RTP/AVP 0'), /bad media line/], [offer('m=audio RTP/AVP 0'), /bad media line/], [offer('m=audio 5000 RTP/AVP'), /bad media line/],
    [offer('m=audio 5000 RTP/AVP 0', 'nonsense'), /not an SDP line/], [offer('m=audio 5000 RTP/AVP 0').replace('c=IN IP4 192.0.2.9\r\n', ''), /no IP address/],
    [offer('m=audio 5000 RTP/AVP 0').replace('c=IN IP4 192.0.2.9', 'c=IN IP4 host.example.com'), /no IP address/],
    [offer('m=audio 5000 RTP/AVP 0').replace('c=IN IP4 192.0.2.9', 'c=IN IP4 224.2.1.1/127'), /no IP address/],
    [offer('m=audio 5000 RTP/AVP 0').replace('c=IN IP4 192.0.2.9', 'c=IN IP4 2001:db8::9'), /no IP address/],
    [offer(...Array.from({ length: 17 }, () => 'm=audio 5000 RTP/AVP 0')), /17 media lines/], [offer(`m=audio 5000 RTP/AVP ${'0 '.repeat(65)}0`), /bad media line/],
    [offer('m=audio 5000 RTP/AVP 0', ...Array.from({ length: 600 }, () => 'a=x')), /lines, at most/], [offer('m=audio 5000 RTP/AVP 0', `a=${'x'.repeat(20_000)}`), /characters, at most/],
    [offer('m=audio 5000 RTP/AVP 0').replace('t=0 0', 't=now then'), /t= line/],
  ];
  for (const [text, reason] of cases) t.match(answerOffer(text, LOCAL), { ok: false, status: 488, reason }, reason.source);
});

t.test('a late offer and its answer', async (t) => {
  const ours = makeOffer(LOCAL);
  t.same(ours.match(/^m=.*$/gm), ['m=audio 20000 RTP/AVP 0 8 101']);
  const peer = accepted(ours, { ...LOCAL, address: '192.0.2.9', port: 5000, codecs: ['PCMA'] });
  t.match(readAnswer(peer.sdp, LOCAL), { ok: true, media: { codec: 'PCMA', telephoneEventPayloadType: 101, remote: { address: '192.0.2.9', port: 5000 }, direction: 'sendrecv' } });
  t.match(readAnswer(offer('m=audio 5000 RTP/AVP 8 96', 'a=rtpmap:96 telephone-event/8000'), LOCAL), { ok: true, media: { telephoneEventPayloadType: 101 } });
  t.match(readAnswer(offer('m=audio 0 RTP/AVP 0'), LOCAL), { ok: false });
  t.match(readAnswer('nonsense', LOCAL), { ok: false });
});

t.test('the version grows with changes only, and media lines keep their places', async (t) => {
  const negotiation = new SdpNegotiation({ address: '192.0.2.1', port: 20_000, sessionId: '42', codecs: ['PCMU', 'PCMA'] });
  const version = (sdp: string): string | undefined => /^o=- 42 (\d+)/m.exec(sdp)?.[1];
  const answer = (...lines: string[]): string => {
    const result = negotiation.answer(offer(...lines));
    return result.ok ? result.sdp : result.reason;
  };
  const talk = ['m=video 6000 RTP/AVP 31', 'm=audio 5000 RTP/AVP 0'];
  t.equal(version(answer(...talk)), '1');
  t.equal(version(answer(...talk)), '1', 'a session refresh changes nothing');
  t.equal(version(answer(...talk, 'a=sendonly')), '2');
  t.equal(negotiation.media?.direction, 'recvonly');
  t.match(answer('m=audio 5000 RTP/AVP 18'), /none of/);
  t.equal(negotiation.media?.direction, 'recvonly', 'a refusal leaves everything as it was');
  t.equal(version(answer(...talk)), '3');
  const ours = negotiation.offer();
  t.equal(version(ours), '4');
  t.same(ours.match(/^m=.*$/gm), ['m=video 0 RTP/AVP 31', 'm=audio 20000 RTP/AVP 0 8 101']);
  t.equal(version(negotiation.offer()), '4');
  t.ok(negotiation.readAnswer(offer('m=video 0 RTP/AVP 31', 'm=audio 5002 RTP/AVP 8')).ok);
  t.match(negotiation.media, { codec: 'PCMA', remote: { port: 5002 } });
});

t.test('our own mistakes are told', async (t) => {
  t.throws(() => makeOffer({ ...LOCAL, address: 'host' }), TypeError);
  t.throws(() => makeOffer({ ...LOCAL, sessionId: 'abc' }), TypeError);
});

t.test('mutated SDP never throws', async (t) => {
  const random = seeded(3264);
  const base = Buffer.from(offer('m=audio 5000 RTP/AVP 0 101', 'a=rtpmap:101 telephone-event/8000', 'a=ptime:20', 'a=__proto__:1', 'a=sendonly'));
  let good = 0;
  for (let i = 0; i < 10_000; i++) {
    const bytes = Buffer.from(base);
    for (let n = 1 + random(5); n > 0; n--) bytes[random(bytes.length)] = random(128);
    if (answerOffer(bytes.toString('latin1'), LOCAL).ok) good++;
    parseSdp(bytes.toString('latin1').slice(random(50)));
  }
  t.ok(good > 100 && good < 9900, `${good} of 10000 still good`);
});
