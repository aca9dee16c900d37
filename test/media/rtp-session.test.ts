import type { Socket } from 'node:dgram';
import t from 'tap';
import { decodePcmu } from '../../media/codec/g711.ts';
import { PortPool } from '../../media/rtp/port-pool.ts';
import { buildRtcp, type RtcpPacket } from '../../media/rtp/rtcp.ts';
import { RtpSession, type RtpSessionOptions } from '../../media/rtp/rtp-session.ts';
import { HOST, open, Phone, send, settle } from './phone.ts';
import { seeded } from './simulated-network.ts';

const ports = new PortPool({ from: 34_000, to: 34_999 });
t.afterEach(() => Promise.all(open.splice(0).map((one) => one.close())));

/** A session on a clock that only moves when told to. */
class Harness {
  now = 10_000;
  keys: [string, number][] = [];
  arrivals = 0;
  firsts = 0;
  session!: RtpSession;

  static async open(remote: { address: string; port: number }, media: Partial<RtpSessionOptions> = {}): Promise<Harness> {
    const harness = new Harness();
    harness.session = await RtpSession.open({
      host: HOST, ports, codec: 'PCMU', payloadType: 0, telephoneEventPayloadType: 101, ptimeMs: 20, remote, now: () => harness.now,
      onDtmf: (digit, ms) => void harness.keys.push([digit, ms]), onFrame: () => void harness.arrivals++, onFirstPacket: () => void harness.firsts++, ...media,
    });
    open.push(harness.session);
    return harness;
  }

  /** Loudness of every frame readable now. */
  heard(): number[] {
    const peaks: number[] = [];
    for (let frame = this.session.read(this.now); frame; frame = this.session.read(this.now)) peaks.push(Math.max(...frame.map(Math.abs)));
    return peaks;
  }
}

const voice = (frames: number, hz = 500): Int16Array[] =>
  Array.from({ length: frames }, (_, f) => Int16Array.from({ length: 320 }, (_, i) => 10_000 * Math.sin((2 * Math.PI * hz * (f * 320 + i)) / 16_000)));

t.test('sound both ways: heard on arrival at 16 kHz, sent as one continuous marked stream', async (t) => {
  const phone = await Phone.open();
  const call = await Harness.open(phone.remote);
  const samples: number[] = [];
  for (let i = 0; i < 20; i++) {
    call.now += 20;
    await phone.speak(call.session);
    const frame = call.session.read(call.now)!;
    t.equal(frame.length, 320);
    samples.push(...frame);
    t.equal(call.session.read(call.now), undefined);
  }
  t.same([call.arrivals, call.firsts], [20, 1]);
  t.equal(call.session.lastPacketAt, call.now);
  t.ok(Math.abs(Math.max(...samples.slice(3200)) - 10_000) < 400);
  const crossings = samples.slice(3200).filter((s, i, all) => i > 0 && s > 0 && all[i - 1]! <= 0).length;
  t.ok(Math.abs(crossings - 50 * 2) <= 1, `500 Hz is heard as ${crossings * 5} Hz`);
  for (const frame of voice(20)) {
    call.now += 20;
    call.session.write(frame);
  }
  await settle();
  const packets = phone.received.map(({ packet }) => packet);
  t.equal(packets.length, 20);
  packets.forEach((packet, i) => {
    t.match(packet, { payloadType: 0, marker: i === 0, sequence: (packets[0]!.sequence + i) & 0xffff, timestamp: (packets[0]!.timestamp + 160 * i) >>> 0, ssrc: packets[0]!.ssrc });
  });
  const pcm = new Int16Array(160);
  decodePcmu(phone.received[10]!.payload, 0, 160, pcm);
  t.ok(Math.abs(Math.max(...pcm) - 10_000) < 500);
  t.match(call.session.stats(), { packetsReceived: 20, packetsSent: 20, packetsLost: 0, lostPct: 0, concealedMs: 0, latePackets: 0, strangerPackets: 0 });
  t.ok(call.session.stats().mos > 4.3);
});

