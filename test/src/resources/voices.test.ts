import t from 'tap';
import { startVoiceHarness, usageOf } from '../../support/voice-harness.ts';
import { form, postVoice, VOICE } from '../../support/voice-requests.ts';
import { noiseWav } from '../../support/voice-recordings.ts';
import { embeddedVoiceOf, SimulatedCloner } from '../../../src/resources/voices/simulated-cloner.ts';

const speech = noiseWav(30);
const MB = 1024 * 1024;

t.test('cloning with a form', async (t) => {
  const { api, provider } = await startVoiceHarness();
  t.teardown(() => api.close());
  const refuse = async (name: string, fields: Record<string, string>, expected: object, files: Buffer[] = [speech]): Promise<void> => {
    t.match(await postVoice(api, { fields, files }), { status: 400, body: { error: { type: 'invalid_request_error', message: String, request_id: /^req_/, ...expected } } }, name);
  };

  t.test('the voice, as spec.md shows it', async (t) => {
    const fields = { ...VOICE, description: 'Reads the news', provider: 'vendor_a', language: 'en-GB', remove_background_noise: 'true' };
    const { status, body } = await postVoice(api, { fields, files: [{ data: speech, filename: '../../etc/passwd.exe', mediaType: 'text/html' }] });
    t.equal(status, 201);
    t.match(body, {
      id: /^[0-9a-f]{24}$/, object: 'voice', livemode: true, name: 'Ada', description: 'Reads the news', provider: 'vendor_a', provider_voice_id: 'provider-voice-1',
      engines: ['classic', 'vendor_c_agent'], language: 'en-GB', consent_at: new Date(api.clock.now()).toISOString(), created_at: new Date(api.clock.now()).toISOString(), updated_at: new Date(api.clock.now()).toISOString(),
    });
    const [request] = provider.requests;
    t.match(request, { reference: body.id, name: 'Ada', description: 'Reads the news', language: 'en-GB', removeBackgroundNoise: true, recordings: [{ format: 'wav', mediaType: 'audio/wav', durationMs: 30_000 }] });
    t.ok(request?.recordings[0]?.data.equals(speech), 'the recording as it was sent');
    t.same((await api.call('GET', `/v1/voices/${body.id}`)).body, body);
  });

  t.test('what may be left out', async (t) => {
    const { status, body } = await postVoice(api, { files: [speech], order: 'files first' });
    t.equal(status, 201);
    t.match(body, { description: null, provider: 'vendor_a', language: null });
    t.equal(provider.requests.at(-1)?.removeBackgroundNoise, false);
  });

  t.test('vendor_b', async (t) => {
    const { status, body } = await postVoice(api, { fields: { ...VOICE, provider: 'vendor_b', language: 'hi-IN', remove_background_noise: 'false' }, files: [noiseWav(10)] });
    t.equal(status, 201);
    t.match(body, { provider: 'vendor_b', engines: ['vendor_b'], language: 'hi-IN' });
  });

  t.test('consent is kept with its time, account and key', async (t) => {
    const key = await api.newKey(api.account, ['voices:write']);
    const { body } = await postVoice(api, { key, files: [speech] });
    const [row] = await api.context.db.query<{ account_id: string; consent_at: Date; name: string; prefix: string }>(
      'SELECT voice.account_id, consent_at, prefix FROM voice JOIN api_key ON api_key.id = consent_key_id WHERE voice.id = $1', [body.id]);
    t.match(row, { account_id: api.account.id, consent_at: new Date(api.clock.now()), prefix: key.slice(0, 12) });
    await api.call('DELETE', `/v1/voices/${body.id}`);
    t.equal((await api.context.db.query('SELECT 1 FROM voice WHERE id = $1', [body.id])).length, 1, 'and outlives the voice');
  });

  t.test('consent', async () => {
    for (const consent of ['false', '', 'yes', '1']) await refuse(`consent ${consent}`, { name: 'Ada', consent }, { code: 'consent_required', param: 'consent' });
    await refuse('no consent', { name: 'Ada' }, { code: 'consent_required', param: 'consent' });
  });

  t.test('fields at their bounds and beyond', async (t) => {
    const longest = await postVoice(api, { fields: { ...VOICE, name: 'é'.repeat(100), description: '😀'.repeat(500) }, files: [speech] });
    t.match(longest, { status: 201, body: { name: 'é'.repeat(100), description: '😀'.repeat(500) } });
    await refuse('name of 101', { ...VOICE, name: 'x'.repeat(101) }, { code: 'invalid_parameter', param: 'name' });
    await refuse('empty name', { ...VOICE, name: '' }, { code: 'invalid_parameter', param: 'name' });
    await refuse('no name', { consent: 'true' }, { code: 'missing_parameter', param: 'name' });
    await refuse('description of 501', { ...VOICE, description: 'x'.repeat(501) }, { code: 'invalid_parameter', param: 'description' });
    await refuse('provider', { ...VOICE, provider: 'vendor_c_agent' }, { code: 'invalid_parameter', param: 'provider' });
    for (const language of ['en', 'EN-us', 'eng-US', 'en_US', '']) await refuse(`language ${language}`, { ...VOICE, language }, { code: 'invalid_parameter', param: 'language' });
    await refuse('noise', { ...VOICE, remove_background_noise: 'maybe' }, { code: 'invalid_parameter', param: 'remove_background_noise' });
    await refuse('unknown', { ...VOICE, colour: 'red' }, { code: 'unknown_parameter', param: 'colour' });
    await refuse('addresses in a form', { ...VOICE, audio_urls: 'https://example.com/a.wav' }, { param: 'audio_urls' });
    await refuse('vendor_b without a language', { ...VOICE, provider: 'vendor_b' }, { code: 'missing_parameter', param: 'language' });
    await refuse('vendor_b and noise', { ...VOICE, provider: 'vendor_b', language: 'hi-IN', remove_background_noise: 'true' }, { code: 'invalid_parameter', param: 'remove_background_noise' });
    t.match(await postVoice(api, { files: [{ data: speech, field: 'recording' }] }), { status: 400, body: { error: { code: 'unknown_parameter', param: 'recording' } } });
    t.match(await api.call('POST', '/v1/voices?provider=vendor_a', { body: {} }), { status: 400 });
  });

  t.test('how many recordings', async (t) => {
    await refuse('none', VOICE, { code: 'missing_parameter', param: 'files' }, []);
    const five = await postVoice(api, { files: Array.from({ length: 5 }, () => noiseWav(6)) });
    t.equal(five.status, 201, 'five, together 30 s');
    await refuse('six', VOICE, { code: 'too_many_recordings', param: 'files' }, Array.from({ length: 6 }, () => noiseWav(6)));
    await refuse('two for vendor_b', { ...VOICE, provider: 'vendor_b', language: 'hi-IN' }, { code: 'too_many_recordings', param: 'files' }, [speech, speech]);
  });

  t.test('how long they are', async () => {
    await refuse('29.9 s', VOICE, { code: 'recording_too_short', param: 'files' }, [noiseWav(29.9)]);
    await refuse('five, together 29.9 s', VOICE, { code: 'recording_too_short' }, [...Array.from({ length: 4 }, () => noiseWav(6)), noiseWav(5.9)]);
    await refuse('9.9 s for vendor_b', { ...VOICE, provider: 'vendor_b', language: 'hi-IN' }, { code: 'recording_too_short' }, [noiseWav(9.9)]);
  });

  t.test('how large they are', async (t) => {
    const large = noiseWav((10 * MB - 44) / 2 / 48_000, 48_000);
    t.equal(large.length, 10 * MB);
    const over = Buffer.concat([large, Buffer.alloc(1)]);
    t.match(await postVoice(api, { files: [speech, over] }), { status: 413, body: { error: { type: 'invalid_request_error', code: 'recording_too_large', param: /^files/ } } }, 'and one byte');
    t.equal(provider.requests.some(({ recordings }) => recordings.some(({ data }) => data.length > 10 * MB)), false);
    const parts = Array.from({ length: 5 }, () => large);
    t.equal((await postVoice(api, { files: parts })).status, 201, 'five of 10 MB');
    const { contentType, body } = form(VOICE, parts);
    const stuffed = Buffer.concat([Buffer.alloc(5 * MB, '\r\n'), body]);
    const answer = await api.app.inject({ method: 'POST', url: '/v1/voices', headers: { authorization: `Bearer ${api.account.live}`, 'content-type': contentType }, payload: stuffed });
    t.match([answer.statusCode, answer.json()], [413, { error: { code: 'body_too_large' } }], '55 MB in all');
    const json = JSON.stringify({ ...VOICE, consent: true, description: 'x'.repeat(MB) });
    t.match(await api.call('POST', '/v1/voices', { raw: json }), { status: 413, body: { error: { code: 'body_too_large' } } }, 'JSON has 1 MB, as everywhere');
  });

  t.test('a client that is still sending hears the refusal', async (t) => {
    const { contentType, body } = form(VOICE, [Buffer.alloc(10 * MB + 1), Buffer.alloc(10 * MB), Buffer.alloc(10 * MB)]);
    const url = await api.app.listen({ port: 0, host: '127.0.0.1' });
    const answer = await fetch(`${url}/v1/voices`, { method: 'POST', headers: { authorization: `Bearer ${api.account.live}`, 'content-type': contentType }, body });
    t.match([answer.status, await answer.json()], [413, { error: { code: 'recording_too_large' } }]);
  });

  t.test('forms that are none', async (t) => {
    const headers = { authorization: `Bearer ${api.account.live}`, 'content-type': 'multipart/form-data; boundary=x' };
    for (const payload of ['', 'nonsense', '--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nAda']) {
      const answer = await api.app.inject({ method: 'POST', url: '/v1/voices', headers, payload });
      t.equal(answer.statusCode, 400, payload);
    }
    t.match(await postVoice(api, { fields: { ...VOICE, ['__proto__']: 'x' }, files: [speech] }), { status: 400 });
    t.match(await api.call('POST', '/v1/voices', { raw: 'a,b', headers: { 'content-type': 'text/csv' } }), { status: 415 });
  });

  t.test('nothing is written to disk', async (t) => {
    const { readdirSync } = await import('node:fs');
    const { tmpdir } = await import('node:os');
    const seen = new Set<string>();
    provider.onClone = () => { for (const file of readdirSync(tmpdir())) if (/upload|busboy|multipart|recording/.test(file)) seen.add(file); };
    const before = new Set(readdirSync(tmpdir()));
    await postVoice(api, { files: [speech] });
    t.same([...seen].filter((file) => !before.has(file)), []);
    provider.onClone = () => undefined;
    const [row] = await api.context.db.query<{ bytes: number }>('SELECT max(length(voice::text))::integer AS bytes FROM voice');
    t.ok((row?.bytes ?? Infinity) < 4000, 'nor to the database');
  });
});

