import t from 'tap';
import { decodeG711, encodeG711 } from '../../../media/codec/g711.ts';
import type { AudioFormat } from '../../../src/calls/worker-protocol.ts';
import { BrowserServer } from '../../../src/session/browser/browser-server.ts';
import { expectSession, tone, toneToRestDb, type ExpectedSession } from '../../support/browser-session.ts';
import { RealtimeClient } from '../../support/realtime-client.ts';

const server = await BrowserServer.listen({ host: '127.0.0.1', port: 0 });

const FORMATS: AudioFormat[] = [
  { encoding: 'pcm16', sampleRate: 8000 },
  { encoding: 'pcm16', sampleRate: 16_000 },
  { encoding: 'pcm16', sampleRate: 24_000 },
  { encoding: 'pcm16', sampleRate: 48_000 },
  { encoding: 'pcmu', sampleRate: 8000 },
  { encoding: 'pcma', sampleRate: 8000 },
];
const TONE_HZ = 700;

for (const format of FORMATS) {
  const name = `${format.encoding} at ${format.sampleRate} Hz`;
  /** G.711 has 36 to 40 dB of signal to noise; linear PCM is limited by the resampler alone. */
  const faithfulDb = format.encoding === 'pcm16' ? 65 : 34;

  t.test(`hears a tone in ${name}, whatever the length of its messages`, async (t) => {
    for (const messageMs of [10, 20, 37, 60]) {
      const { session, client } = await joined(format);
      const sound = tone(TONE_HZ, 740, format.sampleRate);
      const bytes = encode(sound, format);
      const step = Math.round((bytes.length / 740) * messageMs);
      for (let at = 0; at < bytes.length; at += step) {
        if (bytes.length - at >= bytes.length / 74) client.socket.send(bytes.subarray(at, at + step));
      }
      await settled(client);
      session.hear();
      const heard = joinFrames(session.frames).subarray(1600, 9600);
      t.equal(heard.length, 8000, `${messageMs} ms`);
      t.ok(toneToRestDb(heard, TONE_HZ) > faithfulDb, `${messageMs} ms: ${toneToRestDb(heard, TONE_HZ).toFixed(1)} dB`);
      t.match(levelOf(heard), 11_585, 'as loud as it was');
      await end(session, client);
    }
  });

  t.test(`speaks a tone in ${name}, 20 ms a message`, async (t) => {
    const { session, client } = await joined(format);
    const sound = tone(TONE_HZ, 600);
    for (let at = 0; at < sound.length; at += 320) session.leg.write(sound.subarray(at, at + 320));
    await settled(client);
    const messageBytes = (format.sampleRate / 50) * (format.encoding === 'pcm16' ? 2 : 1);
    t.ok(client.audio.length === 30 && client.audio.every(({ bytes }) => bytes.length === messageBytes), `30 messages of ${messageBytes} bytes`);
    const heard = decode(Buffer.concat(client.audio.map(({ bytes }) => bytes)), format).subarray(format.sampleRate / 10);
    t.ok(toneToRestDb(heard, TONE_HZ, format.sampleRate) > faithfulDb, `${toneToRestDb(heard, TONE_HZ, format.sampleRate).toFixed(1)} dB`);
    t.match(levelOf(heard), 11_585);
    await end(session, client);
  });
}

t.test('control and sound keep their order; clear reaches the browser between them', async (t) => {
  const { session, client } = await joined(FORMATS[1]!);
  const order: string[] = [];
  client.socket.on('message', (data, isBinary) => order.push(isBinary ? 'audio' : (JSON.parse((data as Buffer).toString()) as { type: string }).type));
  session.leg.sendControl({ type: 'agent.audio.start', item_id: 'i1' });
  session.leg.write(tone(400, 20));
  session.leg.clear();
  session.leg.write(tone(400, 20));
  session.leg.sendControl({ type: 'agent.audio.end', item_id: 'i1' });
  await settled(client);
  t.strictSame(order, ['agent.audio.start', 'audio', 'audio.clear', 'audio', 'agent.audio.end', 'pong']);
  await end(session, client);
});