t.test('packet times of 10, 40 and 60 ms are sent; what cannot be is refused', async (t) => {
  for (const [ptimeMs, packets, bytes] of [[10, 24, 80], [40, 6, 320], [60, 4, 480]] as const) {
    const phone = await Phone.open();
    const call = await Harness.open(phone.remote, { ptimeMs, codec: 'PCMA', payloadType: 8 });
    for (const frame of voice(12)) call.session.write(frame);
    await settle();
    t.same(phone.received.map(({ payload }) => payload.length), Array<number>(packets).fill(bytes));
    t.ok(phone.received.every(({ packet }, i) => packet.timestamp === (phone.received[0]!.packet.timestamp + i * bytes) >>> 0));
  }
  const free = ports.free;
  for (const media of [{ ptimeMs: 0 }, { ptimeMs: 25 }, { ptimeMs: 400 }, { remote: { address: 'example.com', port: 4000 } }, { remote: { address: HOST, port: 70_000 } }]) {
    await t.rejects(Harness.open({ address: HOST, port: 4000 }, media), { message: /cannot be sent/ });
  }
  t.equal(ports.free, free, 'no port is lost');
});

t.test('a lost packet is concealed and counted', async (t) => {
  const phone = await Phone.open();
  const call = await Harness.open(phone.remote);
  const peaks: number[] = [];
  for (let i = 0; i < 60; i++) {
    call.now += 20;
    if (i === 40) {
      phone.sequence++;
      phone.timestamp += 160;
    } else {
      await phone.speak(call.session);
    }
    peaks.push(...call.heard());
    call.now += 12;
    peaks.push(...call.heard());
    call.now -= 12;
  }
  t.equal(peaks.length, 60);
  t.ok(peaks[40]! > 3000, 'the voice goes on');
  t.match(call.session.stats(), { packetsLost: 1, concealedMs: 20 });
});

t.test('strangers are never heard, never sent to, and are counted; five in sequence latch only while the lock is open', async (t) => {
  const phone = await Phone.open();
  const stranger = await Phone.open();
  stranger.ssrc = 0x666;
  const call = await Harness.open(phone.remote);
  await stranger.speak(call.session, { packets: 4 });
  call.now += 20;
  t.same(call.heard().filter((peak) => peak > 0), []);
  t.equal(call.session.stats().strangerPackets, 4);
  t.equal(call.session.lastPacketAt, undefined);
  await phone.speak(call.session);
  t.equal(call.firsts, 1);
  await stranger.speak(call.session, { packets: 200 });
  for (const frame of voice(5)) call.session.write(frame);
  await settle();
  t.equal(stranger.received.length, 0);
  t.equal(phone.received.length, 5);
  t.equal(call.session.stats().packetsReceived, 1);
});

t.test('a caller behind NAT is latched after five packets and then locked', async (t) => {
  const nat = await Phone.open();
  const call = await Harness.open({ address: '127.0.0.2', port: 9 });
  await nat.speak(call.session, { packets: 4 });
  t.equal(call.firsts, 0);
  nat.sequence += 3;
  await nat.speak(call.session, { packets: 4 });
  t.equal(call.firsts, 0, 'a gap starts the count afresh');
  await nat.speak(call.session, { packets: 1 });
  t.equal(call.firsts, 1);
  call.session.write(voice(1)[0]!);
  await settle();
  t.equal(nat.received.length, 1, 'answered where it speaks from');
  call.now += 2100;
  await nat.speak(call.session);
  const late = await Phone.open();
  await late.speak(call.session, { packets: 20 });
  t.equal(call.session.stats().packetsReceived, 2);
});

t.test('after two seconds nobody latches; a re-INVITE to another address opens the lock again', async (t) => {
  const signalled = await Phone.open();
  const other = await Phone.open();
  const call = await Harness.open(signalled.remote);
  await other.speak(call.session);
  call.now += 2001;
  await other.speak(call.session, { packets: 50 });
  t.equal(call.firsts, 0);
  await signalled.speak(call.session, { packets: 2 });
  t.equal(call.session.stats().packetsReceived, 2, 'the signalled source is always welcome');
  await settle();
  call.session.setRemote(signalled.remote);
  await other.speak(call.session, { packets: 10 });
  t.equal(call.session.stats().packetsReceived, 2, 'the same address again changes nothing');
  const moved = await Phone.open();
  call.session.setMedia({ codec: 'PCMA', payloadType: 8, ptimeMs: 20, remote: moved.remote });
  moved.ssrc = 0x77;
  moved.payloadType = 8;
  await moved.speak(call.session, { packets: 3 });
  t.equal(call.session.stats().packetsReceived, 5);
  await signalled.speak(call.session, { packets: 10 });
  t.equal(call.session.stats().packetsReceived, 5);
  const before = signalled.received.length;
  call.session.write(voice(1)[0]!);
  await settle();
  t.same([moved.received.length, moved.received[0]?.packet.payloadType, signalled.received.length], [1, 8, before]);
});

