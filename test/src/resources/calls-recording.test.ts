import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { readWavInfo, wavHeader } from '../../../media/wav.ts';
import { buildApp } from '../../../src/app.ts';
import { appendLog, endCall } from '../../../src/resources/calls/actions.ts';
import { RecordingEncoder } from '../../../src/resources/calls/recording-encoder.ts';
import { startApiHarness, type ApiHarness } from '../../support/api-harness.ts';
import { AGENT } from '../../support/examples/agents.ts';
import { until } from '../../support/until.ts';

const RATE = 16_000;
const run = promisify(execFile);

/** A second of two tones: the caller's on the left, the agent's on the right, loud enough that both together clip. */
function stereo(seconds: number): { wav: Buffer; left: Int16Array; right: Int16Array; mix: Int16Array } {
  const count = RATE * seconds;
  const tone = (hz: number) => Int16Array.from({ length: count }, (_, n) => Math.round(20_000 * Math.sin((2 * Math.PI * hz * n) / RATE)));
  const [left, right] = [tone(440), tone(1000)];
  const data = new Int16Array(count * 2);
  for (let n = 0; n < count; n++) data.set([left[n] ?? 0, right[n] ?? 0], n * 2);
  const mix = left.map((sample, n) => Math.max(-32_768, Math.min(32_767, sample + (right[n] ?? 0))));
  return { wav: Buffer.concat([wavHeader({ sampleRate: RATE, channels: 2, dataBytes: data.byteLength }), Buffer.from(data.buffer)]), left, right, mix };
}

const monoWav = (samples: Int16Array): Buffer => Buffer.concat([wavHeader({ sampleRate: RATE, channels: 1, dataBytes: samples.byteLength }), Buffer.from(samples.buffer)]);

/** A call that has ended, with this recording. */
async function recorded(api: ApiHarness, wav: Buffer): Promise<string> {
  const agent_id = (await api.call('POST', '/v1/agents', { body: AGENT })).body.id;
  const { call_id: id } = (await api.call('POST', '/v1/realtime/sessions', { body: { agent_id } })).body;
  writeFileSync(await api.context.recordings.prepare(id), wav);
  await endCall(api.context, id, { status: 'completed', endReason: 'caller_hangup', outcome: 'conversation', endedAt: new Date(), summary: { turns: [], interruptions: { byCaller: 0, falseAlarms: 0 }, recordingDurationMs: 1000 } });
  return id;
}

