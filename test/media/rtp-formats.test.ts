import t from 'tap';
import { DtmfReceiver } from '../../media/rtp/dtmf.ts';
import { buildRtp, emptyRtpPacket, parseRtp, sequenceDistance, timestampDistance, writeRtpHeader } from '../../media/rtp/packet.ts';
import { buildRtcp, parseRtcp, type RtcpPacket } from '../../media/rtp/rtcp.ts';
import { meanOpinionScore } from '../../media/rtp/quality.ts';
import { Reception } from '../../media/rtp/reception.ts';
import { seeded } from './simulated-network.ts';

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'));
const header = { marker: true, payloadType: 101, sequence: 0xfffe, timestamp: 0xdeadbeef, ssrc: 0x80000001 };

t.test('RTP by bytes, both ways', async (t) => {
  const bytes = hex('80e5 fffe deadbeef 80000001 010203');
  t.same(buildRtp(header, hex('010203')), bytes);
  t.same(parseRtp(bytes, emptyRtpPacket()), { ...header, payloadStart: 12, payloadEnd: 15 });
  const reused = new Uint8Array(12).fill(0xff);
  writeRtpHeader(reused, header);
  t.same(reused, bytes.subarray(0, 12));
  const full = hex('b2e5 fffe deadbeef 80000001 0000000a 0000000b bede0001 51020000 010203 000003');
  t.same(buildRtp(header, hex('010203'), { csrcs: [10, 11], extension: { profile: 0xbede, data: hex('51020000') }, paddingBytes: 3 }), full);
  t.same(parseRtp(full, emptyRtpPacket()), { ...header, payloadStart: 28, payloadEnd: 31 });
});

t.test('what is not RTP is refused', async (t) => {
  const bad = {
    'empty': '', 'too short': '8000 0001 00000000 000000', 'version 1': '4000 0001 00000000 00000000 55',
    'CSRCs that do not fit': '8f00 0001 00000000 00000000 55', 'extension without header': '9000 0001 00000000 00000000 bede',
    'extension too long': '9000 0001 00000000 00000000 bede0002 00000000', 'padding of 0': 'a000 0001 00000000 00000000 00',
    'padding too long': 'a000 0001 00000000 00000000 0e', 'padding into the header': 'a000 0001 00000000 000000ff',
  };
  for (const [name, text] of Object.entries(bad)) t.equal(parseRtp(hex(text), emptyRtpPacket()), undefined, name);
});

t.test('distances around the wraps', async (t) => {
  t.same([sequenceDistance(2, 65_535), sequenceDistance(65_535, 2), timestampDistance(5, 2 ** 32 - 5), timestampDistance(2 ** 32 - 5, 5)], [3, -3, 10, -10]);
});

const block = { ssrc: 1, fractionLost: 64, cumulativeLost: -2, highestSequence: 70_000, jitter: 9, lastSr: 0xffff0000, delaySinceLastSr: 65_536 };
const compound: RtcpPacket[] = [
  { kind: 'sr', ssrc: 0xfffffffe, ntpSeconds: 0xf0000000, ntpFraction: 0x80000000, rtpTimestamp: 160, packetCount: 5, octetCount: 800, reports: [block] },
  { kind: 'sdes', chunks: [{ ssrc: 0xfffffffe, cname: 'abc' }, { ssrc: 3, cname: 'defgh' }] },
  { kind: 'bye', ssrcs: [0xfffffffe], reason: 'over' },
];

t.test('RTCP by bytes, both ways', async (t) => {
  const bytes = hex(`81c8000c fffffffe f0000000 80000000 000000a0 00000005 00000320 00000001 40fffffe 00011170 00000009 ffff0000 00010000
    82ca0006 fffffffe 0103 616263 000000 00000003 0105 6465666768 00 81cb0003 fffffffe 04 6f766572 000000`.replaceAll('\n', ''));
  t.same(buildRtcp(compound), bytes);
  t.same(parseRtcp(bytes), compound);
  const rr: RtcpPacket[] = [{ kind: 'rr', ssrc: 4, reports: [] }, { kind: 'other', type: 204 }];
  t.same(parseRtcp(buildRtcp(rr)), rr);
  const padded = hex('80c90001 00000004 a0cb0001 00000004'.replace('a0cb0001', 'a1cb0002') + '00000004');
  t.same(parseRtcp(padded), [{ kind: 'rr', ssrc: 4, reports: [] }, { kind: 'bye', ssrcs: [4], reason: '' }]);
});