t.test('held: nothing is sent; resumed: marked, and timestamps went on', async (t) => {
  const phone = await Phone.open();
  const call = await Harness.open(phone.remote);
  const media = { codec: 'PCMU', payloadType: 0, ptimeMs: 20, remote: phone.remote } as const;
  const write = (frames: number): void => {
    for (const frame of voice(frames)) {
      call.now += 20;
      call.session.write(frame);
    }
  };
  write(3);
  call.session.setMedia({ ...media, sending: false });
  write(10);
  call.session.setMedia(media);
  write(2);
  call.session.setRemote({ address: '0.0.0.0', port: 4000 });
  write(5);
  call.session.setRemote(phone.remote);
  write(1);
  call.now += 1000;
  write(1);
  await settle();
  const first = phone.received[0]!.packet;
  t.same(phone.received.map(({ packet }) => [packet.sequence - first.sequence & 0xffff, (packet.timestamp - first.timestamp >>> 0) / 160, packet.marker]),
    [[0, 0, true], [1, 1, false], [2, 2, false], [3, 13, true], [4, 14, false], [5, 20, true], [6, 71, true]]);
});

t.test('key presses are reported once', async (t) => {
  const phone = await Phone.open();
  const call = await Harness.open(phone.remote);
  await phone.speak(call.session, { packets: 5 });
  const at = phone.timestamp;
  for (let i = 1; i <= 4; i++) await phone.speak(call.session, { payload: Uint8Array.of(5, 10, 0, i * 40), payloadType: 101, timestamp: at });
  for (let i = 0; i < 3; i++) await phone.speak(call.session, { payload: Uint8Array.of(5, 0x8a, 3, 0x20), payloadType: 101, timestamp: at });
  t.same(call.keys, [['5', 100]]);
  await phone.speak(call.session, { payload: Uint8Array.of(6, 10, 0, 160), payloadType: 101, timestamp: at + 8000 });
  call.now += 200;
  call.heard();
  t.same(call.keys, [['5', 100], ['6', 20]]);
  t.equal(call.session.stats().packetsLost, 0);
});

t.test('reports: SR and SDES about every five seconds, RTT from the peer\'s, BYE at the end', async (t) => {
  const phone = await Phone.open();
  const call = await Harness.open(phone.remote);
  await phone.speak(call.session, { packets: 3 });
  phone.sequence++;
  await phone.speak(call.session, { packets: 1 });
  await send(phone.rtcp, buildRtcp([{ kind: 'sr', ssrc: phone.ssrc, ntpSeconds: 0x12345678, ntpFraction: 0x9abcdef0, rtpTimestamp: 0, packetCount: 4, octetCount: 640, reports: [] }]), call.session.port + 1);
  await settle();
  for (let i = 0; i < 3000; i++) {
    call.now += 20;
    if (i < 1500) call.session.write(voice(1)[0]!);
    call.heard();
  }
  await settle();
  t.ok(phone.reports.length >= 8 && phone.reports.length <= 24, `${phone.reports.length} reports in a minute`);
  const [sr, sdes] = phone.reports[0]!;
  t.match(sr, { kind: 'sr', reports: [{ ssrc: phone.ssrc, cumulativeLost: 1, fractionLost: 51, highestSequence: 104, lastSr: 0x56789abc }] });
  t.match(sdes, { kind: 'sdes', chunks: [{ cname: /^[\w-]{16}$/ }] });
  t.equal(phone.reports.at(-1)![0]!.kind, 'rr', 'who sends nothing reports as a receiver');
  const last = phone.reports.findLast(([first]) => first!.kind === 'sr')![0] as Extract<RtcpPacket, { kind: 'sr' }>;
  const ageMs = ((Date.now() / 1000 + 2_208_988_800 - last.ntpSeconds) * 1000) | 0;
  t.ok(Math.abs(ageMs) < 120_000, 'NTP time is wall time');
  // The peer answers at once with a delay of half a second that it says it took.
  const wallNow = call.now;
  const second = await Harness.open(phone.remote);
  t.equal(second.session.stats().rttMs, undefined);
  call.session.write(voice(1)[0]!);
  phone.reports.length = 0;
  while (phone.reports.length === 0) {
    call.now += 20;
    call.heard();
    await settle();
  }
  const report = phone.reports[0]![0] as Extract<RtcpPacket, { kind: 'sr' }>;
  call.now += 580;
  const lastSr = ((report.ntpSeconds << 16) | (report.ntpFraction >>> 16)) >>> 0;
  await send(phone.rtcp, buildRtcp([{ kind: 'rr', ssrc: phone.ssrc, reports: [{ ssrc: report.ssrc, fractionLost: 0, cumulativeLost: 0, highestSequence: 0, jitter: 0, lastSr, delaySinceLastSr: 32_768 }] }]), call.session.port + 1);
  await settle();
  t.ok(Math.abs(call.session.stats().rttMs! - 80) < 1, `RTT ${call.session.stats().rttMs} ms`);
  t.ok(call.now > wallNow);
  await call.session.close();
  await settle();
  t.same(phone.reports.at(-1)!.map(({ kind }) => kind).at(-1), 'bye');
  t.equal(call.session.read(call.now + 1000), undefined);
  call.session.write(voice(1)[0]!);
});

