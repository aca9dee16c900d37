import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { AddressGuard } from '../../../src/events/address-guard.ts';
import { fetchRecording } from '../../../src/resources/voices/audio-fetch.ts';
import { inspectRecordings, type Recording } from '../../../src/resources/voices/recording.ts';
import { inspect, type Finding } from '../../../src/resources/voices/recording-format.ts';
import { webmDurationMs } from '../../../src/resources/voices/webm-duration.ts';
import { startVoiceHarness } from '../../support/voice-harness.ts';
import { encoded, noiseWav } from '../../support/voice-recordings.ts';

const MB = 1024 * 1024;
const CONTENT = { name: 'Ada', consent: true };
const speech = noiseWav(30);
/** Whether a file lasts `ms`, give or take what encoders add. */
const lasts = (found: Finding, ms: number): boolean => 'durationMs' in found && Math.abs(found.durationMs - ms) < 150;

t.test('what a recording is, by its content', async (t) => {
  const samples: [string, string, readonly string[], string][] = [
    ['mp3', 'audio/mpeg', [], 'mp3'], ['mp3', 'audio/mpeg', ['-write_xing', '0', '-id3v2_version', '0', '-q:a', '5'], 'mp3'], ['wav', 'audio/wav', [], 'wav'],
    ['m4a', 'audio/mp4', [], 'm4a'], ['m4a', 'audio/mp4', ['-movflags', 'frag_keyframe+empty_moov'], 'm4a'], ['ogg', 'audio/ogg', ['-c:a', 'libopus'], 'ogg'],
    ['ogg', 'audio/ogg', ['-c:a', 'libvorbis'], 'ogg'], ['webm', 'audio/webm', ['-c:a', 'libopus'], 'webm'], ['flac', 'audio/flac', [], 'flac'],
  ];
  for (const [format, mediaType, args, extension] of samples) {
    const found = await inspect(encoded(12, args, extension));
    t.match(found, { format, mediaType });
    t.ok(lasts(found, 12_000), `${extension} ${args.join(' ')}`);
  }
  t.ok(lasts(await inspect(encoded(12, ['-c:a', 'libopus'], 'webm', 'to a pipe')), 12_000), 'what a browser records says no duration');
});

t.test('what no recording is', async (t) => {
  const refused = async (name: string, data: Buffer): Promise<void> => {
    t.match(await inspect(data), { fault: String }, name);
  };
  await refused('nothing', Buffer.alloc(0));
  await refused('text', Buffer.from('a recording of my voice'));
  await refused('a web page', Buffer.from('<html><body>Not found</body></html>'));
  await refused('noise', Buffer.alloc(5000, 0x37));
  for (const [extension, args] of [['aac', []], ['aiff', []], ['wma', []]] as const) await refused(extension, encoded(1, args, extension));
  await refused('a matroska file that is no webm', encoded(1, [], 'mka'));
  await refused('a stream that ends nowhere', encoded(1, [], 'flac', 'to a pipe'));
  for (const magic of ['RIFF\0\0\0\0WAVE', 'fLaC', 'OggS', '\0\0\0\x20ftypM4A ', '\x1a\x45\xdf\xa3', 'ID3\x04\0\0']) {
    await refused(`only a beginning: ${JSON.stringify(magic)}`, Buffer.from(magic, 'latin1'));
    await refused(`a beginning and nonsense: ${JSON.stringify(magic)}`, Buffer.concat([Buffer.from(magic, 'latin1'), Buffer.alloc(4000, 0x5a)]));
  }
});

t.test('which of several it is', async (t) => {
  const good = await inspectRecordings([noiseWav(1), noiseWav(2)], 'files');
  t.same(good.map(({ durationMs }: Recording) => durationMs), [1000, 2000]);
  await t.rejects(inspectRecordings([noiseWav(1), Buffer.from('no'), noiseWav(2)], 'files'), { code: 'unsupported_recording_format', param: 'files[1]', status: 400 });
});

