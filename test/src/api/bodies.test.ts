import t from 'tap';
import { startApiHarness } from '../../support/api-harness.ts';

t.test('bodies', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const agent = { name: 'A', system_prompt: 'P', opening_message: 'Hello' };
  const refuse = async (name: string, body: unknown, expected: object): Promise<void> => {
    t.match(await api.call('POST', '/v1/agents', { body }), { status: 400, body: { error: { type: 'invalid_request_error', message: String, request_id: /^req_/, doc_url: /errors#/, ...expected } } }, name);
  };

  await refuse('missing', { name: 'A' }, { code: 'missing_parameter', param: 'system_prompt' });
  await refuse('unknown', { ...agent, colour: 1 }, { code: 'unknown_parameter', param: 'colour' });
  await refuse('unknown, deep', { ...agent, voice: { tts: { pitch: 1 } } }, { code: 'unknown_parameter', param: 'voice.tts.pitch' });
  await refuse('out of bounds, deep', { ...agent, voice: { tts: { speed: 9 } } }, { code: 'invalid_parameter', param: 'voice.tts.speed' });
  await refuse('name of 201', { ...agent, name: 'x'.repeat(201) }, { code: 'invalid_parameter', param: 'name' });
  await refuse('prompt of 20001', { ...agent, system_prompt: 'x'.repeat(20_001) }, { param: 'system_prompt' });
  await refuse('opening of 1001', { ...agent, opening_message: 'x'.repeat(1001) }, { param: 'opening_message' });
  await refuse('empty opening', { ...agent, opening_message: '' }, { param: 'opening_message' });
  await refuse('a number as text', { ...agent, max_duration_seconds: '60' }, { code: 'invalid_parameter', param: 'max_duration_seconds' });
  await refuse('a bad id', { ...agent, outbound_phone_number_id: 'x' }, { code: 'invalid_id', param: 'outbound_phone_number_id' });
  await refuse('not an object', [], { code: 'invalid_parameter' });
  await refuse('no timezone', { ...agent, timezone: 'Mars/Olympus' }, { code: 'invalid_parameter', param: 'timezone' });
  const ranges = await api.call('POST', '/v1/sip-trunks', { body: { name: 'T', allowed_addresses: ['10.0.0.0/8', 'x'.repeat(65)] } });
  t.match(ranges, { status: 400, body: { error: { param: 'allowed_addresses[1]' } } }, 'arrays in brackets');

  t.match(await api.call('POST', '/v1/agents', { raw: '{"name":' }), { status: 400, body: { error: { code: 'invalid_json' } } });
  t.match(await api.call('POST', '/v1/agents', { raw: '' }), { status: 400, body: { error: { type: 'invalid_request_error' } } });
  t.match(await api.call('POST', '/v1/agents', { raw: '{"__proto__":{"x":1}}' }), { status: 400 });
  t.match(await api.call('POST', '/v1/agents', { raw: 'name=A', headers: { 'content-type': 'application/x-www-form-urlencoded' } }), { status: 415, body: { error: { code: 'unsupported_media_type' } } });
  t.match(await api.call('POST', '/v1/agents', { body: { ...agent, description: 'x'.repeat(1024 * 1024) } }), { status: 413, body: { error: { code: 'body_too_large' } } });
  const longest = await api.call('POST', '/v1/agents', { body: { name: 'x'.repeat(200), system_prompt: 'é'.repeat(20_000), opening_message: 'x'.repeat(1000) } });
  t.equal(longest.status, 201, 'the bounds themselves are allowed');

  for (const limit of ['0', '101', '1.5', 'x', '']) {
    t.match(await api.call('GET', `/v1/agents?limit=${limit}`), { status: 400, body: { error: { code: 'invalid_parameter', param: 'limit' } } }, `limit=${limit}`);
  }
  t.match(await api.call('GET', '/v1/agents?offset=1'), { status: 400, body: { error: { code: 'unknown_parameter', param: 'offset' } } });
  t.match(await api.call('GET', '/v1/calls?created_after=yesterday'), { status: 400, body: { error: { param: 'created_after' } } });

  t.notMatch(JSON.stringify(longest.body), /node_modules|\.ts:/);
});