t.test('a recording in every form', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const sound = stereo(1);
  const id = await recorded(api, sound.wav);
  const get = (query: string, range?: string, method: 'GET' | 'HEAD' = 'GET'): Promise<LightMyRequestResponse> =>
    api.app.inject({ method, url: `/v1/calls/${id}/recording${query}`, headers: { authorization: `Bearer ${api.account.live}`, ...(range === undefined ? {} : { range }) } });

  t.test('as it was recorded', async (t) => {
    for (const query of ['', '?format=wav']) {
      const answer = await get(query);
      t.match(answer.headers, { 'content-type': 'audio/wav', 'content-length': String(sound.wav.length), 'accept-ranges': 'bytes' });
      t.ok(answer.rawPayload.equals(sound.wav));
    }
  });

  t.test('one side, or both in one, whole and in any range', async (t) => {
    for (const [channel, samples] of [['caller', sound.left], ['agent', sound.right], ['mix', sound.mix]] as const) {
      const whole = monoWav(samples);
      const answer = await get(`?channel=${channel}`);
      t.match(answer, { statusCode: 200, headers: { 'content-type': 'audio/wav', 'content-length': String(whole.length), 'accept-ranges': 'bytes' } });
      t.ok(answer.rawPayload.equals(whole), channel);
      const last = whole.length - 1;
      for (const [from, to] of [[0, 43], [0, 44], [10, 20], [40, 47], [44, 44], [45, 45], [45, 46], [1001, 20_002], [last, last], [last - 1, last], [0, last]] as const) {
        const part = await get(`?channel=${channel}`, `bytes=${from}-${to}`);
        t.match(part, { statusCode: 206, headers: { 'content-range': `bytes ${from}-${to}/${whole.length}`, 'content-length': String(to - from + 1) } }, `${channel} ${from}-${to}`);
        t.ok(part.rawPayload.equals(whole.subarray(from, to + 1)), `${channel} ${from}-${to}`);
      }
      t.match(await get(`?channel=${channel}`, `bytes=${whole.length}-`), { statusCode: 416, headers: { 'content-range': `bytes */${whole.length}` } });
      t.match(await get(`?channel=${channel}`, undefined, 'HEAD'), { statusCode: 200, headers: { 'content-length': String(whole.length) } });
    }
  });

  t.test('encoded', async (t) => {
    for (const [format, type, codec] of [['mp3', 'audio/mpeg', 'mp3'], ['ogg', 'audio/ogg', 'opus']] as const) {
      for (const [channel, channels] of [[undefined, 2], ['caller', 1], ['mix', 1]] as const) {
        const answer = await get(`?format=${format}${channel === undefined ? '' : `&channel=${channel}`}`, 'bytes=0-9');
        t.match(answer, { statusCode: 200, headers: { 'content-type': type, 'accept-ranges': 'none', 'content-disposition': `attachment; filename="${id}.${format}"` } });
        const file = join(t.testdir(), `sound.${format}`);
        writeFileSync(file, answer.rawPayload);
        const { stdout } = await run('ffprobe', ['-v', 'error', '-show_entries', 'stream=codec_name,channels', '-of', 'json', file]);
        t.match(JSON.parse(stdout), { streams: [{ codec_name: codec, channels }] }, `${format} ${channel}`);
        if (channel !== 'caller') continue;
        const wav = `${file}.wav`;
        await run('ffmpeg', ['-v', 'error', '-y', '-i', file, '-ar', String(RATE), wav]);
        const { durationMs } = await readWavInfo(wav);
        t.ok(Math.abs(durationMs - 1000) < 150, `${format}: ${durationMs} ms`);
      }
      t.match(await get(`?format=${format}`, undefined, 'HEAD'), { statusCode: 200, headers: { 'content-type': type } });
    }
  });

  t.test('an agent that records in mono', async (t) => {
    await api.context.db.query("UPDATE call SET recording_channels = 'mono' WHERE id = $1", [id]);
    t.ok((await get('')).rawPayload.equals(monoWav(sound.mix)));
    await api.context.db.query("UPDATE call SET recording_channels = 'stereo' WHERE id = $1", [id]);
  });

  t.test('what is no form', async (t) => {
    for (const query of ['?format=flac', '?format=', '?channel=left', '?channel=caller,agent', '?nonsense=1']) t.equal((await get(query)).statusCode, 400, query);
  });

  t.test('without ffmpeg', async (t) => {
    const bare = await buildApp({ ...api.context, recordingEncoder: new RecordingEncoder({ path: t.testdir() }) });
    t.teardown(() => bare.close());
    const answer = await bare.inject({ url: `/v1/calls/${id}/recording?format=mp3`, headers: { authorization: `Bearer ${api.account.live}` } });
    t.match(answer, { statusCode: 503, headers: { 'retry-after': String, 'content-type': /json/ } });
    t.match(answer.json(), { error: { type: 'api_error', code: 'encoder_unavailable' } });
  });

  t.test('a recording that is none', async (t) => {
    const agent_id = (await api.call('POST', '/v1/agents', { body: AGENT })).body.id;
    const { call_id } = (await api.call('POST', '/v1/realtime/sessions', { body: { agent_id } })).body;
    t.match(await api.call('GET', `/v1/calls/${call_id}/recording?format=mp3`), { status: 404, body: { error: { code: 'recording_not_found' } } });
  });
});

t.test('encoders are bounded in number and time, and end with whoever listens', async (t) => {
  const { Readable } = await import('node:stream');
  const silence = (seconds: number) => () => Readable.from(function* () { for (let n = 0; n < seconds; n++) yield Buffer.alloc(RATE * 2); }(), { objectMode: false });
  const sound = { sampleRate: RATE, channels: 1 };
  const never = () => new Readable({ read() {} });
  const encoder = new RecordingEncoder({ atOnce: 2, withinMs: 60_000 });
  const [one, two] = [await encoder.encode('mp3', sound, never), await encoder.encode('ogg', sound, never)];
  await t.rejects(encoder.encode('mp3', sound, silence(1)), { code: 'service_unavailable', headers: { 'Retry-After': '5' } });
  one.destroy();
  await until('the encoder is gone', 5000, () => encoder.running === 1);
  two.destroy();
  await until('both are gone', 5000, () => encoder.running === 0);

  const hasty = new RecordingEncoder({ withinMs: 20 });
  const stuck = await hasty.encode('mp3', sound, never);
  await t.rejects(new Promise((_, reject) => { stuck.on('error', reject).resume(); }), /took too long/);
  await until('it is gone', 5000, () => hasty.running === 0);

  const broken = await encoder.encode('mp3', sound, () => new Readable({ read() { this.destroy(new Error('the disk is gone')); } }));
  await t.rejects(new Promise((_, reject) => { broken.on('error', reject).resume(); }), /ffmpeg ended/, 'half a file is not sent as a whole one');

  const whole = await encoder.encode('mp3', sound, silence(2));
  let bytes = 0;
  for await (const chunk of whole as AsyncIterable<Buffer>) bytes += chunk.length;
  t.ok(bytes > 1000);
  await until('it is gone', 5000, () => encoder.running === 0);
});