t.test('RTCP that breaks RFC 3550 A.2 is refused, and no cut or flipped byte crashes', async (t) => {
  const good = buildRtcp(compound);
  for (const text of ['', '80c90001', '80c80001 00000004', '81c90001 00000004', '80ca0001 00000004', '40c90001 00000004', 'a0c90002 00000004 00000004', '80c90001 00000004 00']) {
    t.equal(parseRtcp(hex(text)), undefined, text || 'empty');
  }
  for (let end = 0; end < good.length; end++) {
    const cut = parseRtcp(good.subarray(0, end));
    if (end !== 52 && end !== 80) t.equal(cut, undefined, `cut at ${end}`);
  }
  const random = seeded(3);
  for (let i = 0; i < 20_000; i++) {
    const bytes = good.slice();
    for (let n = 0; n < 3; n++) bytes[Math.floor(random() * bytes.length)] = random() * 256;
    parseRtcp(bytes);
  }
});

/** A telephone-event payload. */
const event = (code: number, duration: number, end = false): Uint8Array => Uint8Array.of(code, (end ? 0x80 : 0) | 10, duration >> 8, duration);

t.test('DTMF: each key once, whatever is lost or repeated', async (t) => {
  const keys: [string, number][] = [];
  const dtmf = new DtmfReceiver((digit, ms) => void keys.push([digit, ms]));
  const send = (timestamp: number, payload: Uint8Array, at: number): void => dtmf.packet(timestamp, payload, 0, payload.length, at);
  for (let i = 1; i <= 5; i++) send(1000, event(1, i * 160), i * 20);
  for (let i = 0; i < 3; i++) send(1000, event(1, 800, true), 100 + i);
  send(1000, event(1, 480), 110);
  t.same(keys, [['1', 100]]);
  // The same key again right after, then another whose start was lost, then one whose three ends were.
  send(2000, event(1, 160), 200);
  send(2000, event(1, 400, true), 220);
  send(3000, event(11, 640, true), 300);
  send(4000, event(10, 320), 400);
  dtmf.tick(500);
  t.equal(keys.length, 3);
  dtmf.tick(560);
  t.same(keys.slice(1), [['1', 50], ['#', 80], ['*', 40]]);
  // An end lost, but the next key tells.
  send(6000, event(2, 320), 600);
  send(7000, event(15, 160, true), 650);
  t.same(keys.slice(4), [['2', 40], ['D', 20]]);
  send(6000, event(2, 400, true), 660);
  for (const bad of [new Uint8Array(0), Uint8Array.of(1, 0x80, 1), event(16, 800, true), event(255, 1, true)]) send(9000, bad, 700);
  t.equal(keys.length, 6, 'old, short and unknown ones are ignored');
  // 10 s hold: one key over two segments (RFC 4733 2.5.1.3).
  send(20_000, event(3, 0xffff), 800);
  send(20_000 + 0xffff, event(3, 14_465, true), 900);
  t.same(keys.slice(6), [['3', 10_000]]);
  dtmf.reset();
  send(5, event(4, 160, true), 950);
  t.same(keys.at(-1), ['4', 20], 'a new stream starts anywhere');
});

t.test('reception: loss, wrap, duplicates, restart (RFC 3550 A.1, A.3)', async (t) => {
  const reception = new Reception();
  for (let i = 0; i < 1000; i++) if (i % 10 !== 3) reception.packet(1, (65_000 + i) & 0xffff);
  t.equal(reception.lost, 100);
  t.equal(reception.lostPct, 10);
  t.same(reception.report(), { fractionLost: 25, cumulativeLost: 100, highestSequence: 65_536 + 463 });
  t.equal(reception.report().fractionLost, 0, 'only what is new');
  reception.packet(1, 463);
  t.equal(reception.lost, 99, 'a duplicate counts as RFC 3550 says');
  reception.packet(1, 40_000);
  reception.packet(1, 40_001);
  reception.packet(2, 7);
  t.equal(reception.lost, 99, 'a restart and a new source are not loss');
  t.equal(reception.packets, 904);
});

t.test('the E-model: a clean line is toll quality, loss and delay take their share', async (t) => {
  const clean = meanOpinionScore({ lostPct: 0, jitterMs: 0, rttMs: 0 });
  t.ok(clean > 4.35 && clean < 4.45, `${clean}`);
  const lossy = meanOpinionScore({ lostPct: 5, jitterMs: 5, rttMs: 60 });
  t.ok(lossy > 3.4 && lossy < 4.0, `${lossy}`);
  t.equal(meanOpinionScore({ lostPct: 100, jitterMs: 500, rttMs: 2000 }), 1);
});
