import t from 'tap';
import { startApiHarness } from '../../support/api-harness.ts';
import { AGENT } from '../../support/examples/agents.ts';

t.test('numbers and words of a voice, at their bounds and one past them', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const nested = (path: string, value: unknown): object => path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;
  const create = (path: string, value: unknown) => api.call('POST', '/v1/agents', { body: { ...AGENT, ...nested(path, value) } });
  for (const [path, low, high, step, whole] of [
    ['voice.stt.endpointing_ms', 10, 5000, 1, true], ['voice.llm.temperature', 0, 2, 0.01, false], ['voice.llm.max_tokens', 1, 4096, 1, true], ['voice.tts.stability', 0, 1, 0.01, false],
    ['voice.tts.similarity_boost', 0, 1, 0.01, false], ['voice.tts.speed', 0.5, 2, 0.01, false], ['voice.turn_taking.silence_wait_ms', 100, 5000, 1, true],
  ] as const) {
    for (const value of [low, high]) {
      const made = await create(path, value);
      t.equal(made.status, 201, `${path} ${value}`);
      t.equal(path.split('.').reduce((at, name) => at[name], made.body), value, `${path} ${value} is shown as it was sent`);
    }
    for (const value of [low - step, high + step, ...(whole ? [low + 0.5] : []), String(low), null]) {
      t.match(await create(path, value), { status: 400, body: { error: { code: 'invalid_parameter', param: path } } }, `${path} ${value}`);
    }
  }
  const SENSITIVITY = 'voice.turn_taking.interrupt_sensitivity';
  for (const value of ['off', 'low', 'normal', 'high']) t.match(await create(SENSITIVITY, value), { status: 201, body: nested(SENSITIVITY, value) }, value);
  for (const value of ['', 'medium', 'Normal', 1]) t.match(await create(SENSITIVITY, value), { status: 400, body: { error: { code: 'invalid_parameter', param: SENSITIVITY } } }, String(value));
  for (const path of ['language', 'voice.stt.language']) {
    t.equal((await create(path, 'en-GB')).status, 201, path);
    for (const value of ['en', 'english', 'EN-us', 'en_US', 'eng-USA1', '']) t.match(await create(path, value), { status: 400, body: { error: { code: 'invalid_parameter', param: path } } }, `${path} ${value}`);
  }
});

t.test('what an agent cannot be without, and every built-in tool', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const create = (more: object) => api.call('POST', '/v1/agents', { body: { ...AGENT, ...more } });
  for (const param of ['name', 'system_prompt', 'opening_message']) {
    t.match(await create({ [param]: undefined }), { status: 400, body: { error: { code: 'missing_parameter', param } } });
    for (const value of ['', null, 1]) t.match(await create({ [param]: value }), { status: 400, body: { error: { code: 'invalid_parameter', param } } }, `${param} ${value}`);
    t.equal((await create({ [param]: 'x' })).status, 201, `${param} of one character`);
  }
  const types = ['end_call', 'transfer_call', 'send_dtmf', 'book_appointment', 'reschedule_appointment', 'check_availability', 'cancel_appointment', 'qualify_lead', 'update_lead', 'take_message', 'search_knowledge'];
  t.match((await create({ tools: types.map((type) => ({ type })) })).body.tools, types.map((type) => ({ type, enabled: true })));
  t.match((await create({ tools: types.map((type) => ({ type, enabled: false })) })).body.tools, types.map((type) => ({ type, enabled: false })));
});