t.test('a file made to keep its reader busy', async (t) => {
  const endless = Buffer.concat([Buffer.from('1a45dfa3801853806701ffffffffffffff', 'hex'), Buffer.alloc(10 * MB - 17, Buffer.from('ec80', 'hex'))]);
  let alive = 0;
  const pulse = setInterval(() => { alive++; }, 20);
  const busy = inspectRecordings([noiseWav(1), endless], 'files');
  const others = Promise.all([1, 2, 3].map(() => inspectRecordings([noiseWav(1)], 'files')));
  await t.rejects(busy, { code: 'unsupported_recording_format', param: 'files[1]' }, 'is given up');
  t.equal((await others).length, 3, 'others are looked at beside it');
  clearInterval(pulse);
  t.ok(alive > 10, 'and this thread goes on');
});

t.test('a header that claims more than there is', async (t) => {
  const wav = noiseWav(1);
  wav.writeUInt32LE(0xffff_fff0, 40);
  t.ok(lasts(await inspect(wav), 1000));
  const flac = encoded(1, [], 'flac');
  flac.writeUInt32BE(0x7fff_ffff, 22);
  t.match(await inspect(flac), { durationMs: flac.length * 4 }, 'no more time than 2 kbit/s gives');
});

t.test('webm, damaged at every place', (t) => {
  const file = encoded(1, ['-c:a', 'libopus'], 'webm', 'to a pipe');
  for (let at = 0; at < file.length; at += 7) {
    const damaged = Buffer.from(file);
    damaged[at] = 0xff - (damaged[at] ?? 0);
    const duration = webmDurationMs(damaged);
    if (duration !== undefined && !Number.isFinite(duration)) t.fail(`byte ${at}: ${duration}`);
    webmDurationMs(file.subarray(0, at));
  }
  t.equal(webmDurationMs(Buffer.alloc(0)), undefined);
  t.equal(webmDurationMs(Buffer.alloc(10 * MB, Buffer.from([0x80, 0x80]))), undefined, 'empty elements without an end');
  t.end();
});

