import t from 'tap';
import { StreamFramer, type Framed } from '../../sip/message/stream.ts';
import { seeded } from './support/random.ts';

const first = 'OPTIONS sip:a SIP/2.0\r\nVia: x\r\nl : 5\r\n\r\nhello';
const second = 'BYE sip:b SIP/2.0\r\nContent-Length: 0\r\n\r\n';
const stream = Buffer.from(`\r\n\r\n${first}\r\n${second}\r\n\r\n\r\n\r\n`);
const wanted = ['ping', first, second, 'ping', 'ping'];

const shown = (framed: Framed[]): string[] => framed.map((one) => (one.kind === 'message' ? one.bytes.toString() : one.kind));

t.test('whatever the cut, the same messages come out', async (t) => {
  for (let cut = 0; cut <= stream.length; cut++) {
    const framer = new StreamFramer(65_536);
    t.same(shown([...framer.push(stream.subarray(0, cut)), ...framer.push(stream.subarray(cut))]), wanted, `cut at ${cut}`);
    t.equal(framer.partial, false);
  }
  const framer = new StreamFramer(65_536);
  t.same(shown([...stream].flatMap((octet) => framer.push(Buffer.from([octet])))), wanted, 'octet by octet');
  const random = seeded(1);
  for (let round = 0; round < 200; round++) {
    const chopped = new StreamFramer(65_536);
    const out: Framed[] = [];
    for (let at = 0; at < stream.length; ) {
      const size = 1 + random(20);
      out.push(...chopped.push(stream.subarray(at, at + size)));
      at += size;
    }
    t.same(shown(out), wanted);
  }
});

t.test('a message that has begun is partial, a lone CRLF is not', async (t) => {
  const framer = new StreamFramer(1000);
  framer.push(Buffer.from('\r\n'));
  t.equal(framer.partial, false);
  framer.push(Buffer.from('B'));
  t.equal(framer.partial, true);
});

t.test('what cannot be followed breaks the stream, once', async (t) => {
  const cases: [string, string, RegExp][] = [
    ['no length', 'BYE sip:b SIP/2.0\r\n\r\n', /no Content-Length/],
    ['negative', 'BYE sip:b SIP/2.0\r\nContent-Length: -1\r\n\r\n', /bad Content-Length/],
    ['contradiction', 'BYE sip:b SIP/2.0\r\nl: 1\r\nContent-Length: 2\r\n\r\n', /two different/],
    ['too long', 'BYE sip:b SIP/2.0\r\nl: 990\r\n\r\n', /more than 1000/],
    ['endless head', 'X'.repeat(1001), /head of more than/],
  ];
  for (const [name, text, reason] of cases) {
    const framer = new StreamFramer(1000);
    t.match(framer.push(Buffer.from(text)), [{ kind: 'broken', reason }], name);
    t.same(framer.push(Buffer.from(second)), [], 'nothing follows');
  }
});
