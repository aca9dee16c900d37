import t from 'tap';
import { renderMergeFields } from '../../../src/resources/agents/merge-fields.ts';
import { resolveAgentSpec } from '../../../src/resources/agents/spec.ts';
import { startApiHarness } from '../../support/api-harness.ts';
import { requireAgent } from '../../../src/resources/agents/actions.ts';

t.test('merge fields', (t) => {
  const sources = [{ name: 'Ada', 'lead.fields.city': 'Bath', hostile: '{{secret}}' }, { name: 'never', secret: 'x', empty: '' }];
  const cases: [template: string, text: string, unresolved: string[]][] = [
    ['Hello {{name}} of {{lead.fields.city}}!', 'Hello Ada of Bath!', []],
    ['Hello {{ who | "there" }}!', 'Hello there!', []],
    ['Hello {{who}}!', 'Hello !', ['who']],
    ['{{hostile}}', '{{secret}}', []],
    ['{{empty}}|{{constructor}}', '|', ['constructor']],
    ['{{not a field!}} and {{', ' and {{', ['not a field!']],
    ['no fields', 'no fields', []],
  ];
  for (const [template, text, unresolved] of cases) t.same(renderMergeFields(template, sources), { text, unresolved }, template);
  t.equal(renderMergeFields('{{'.repeat(10_000), sources).text.length, 20_000, 'open braces are text');
  t.end();
});