t.test('recordings by address', async (t) => {
  const routes: Record<string, RequestListener> = {
    '/voice': (_request, answer) => answer.end(speech),
    '/page': (_request, answer) => answer.setHeader('content-type', 'audio/wav').end('<html></html>'),
    '/gone': (_request, answer) => answer.writeHead(404).end(speech),
    '/moved': (_request, answer) => answer.writeHead(302, { location: '/voice' }).end(),
    '/partial': (_request, answer) => answer.writeHead(206).end(speech),
    '/broken': (request, answer) => { answer.writeHead(200, { 'content-length': '1000' }).write('RIFF'); request.socket.end(); },
    '/announced': (_request, answer) => { answer.writeHead(200, { 'content-length': String(10 * MB + 1) }).flushHeaders(); },
    '/endless': (_request, answer) => {
      const more = (): void => { while (!answer.destroyed && answer.write(Buffer.alloc(MB))); };
      answer.on('drain', more);
      more();
    },
  };
  const asked: string[] = [];
  const server = createServer((request, answer) => {
    asked.push(request.url ?? '');
    (routes[request.url ?? ''] ?? ((_request, missing) => missing.writeHead(404).end()))(request, answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { api, provider } = await startVoiceHarness({ allowPrivateAddresses: [host] });
  t.teardown(async () => {
    await api.close();
    server.closeAllConnections();
    server.close();
  });
  const clone = (urls: unknown, more: object = {}) => api.call('POST', '/v1/voices', { body: { ...CONTENT, audio_urls: urls, ...more } });
  const url = (path: string): string => `http://${host}${path}`;

  t.test('are fetched once', async (t) => {
    const { status, body } = await clone([url('/voice')], { description: 'd', language: 'en-GB', remove_background_noise: false });
    t.equal(status, 201);
    t.match(body, { name: 'Ada', description: 'd', language: 'en-GB', provider: 'vendor_a' });
    t.same(asked.splice(0), ['/voice']);
    t.ok(provider.requests.at(-1)?.recordings[0]?.data.equals(speech));
  });

  t.test('name and consent are the only other fields that JSON needs', async (t) => {
    for (const [body, expected] of [
      [CONTENT, { code: 'missing_parameter', param: 'audio_urls' }], [{ consent: true, audio_urls: [url('/voice')] }, { code: 'missing_parameter', param: 'name' }],
      [{ name: 'Ada', audio_urls: [url('/voice')] }, { code: 'consent_required', param: 'consent' }], [{ ...CONTENT, consent: 'true', audio_urls: [url('/voice')] }, { code: 'consent_required' }],
      [{ ...CONTENT, files: [], audio_urls: [url('/voice')] }, { code: 'unknown_parameter', param: 'files' }], [[], { code: 'invalid_parameter' }],
    ] as const) t.match(await api.call('POST', '/v1/voices', { body }), { status: 400, body: { error: expected } });
    t.equal((await clone([url('/voice')])).status, 201);
  });

  t.test('how many, and how long an address may be', async (t) => {
    t.match(await clone([]), { status: 400, body: { error: { code: 'invalid_parameter', param: 'audio_urls' } } });
    t.match(await clone(Array.from({ length: 6 }, () => url('/voice'))), { status: 400, body: { error: { code: 'too_many_recordings', param: 'audio_urls' } } });
    t.match(await clone([url('/voice'), url('/voice')], { provider: 'vendor_b', language: 'hi-IN' }), { status: 400, body: { error: { code: 'too_many_recordings' } } });
    t.equal((await clone(Array.from({ length: 5 }, () => url('/voice')))).status, 201);
    t.match(await clone([`https://example.com/${'x'.repeat(2048 - 20 + 1)}`]), { status: 400, body: { error: { code: 'invalid_parameter', param: 'audio_urls[0]' } } });
    t.match(await clone([`http://example.com/${'x'.repeat(2048 - 19)}`]), { status: 400, body: { error: { code: 'unsafe_audio_url' } } }, '2048 characters pass the length');
    for (const text of ['', 'nonsense', 7]) t.match(await clone([text]), { status: 400, body: { error: { code: 'invalid_parameter', param: 'audio_urls[0]' } } });
  });

  t.test('only public https addresses', async (t) => {
    asked.length = 0;
    for (const text of [
      'http://example.com/a.wav', 'ftp://example.com/a.wav', 'file:///etc/passwd', 'data:audio/wav;base64,AAAA', 'https://127.0.0.1/a.wav', 'https://localhost/a.wav', 'https://[::1]/a',
      'https://10.0.0.1/a', 'https://192.168.1.1/a', 'https://169.254.169.254/latest/meta-data', 'https://[::ffff:127.0.0.1]/a', 'https://0x7f.1/a', 'https://user:secret@example.com/a',
    ]) t.match(await clone([url('/voice'), text]), { status: 400, body: { error: { code: 'unsafe_audio_url', param: 'audio_urls[1]' } } }, text);
    t.same(asked, [], 'and nothing is fetched beside one that is not');
  });

  t.test('what cannot be fetched', async (t) => {
    for (const path of ['/gone', '/moved', '/partial', '/broken']) t.match(await clone([url(path)]), { status: 400, body: { error: { code: 'audio_fetch_failed', param: 'audio_urls[0]' } } }, path);
    t.notOk(asked.includes('/voice'), 'redirects are not followed');
    t.match(await clone(['https://no-such-host.invalid/a.wav']), { status: 400, body: { error: { code: 'audio_fetch_failed' } } });
    t.match(await clone([url('/page')]), { status: 400, body: { error: { code: 'unsupported_recording_format', param: 'audio_urls[0]' } } }, 'whatever its type says');
    for (const path of ['/announced', '/endless']) t.match(await clone([url('/voice'), url(path)]), { status: 413, body: { error: { code: 'recording_too_large', param: 'audio_urls[1]' } } }, path);
    t.equal((await api.context.db.query('SELECT 1 FROM voice WHERE status <> \'ready\'')).length, 0, 'no place is kept for it');
  });
});

t.test('a name that changes its mind between the check and the connection', async (t) => {
  let answers = 0;
  const resolve = ((_host: string, _options: object, done: (error: null, addresses: { address: string; family: number }[]) => void) =>
    done(null, [{ address: answers++ === 0 ? '93.184.216.34' : '127.0.0.1', family: 4 }])) as never;
  const guard = new AddressGuard({ allowed: [], resolve });
  t.equal(await guard.fault('https://rebinding.example/a.wav'), undefined);
  await t.rejects(fetchRecording('https://rebinding.example/a.wav', guard, 'audio_urls[0]'), { code: 'unsafe_audio_url' });
});