t.test('a bad length is an error message, and the session goes on', async (t) => {
  const { session, client } = await joined(FORMATS[1]!);
  for (const length of [0, 1, 318, 641, 1922, 65_536]) {
    client.socket.send(Buffer.alloc(length));
    t.match(await client.next('error'), { code: 'invalid_audio', fatal: false, message: new RegExp(`^${length} bytes of audio; pcm16 at 16000 Hz`) }, `${length} bytes`);
  }
  client.socket.send(Buffer.from(tone(400, 20).buffer));
  await settled(client);
  t.equal(session.frames.length, 1);
  await end(session, client);
});

t.test('muted, nothing that is still sent is heard', async (t) => {
  const { session, client } = await joined(FORMATS[1]!);
  const frame = Buffer.from(tone(400, 20).buffer);
  client.send({ type: 'mute', muted: true });
  for (let count = 0; count < 10; count++) client.socket.send(frame);
  await settled(client);
  session.hear();
  t.notOk(session.frames.some((heard) => heard.some((sample) => sample !== 0)));
  client.send({ type: 'mute', muted: false });
  client.socket.send(frame);
  await settled(client);
  session.hear();
  t.ok(session.frames.at(-1)?.some((sample) => sample !== 0));
  t.match(session.control, [{ type: 'mute', muted: true }, { type: 'mute', muted: false }]);
  await end(session, client);
});

t.test('a client that does not read is given no more than two seconds, and is cut if it stays stuck', async (t) => {
  let now = 0;
  const slow = await BrowserServer.listen({ host: '127.0.0.1', port: 0, now: () => now, limits: { resumeWithinMs: 20, pingEveryMs: 60_000 } });
  const session = expectSession(slow, { audio: { input: FORMATS[3]!, output: FORMATS[3]! } });
  const client = await RealtimeClient.join({ url: session.url, show: { secret: session.secret } });
  await client.next('session.ready');
  client.socket.pause();
  const frame = tone(400, 20);
  const ended = new Promise((resolve) => session.leg.signal.addEventListener('abort', resolve));
  for (let count = 0; session.leg.figures().unsentFrames === 0; count++) {
    session.leg.write(frame);
    if (count % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    if (count > 20_000) throw new Error('a stuck client takes sound without end');
  }
  t.equal(session.leg.waiting, false, 'frames are dropped first');
  now += 10_001;
  session.leg.write(frame);
  await ended;
  t.strictSame(session.events, ['joined', 'lost']);
  t.equal(session.leg.signal.reason, 'caller_hangup');
  client.socket.terminate();
  await slow.close();
});

t.test('closing the server closes all', () => server.close());

async function joined(format: AudioFormat): Promise<{ session: ExpectedSession; client: RealtimeClient }> {
  const session = expectSession(server, { audio: { input: format, output: format } });
  const client = await RealtimeClient.join({ url: session.url, show: { secret: session.secret } });
  await client.next('session.ready');
  return { session, client };
}

/** Everything sent before has been taken, and everything said has come. */
async function settled(client: RealtimeClient): Promise<void> {
  client.send({ type: 'ping' });
  await client.next('pong');
}

async function end(session: ExpectedSession, client: RealtimeClient): Promise<void> {
  session.leg.hangUp('agent_hangup');
  await client.closed;
}

function encode(samples: Int16Array, { encoding }: AudioFormat): Buffer {
  if (encoding === 'pcm16') return Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  const bytes = Buffer.alloc(samples.length);
  encodeG711(encoding === 'pcmu' ? 'PCMU' : 'PCMA', samples, 0, samples.length, bytes);
  return bytes;
}

function decode(bytes: Buffer, { encoding }: AudioFormat): Int16Array {
  if (encoding === 'pcm16') return new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const samples = new Int16Array(bytes.length);
  decodeG711(encoding === 'pcmu' ? 'PCMU' : 'PCMA', bytes, 0, bytes.length, samples);
  return samples;
}

function joinFrames(frames: Int16Array[]): Int16Array {
  return Int16Array.from(frames.flatMap((frame) => [...frame]));
}

/** Root mean square, rounded to what 2 % of a half-scale tone's would hide. */
function levelOf(samples: Int16Array): number {
  const rms = Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
  return Math.abs(rms - 11_585) < 232 ? 11_585 : rms;
}