t.test('agents', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const body = { name: 'Desk', system_prompt: 'Help {{name}}.', opening_message: 'Hello {{name | "there"}}.' };
  const create = async (more: object = {}, key = api.account.live) => (await api.call('POST', '/v1/agents', { key, body: { ...body, ...more } }));

  t.test('everything left open is filled in', async (t) => {
    const made = await create();
    t.match(made, { status: 201, body: {
      object: 'agent', livemode: true, version: 1, language: 'en-US', appointment_booking_enabled: false, knowledge_base_id: null, description: null, protect_opening: false,
      max_duration_seconds: 3600, engine: 'classic', variables: {}, silence: { reminder_after_ms: 10_000, max_reminders: 1, hang_up_after_ms: 30_000 }, recording: { enabled: true, channels: 'stereo' },
      voice: {
        stt: { model: 'local/ear', language: 'en-US', endpointing_ms: 300 }, llm: { model: 'local/mind', temperature: 0.6, max_tokens: 300 },
        tts: { model: 'local/mouth', voice: 'plain', stability: 0.5, similarity_boost: 0.75, speed: 1 }, turn_taking: { interrupt_sensitivity: 'normal', silence_wait_ms: 500 },
      },
      created_at: '2026-11-21T12:00:00.000Z',
    } });
    t.match(made.body.id, /^[0-9a-f]{24}$/);
    t.notOk('realtime' in made.body.voice);
    t.same((await api.call('GET', `/v1/agents/${made.body.id}`)).body, made.body);
  });

  t.test('voices', async (t) => {
    t.match(await create({ voice: { llm: { model: 'nobody/none' } } }), { status: 400, body: { error: { code: 'unknown_model', param: 'voice.llm.model' } } });
    t.match(await create({ voice: { realtime: { model: 'some/model' } } }), { status: 400, body: { error: { code: 'unknown_model', param: 'voice.realtime.model' } } });
    t.match(await create({ voice: { stt: { model: 'local/ear' }, realtime: { model: 'some/model' } } }), { status: 400, body: { error: { code: 'conflicting_voice' } } });
    t.match(await create({ language: 'de-DE' }), { status: 201, body: { voice: { stt: { language: 'de-DE' } }, warnings: [/does not speak de-DE/, /de-DE/] } });
  });

  t.test('changes: objects are replaced whole, null goes back to the default, versions grow', async (t) => {
    const { id } = (await create({ voice: { tts: { speed: 1.5 } }, description: 'x' })).body;
    const changed = await api.call('PATCH', `/v1/agents/${id}`, { body: { name: 'New', description: null, voice: { stt: { endpointing_ms: 100 } } } });
    t.match(changed, { status: 200, body: { name: 'New', description: null, version: 2, system_prompt: body.system_prompt, voice: { stt: { endpointing_ms: 100 }, tts: { speed: 1 } } } });
    t.match((await api.call('PATCH', `/v1/agents/${id}`, { body: { language: 'en-GB', silence: { reminder_after_ms: 5000 } } })).body, { version: 3, voice: { stt: { language: 'en-GB', endpointing_ms: 100 } }, silence: { reminder_after_ms: 5000, max_reminders: 1 } });
    t.match((await api.call('PATCH', `/v1/agents/${id}`, { body: { silence: null } })).body, { version: 4, silence: { reminder_after_ms: 10_000 } });
    t.equal((await api.call('PATCH', `/v1/agents/${id}`, { body: {} })).body.version, 4, 'nothing sent, nothing changed');
    t.match(await api.call('PATCH', `/v1/agents/${id}`, { body: { name: null } }), { status: 400, body: { error: { param: 'name' } } });
    t.match(await api.call('PATCH', `/v1/agents/${id}`, { body: { id: 'x' } }), { status: 400, body: { error: { code: 'unknown_parameter' } } });
    const versions = (await api.call('GET', `/v1/agents/${id}/versions`)).body;
    t.same(versions.data.map((entry: { version: number; name: string }) => [entry.version, entry.name]), [[4, 'New'], [3, 'New'], [2, 'New'], [1, 'Desk']]);
    const both = await Promise.all([api.call('PATCH', `/v1/agents/${id}`, { body: { name: 'a' } }), api.call('PATCH', `/v1/agents/${id}`, { body: { description: 'b' } })]);
    t.same(new Set(both.map((answer) => answer.body.version)), new Set([5, 6]));
    t.match((await api.call('GET', `/v1/agents/${id}`)).body, { name: 'a', description: 'b' }, 'changes at once lose nothing');
  });

  t.test('references, accounts, modes, deletion', async (t) => {
    const { id } = (await create()).body;
    t.match(await create({ knowledge_base_id: id }), { status: 404, body: { error: { code: 'knowledge_base_not_found', param: 'knowledge_base_id' } } });
    t.match(await create({ outbound_phone_number_id: id }), { status: 404, body: { error: { code: 'phone_number_not_found', param: 'outbound_phone_number_id' } } });
    const stranger = await api.newAccount();
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const options = method === 'PATCH' ? { body: { name: 'x' } } : {};
      t.match(await api.call(method, `/v1/agents/${id}`, { key: stranger.live, ...options }), { status: 404, body: { error: { code: 'agent_not_found' } } });
      t.match(await api.call(method, `/v1/agents/${id}`, { key: api.account.test, ...options }), { status: 403, body: { error: { code: 'key_mode_mismatch' } } });
    }
    t.same((await api.call('GET', '/v1/agents', { key: stranger.live })).body.data, []);
    t.same((await api.call('GET', '/v1/agents', { key: api.account.test })).body.data, []);
    t.match(await api.call('DELETE', `/v1/agents/${id}`), { status: 200, body: { id, object: 'agent', deleted: true } });
    t.equal((await api.call('GET', `/v1/agents/${id}`)).status, 404);
    t.equal((await api.call('GET', '/v1/agents')).body.data.some((agent: { id: string }) => agent.id === id), false);
  });

  t.test('what a call gets', async (t) => {
    const { id } = (await create({ variables: { name: 'Bo' }, recording: { consent_message: 'This call is recorded.' }, timezone: 'Europe/Berlin', max_duration_seconds: 60 })).body;
    const row = await requireAgent(api.context.db, { accountId: api.account.id, livemode: true }, id);
    const now = new Date('2026-11-21T23:30:00Z');
    const plain = resolveAgentSpec(row, { variables: {}, now });
    t.match(plain, { agent: { systemPrompt: 'Help Bo.', openingMessage: 'This call is recorded. Hello Bo.', maxDurationMs: 60_000, version: 1, tts: { similarityBoost: 0.75 } }, unresolved: [] });
    const own = resolveAgentSpec(row, { variables: { name: 'Cy' }, overrides: { opening_message: '{{date}} {{phone_number}} {{gone}}' }, now, phoneNumber: '+15550100009', maxDurationSeconds: 30 });
    t.match(own, { agent: { systemPrompt: 'Help Cy.', openingMessage: 'This call is recorded. Sunday, November 22, 2026 +15550100009 ', maxDurationMs: 30_000 }, unresolved: ['gone'] });
  });
});