t.test('voices are listed, read, deleted and heard', async (t) => {
  const { api, provider } = await startVoiceHarness();
  t.teardown(() => api.close());
  const clone = async (name: string): Promise<string> => {
    api.clock.advance(1000);
    return String((await postVoice(api, { fields: { ...VOICE, name }, files: [speech] })).body.id);
  };
  const ids = [await clone('a'), await clone('b'), await clone('c')];
  const readOnly = await api.newKey(api.account, ['usage:read']);

  t.test('the list', async (t) => {
    const first = await api.call('GET', '/v1/voices?limit=2', { key: readOnly });
    t.match(first, { status: 200, body: { object: 'list', has_more: true, next_cursor: String } });
    t.same(first.body.data.map(({ id }: { id: string }) => id), [ids[2], ids[1]], 'newest first');
    const rest = await api.call('GET', `/v1/voices?limit=2&starting_after=${first.body.next_cursor}`, { key: readOnly });
    t.same(rest.body.data.map(({ id }: { id: string }) => id), [ids[0]]);
    t.match(rest.body, { has_more: false, next_cursor: null });
    t.same((await api.call('GET', '/v1/voices', { key: api.account.test })).body.data, [], 'each mode its own');
  });

  t.test('scopes: any key reads, voices:write changes', async (t) => {
    t.equal((await api.call('GET', `/v1/voices/${ids[0]}`, { key: readOnly })).status, 200);
    for (const [method, url] of [['DELETE', `/v1/voices/${ids[0]}`], ['POST', `/v1/voices/${ids[0]}/preview`], ['POST', '/v1/voices']] as const) {
      t.match(await api.call(method, url, { key: readOnly, ...(method === 'POST' ? { body: {} } : {}) }), { status: 403, body: { error: { code: 'missing_scope', message: /voices:write/ } } }, url);
    }
  });

  t.test('a preview is what the provider speaks', async (t) => {
    const answer = await api.call('POST', `/v1/voices/${ids[0]}/preview`, { body: { text: 'Good morning' } });
    t.match(answer, { status: 200, headers: { 'content-type': 'audio/mpeg' }, body: 'provider-voice-1: Good morning' });
    for (const body of [{}, { text: '' }, { text: 'x'.repeat(501) }, { text: 'a', voice: 'b' }]) t.match(await api.call('POST', `/v1/voices/${ids[0]}/preview`, { body }), { status: 400 });
    t.equal((await api.call('POST', `/v1/voices/${ids[0]}/preview`, { body: { text: 'x'.repeat(500) } })).status, 200);
    provider.mood = 'refuses';
    t.match(await api.call('POST', `/v1/voices/${ids[0]}/preview`, { body: { text: 'a' } }), { status: 503, body: { error: { code: 'cloning_unavailable' } } });
    provider.mood = 'well';
  });

  t.test('a deletion reaches the provider', async (t) => {
    t.match(await api.call('DELETE', `/v1/voices/${ids[0]}`), { status: 200, body: { id: ids[0], object: 'voice', deleted: true } });
    t.notOk(provider.clones.has(ids[0] ?? ''));
    for (const method of ['GET', 'DELETE'] as const) t.match(await api.call(method, `/v1/voices/${ids[0]}`), { status: 404, body: { error: { code: 'voice_not_found' } } });
    t.equal((await api.call('GET', '/v1/voices')).body.data.length, 2);
  });

  t.test('when the provider does not delete, nothing is lost', async (t) => {
    provider.mood = 'dies';
    t.match(await api.call('DELETE', `/v1/voices/${ids[1]}`), { status: 503, headers: { 'retry-after': '30' }, body: { error: { type: 'api_error', code: 'cloning_unavailable' } } });
    t.equal((await api.call('GET', `/v1/voices/${ids[1]}`)).status, 200);
    provider.mood = 'well';
    t.equal((await api.call('DELETE', `/v1/voices/${ids[1]}`)).status, 200);
  });

  t.test('two deletions at once', async (t) => {
    const statuses = (await Promise.all([1, 2].map(() => api.call('DELETE', `/v1/voices/${ids[2]}`)))).map(({ status }) => status);
    t.ok(statuses.every((status) => status === 200 || status === 404) && statuses.includes(200), String(statuses));
  });
});

