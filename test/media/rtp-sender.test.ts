import t from 'tap';
import { emptyRtpPacket, parseRtp } from '../../media/rtp/packet.ts';
import { RtpSender } from '../../media/rtp/rtp-sender.ts';

const frame = new Int16Array(320);

/** A sender with the sequence numbers it sent. */
function sender(ptimeMs: number): { sender: RtpSender; sent: number[]; lengths: number[] } {
  const sent: number[] = [];
  const lengths: number[] = [];
  const made = new RtpSender({ codec: 'PCMU', payloadType: 0, ptimeMs }, (packet) => {
    const parsed = parseRtp(packet, emptyRtpPacket());
    sent.push(parsed?.sequence ?? -1);
    lengths.push(packet.length);
  });
  return { sender: made, sent, lengths };
}

t.test('encoded frames leave when flushed, in order, each once', async (t) => {
  const { sender: one, sent, lengths } = sender(10);
  one.encode(frame, 0);
  t.same(sent, []);
  one.flush();
  one.flush();
  t.equal(sent.length, 2);
  t.equal(sent[1], (sent[0]! + 1) & 0xffff);
  t.same(lengths, [92, 92]);
});

t.test('whoever never flushes still sends everything in order, through every buffer', async (t) => {
  const { sender: one, sent } = sender(20);
  for (let i = 0; i < 40; i++) one.encode(frame, 20 * i);
  one.flush();
  t.same(sent, Array.from({ length: 40 }, (_, i) => (sent[0]! + i) & 0xffff));
});

t.test('what is ready leaves before another format begins', async (t) => {
  const { sender: one, sent, lengths } = sender(20);
  one.encode(frame, 0);
  one.configure({ codec: 'PCMA', payloadType: 8, ptimeMs: 40 });
  t.equal(sent.length, 1);
  one.encode(frame, 20);
  one.flush();
  t.equal(sent.length, 1, 'half a packet waits');
  one.encode(frame, 40);
  one.flush();
  t.same(lengths, [172, 332]);
});
