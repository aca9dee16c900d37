import t from 'tap';
import { DtmfReceiver } from '../../media/rtp/dtmf.ts';
import { emptyRtpPacket, parseRtp } from '../../media/rtp/packet.ts';
import { RtpSender, type SendFormat } from '../../media/rtp/rtp-sender.ts';

const FORMAT: SendFormat = { codec: 'PCMU', payloadType: 0, telephoneEventPayloadType: 101, ptimeMs: 20 };
const sound = new Int16Array(320);

interface Sent { payloadType: number; marker: boolean; sequence: number; timestamp: number; payload: Uint8Array }

/** A sender on its own clock, and what it sent. */
function rig(format: Partial<SendFormat> = {}): { sender: RtpSender; sent: Sent[]; run: (ms: number) => void } {
  const sent: Sent[] = [];
  const sender = new RtpSender({ ...FORMAT, ...format }, (packet) => {
    const { payloadType, marker, sequence, timestamp, payloadStart, payloadEnd } = parseRtp(packet, emptyRtpPacket())!;
    sent.push({ payloadType, marker, sequence, timestamp, payload: packet.slice(payloadStart, payloadEnd) });
  });
  let nowMs = 0;
  const run = (ms: number): void => {
    for (const end = nowMs + ms; nowMs < end; nowMs += 20) {
      sender.encode(sound, nowMs);
      sender.flush();
    }
  };
  return { sender, sent, run };
}

/** The keys that a receiver understands. */
function received(sent: Sent[]): { digit: string; durationMs: number }[] {
  const keys: { digit: string; durationMs: number }[] = [];
  const receiver = new DtmfReceiver((digit, durationMs) => keys.push({ digit, durationMs }));
  for (const [index, { payloadType, timestamp, payload }] of sent.entries()) {
    if (payloadType === 101) receiver.packet(timestamp, payload, 0, payload.length, index * 20);
    receiver.tick(index * 20);
  }
  return keys;
}

t.test('a receiver understands every key, once', (t) => {
  const { sender, sent, run } = rig();
  run(100);
  t.equal(sender.press('0123456789*#ABCD'), true);
  run(4000);
  t.same(received(sent), [...'0123456789*#ABCD'].map((digit) => ({ digit, durationMs: 100 })));
  t.end();
});

t.test('one stream: sequence without a gap, timestamps on the same clock, one packet per 20 ms', (t) => {
  const { sender, sent, run } = rig();
  run(100);
  sender.press('5');
  run(300);
  t.equal(sent.length, 20);
  const [first] = sent;
  t.same(sent.map(({ sequence }) => (sequence - first!.sequence) & 0xffff), sent.map((_, index) => index));
  const keys = sent.filter(({ payloadType }) => payloadType === 101);
  t.equal(keys.length, 7, '100 ms, and the end twice more');
  t.equal(new Set(keys.map(({ timestamp }) => timestamp)).size, 1, 'the key has the timestamp of its beginning');
  t.same(keys.map(({ marker }) => marker), [true, ...Array<boolean>(6).fill(false)]);
  t.same(keys.map(({ payload }) => [payload[1]! >> 7, (payload[2]! << 8) | payload[3]!]), [[0, 160], [0, 320], [0, 480], [0, 640], [1, 800], [1, 800], [1, 800]]);
  const after = sent[12]!;
  t.match(after, { payloadType: 0, marker: true, timestamp: (first!.timestamp + 12 * 160) >>> 0 }, 'sound goes on where time is');
  t.end();
});

t.test('keys that follow each other are apart, and w waits half a second', (t) => {
  const { sender, sent, run } = rig();
  sender.press('1w1');
  run(2000);
  const starts = sent.flatMap(({ payloadType, marker }, index) => (payloadType === 101 && marker ? [index * 20] : []));
  t.equal(starts.length, 2);
  const betweenMs = starts[1]! - starts[0]! - 140;
  t.ok(betweenMs >= 500 && betweenMs <= 600, `${betweenMs} ms of sound between`);
  t.end();
});

t.test('longer packets: what of one is filled gives way to the key', (t) => {
  const { sender, sent, run } = rig({ ptimeMs: 40 });
  run(20);
  sender.press('9');
  run(400);
  t.same(received(sent), [{ digit: '9', durationMs: 100 }]);
  t.same(sent.map(({ sequence }) => (sequence - sent[0]!.sequence) & 0xffff), sent.map((_, index) => index));
  t.end();
});

t.test('keys wait while the peer holds us', (t) => {
  const { sender, sent, run } = rig();
  sender.setPaused(true);
  sender.press('7');
  run(500);
  t.same(sent, []);
  sender.setPaused(false);
  run(500);
  t.same(received(sent).map(({ digit }) => digit), ['7']);
  t.end();
});

t.test('a peer without telephone-event takes none; more than 64 do not wait', (t) => {
  const { sender } = rig();
  t.equal(sender.press(''), true, 'it would');
  t.equal(sender.press('1'.repeat(64)), true);
  t.equal(sender.press('2'), false);
  const { telephoneEventPayloadType: _, ...deaf } = FORMAT;
  sender.configure(deaf);
  t.equal(sender.press(''), undefined);
  t.equal(sender.press('1'), undefined);
  t.end();
});