t.test('test mode is simulated and free, with the same checks', async (t) => {
  const { api, provider } = await startVoiceHarness({ balanceMicros: 0, configured: [] });
  t.teardown(() => api.close());
  const key = api.account.test;
  const { status, body } = await postVoice(api, { key, files: [speech] });
  t.equal(status, 201);
  t.match(body, { livemode: false, provider_voice_id: /^simulated-(rms|slt|awb|kal16)-[0-9a-f]{24}$/ });
  t.equal(provider.requests.length, 0, 'no provider is asked');
  t.same((await usageOf(api)).map(({ amount_micros, livemode }) => [amount_micros, livemode]), [[0, false]]);
  t.match(await postVoice(api, { key, files: [noiseWav(29)] }), { status: 400, body: { error: { code: 'recording_too_short' } } });
  t.match(await postVoice(api, { key, fields: { name: 'Ada' }, files: [speech] }), { status: 400, body: { error: { code: 'consent_required' } } });
  const preview = await api.call('POST', `/v1/voices/${body.id}/preview`, { key, body: { text: 'Hello' } });
  t.match(preview, { status: 200, headers: { 'content-type': 'audio/wav' } }, 'spoken by an embedded voice');
  t.match(preview.body, new RegExp(`^${body.provider_voice_id.split('-')[1]}: Hello`));
  t.match(await api.call('DELETE', `/v1/voices/${body.id}`, { key }), { status: 200 });

  // Live mode has no provider here.
  t.match(await postVoice(api, { files: [speech] }), { status: 503, headers: { 'retry-after': String }, body: { error: { type: 'api_error', code: 'cloning_unavailable' } } });
  t.match(await postVoice(api, { files: [noiseWav(3)] }), { status: 400 }, 'what is wrong with the request comes first');
  t.equal((await api.context.db.query('SELECT 1 FROM voice WHERE livemode')).length, 0);
});

t.test('a simulated voice without speech at hand', async (t) => {
  const silent = new SimulatedCloner();
  await t.rejects(silent.preview(await silent.find('a'.repeat(24)), 'Hello', new AbortController().signal), { name: 'CloningError', refused: true });
  const id = await silent.find('a');
  t.equal(id, await silent.find('a'), 'the same for the same');
  t.match(embeddedVoiceOf(id), /^(rms|slt|awb|kal16)$/);
  t.equal(embeddedVoiceOf('provider-voice-1'), undefined);
});