t.test('the SIP messages as a capture file', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const id = await recorded(api, stereo(1).wav);
  const messages = ['INVITE sip:a@b SIP/2.0\r\nAuthorization: [redacted]\r\n\r\n', 'SIP/2.0 200 OK\r\n\r\n', 'BYE sip:a@b SIP/2.0\r\n\r\n'];
  await appendLog(api.context, id, { at: 1_700_000_000_123, source: 'sip', event: 'INVITE', detail: { direction: 'in', peer: '198.51.100.7:5070', transport: 'udp', message: messages[0] } });
  await appendLog(api.context, id, { at: 1_700_000_000_200, source: 'sip', event: '200', detail: { direction: 'out', peer: '198.51.100.7:5070', transport: 'udp', message: messages[1] } });
  await appendLog(api.context, id, { at: 1_700_000_001_000, source: 'sip', event: 'BYE', detail: { direction: 'in', peer: '2001:db8:1::7:5070', transport: 'tcp', message: messages[2] } });
  await appendLog(api.context, id, { at: 1_700_000_002_000, source: 'sip', event: 'a line without its message', detail: { direction: 'in', peer: '198.51.100.7:5070' } });
  await appendLog(api.context, id, { at: 1_700_000_002_000, source: 'turn', event: 'userTurn', detail: { message: 'not SIP' } });
  const answer = await api.app.inject({ url: `/v1/calls/${id}/log?format=pcap`, headers: { authorization: `Bearer ${api.account.live}` } });
  t.match(answer, { statusCode: 200, headers: { 'content-type': 'application/vnd.tcpdump.pcap', 'content-disposition': `attachment; filename="${id}.pcap"` } });
  const bytes = answer.rawPayload;
  t.equal(bytes.readUInt32LE(0), 0xa1b2c3d4);
  t.equal(bytes.readUInt32LE(20), 101, 'packets begin with their IP header');
  const packets: { atMs: number; packet: Buffer }[] = [];
  for (let at = 24; at < bytes.length; at += 16 + bytes.readUInt32LE(at + 8)) {
    packets.push({ atMs: bytes.readUInt32LE(at) * 1000 + bytes.readUInt32LE(at + 4) / 1000, packet: bytes.subarray(at + 16, at + 16 + bytes.readUInt32LE(at + 8)) });
  }
  t.same(packets.map(({ atMs }) => atMs), [1_700_000_000_123, 1_700_000_000_200, 1_700_000_001_000]);
  const [invite, ok, bye] = packets.map(({ packet }) => packet) as [Buffer, Buffer, Buffer];
  t.same([invite[0], invite[9], invite.readUInt16BE(2)], [0x45, 17, invite.length]);
  t.same([[...invite.subarray(12, 16)], [...invite.subarray(16, 20)]], [[198, 51, 100, 7], [192, 0, 2, 1]]);
  t.same([invite.readUInt16BE(20), invite.readUInt16BE(22)], [5070, 5060]);
  t.same([[...ok.subarray(12, 16)], ok.readUInt16BE(22)], [[192, 0, 2, 1], 5070], 'what we said goes the other way');
  t.equal(sum16(invite.subarray(0, 20)), 0xffff, 'the header adds up');
  const pseudo = (packet: Buffer, addresses: Buffer, ip: number): Buffer => Buffer.concat([addresses, Buffer.from([0, 17]), packet.subarray(ip + 4, ip + 6), packet.subarray(ip)]);
  t.equal(sum16(pseudo(invite, invite.subarray(12, 20), 20)), 0xffff);
  t.same([bye[0]! >> 4, bye[6]], [6, 17]);
  t.equal(sum16(pseudo(bye, bye.subarray(8, 40), 40)), 0xffff);
  t.same([invite.toString('utf8', 28), ok.toString('utf8', 28), bye.toString('utf8', 48)], messages);
  t.match((await api.call('GET', `/v1/calls/${id}/log?format=json`)).body.entries, [{ detail: { message: messages[0] } }, {}, {}, {}, {}]);
  t.match(await api.call('GET', `/v1/calls/${id}/log?format=xml`), { status: 400, body: { error: { param: 'format' } } });
});

/** Ones' complement sum of 16-bit words: all ones when a checksum among them is right. */
function sum16(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) sum += (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return sum;
}