t.test('a peer with our SSRC: we take another, once; an echo is heard all the same', async (t) => {
  const phone = await Phone.open();
  const call = await Harness.open(phone.remote);
  call.session.write(voice(1)[0]!);
  await settle();
  phone.ssrc = phone.received[0]!.packet.ssrc;
  await phone.speak(call.session, { packets: 2 });
  call.session.write(voice(1)[0]!);
  await settle();
  const changed = phone.received[1]!.packet;
  t.not(changed.ssrc, phone.ssrc);
  t.equal(changed.sequence, (phone.received[0]!.packet.sequence + 1) & 0xffff);
  t.same(phone.reports[0]!.at(-1), { kind: 'bye', ssrcs: [phone.ssrc], reason: '' });
  phone.ssrc = changed.ssrc;
  const echoed: number[] = [];
  for (let i = 0; i < 8; i++) {
    call.now += 20;
    await phone.speak(call.session);
    echoed.push(...call.heard());
  }
  call.session.write(voice(1)[0]!);
  await settle();
  t.equal(phone.received[2]!.packet.ssrc, changed.ssrc, 'not chased');
  t.ok(echoed.filter((peak) => peak > 3000).length >= 7);
});

t.test('10,000 random datagrams to each port: no crash, nothing heard, nothing answered', async (t) => {
  const phone = await Phone.open();
  const attacker = await Phone.open();
  let answers = 0;
  attacker.rtp.on('message', () => answers++);
  attacker.rtcp.on('message', () => answers++);
  const call = await Harness.open(phone.remote);
  const random = seeded(42);
  const datagram = (): Uint8Array => {
    const bytes = Uint8Array.from({ length: Math.floor(random() * 300) }, () => random() * 256);
    // Half of them get as far as a valid first byte and a likely type.
    if (bytes.length > 1 && random() < 0.5) bytes.set([0x80, [0, 101, 200, 201][Math.floor(random() * 4)]!]);
    return bytes;
  };
  const spray = async (socket: Socket): Promise<void> => {
    for (let i = 0; i < 10_000; i++) {
      void send(socket, datagram(), call.session.port);
      void send(socket, datagram(), call.session.port + 1);
      if (i % 20 === 0) await settle();
    }
    for (let seen = -1; seen !== call.session.stats().strangerPackets; ) {
      seen = call.session.stats().strangerPackets;
      for (let i = 0; i < 5; i++) await settle();
    }
  };
  await spray(attacker.rtp);
  call.now += 20;
  t.ok(call.heard().every((peak) => peak === 0));
  const { strangerPackets, packetsReceived } = call.session.stats();
  t.equal(packetsReceived, 0);
  t.ok(strangerPackets > 19_000, `${strangerPackets} counted`);
  await phone.speak(call.session, { packets: 3 });
  t.ok(call.heard().filter((peak) => peak > 3000).length >= 2, 'the caller is heard as if nothing had been');
  call.session.write(voice(1)[0]!);
  await settle();
  t.equal(phone.received.length, 1);
  t.equal(answers, 0);
  // The peer itself goes mad: still no crash, and the call can be closed.
  await spray(phone.rtp);
  call.now += 20;
  call.heard();
});

t.test('a peer whose port is closed: ICMP errors end nothing', async (t) => {
  const phone = await Phone.open();
  const call = await Harness.open(phone.remote);
  await phone.speak(call.session, { packets: 2 });
  await settle();
  await phone.close();
  for (const frame of voice(20)) {
    call.session.write(frame);
    await settle();
  }
  t.equal(call.session.stats().packetsSent, 20);
});
