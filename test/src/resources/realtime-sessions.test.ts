import t from 'tap';
import { startApiHarness, type Answer } from '../../support/api-harness.ts';
import { AGENT } from '../../support/examples/agents.ts';

t.test('realtime sessions', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const { db } = api.context;
  const agent_id = (await api.call('POST', '/v1/agents', { body: { ...AGENT, opening_message: 'Hello {{name}}' } })).body.id;
  const open = (body: object = {}, idempotencyKey?: string): Promise<Answer> =>
    api.call('POST', '/v1/realtime/sessions', { body: { agent_id, ...body }, headers: idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey } });

  t.test('what is asked reaches the call', async (t) => {
    const asked = { variables: { name: 'Ada' }, metadata: { order: '7' }, overrides: { language: 'en-GB', voice: { tts: { voice: 'other' } } }, max_duration_seconds: 90 };
    const audio = { input: { encoding: 'pcmu', sample_rate: 8000 }, output: { encoding: 'pcm16', sample_rate: 48_000 } };
    const made = await open({ ...asked, audio });
    t.match(made, { status: 201, body: {
      object: 'realtime_session', livemode: true, agent_id, audio, url: /^ws:/, expires_at: '2026-11-21T12:01:00.000Z',
      client_secret: { value: /^wvr_/, expires_at: '2026-11-21T12:01:00.000Z' },
    } });
    t.notOk('secret_already_shown' in made.body);
    t.notOk('webrtc_url' in made.body);
    t.match(api.liveCalls.opened.at(-1), { agent: { openingMessage: 'Hello Ada', language: 'en-GB', tts: { voice: 'other', model: 'local/mouth' }, maxDurationMs: 90_000 }, audio: { input: { encoding: 'pcmu', sampleRate: 8000 } } });
    t.match((await api.call('GET', `/v1/calls/${made.body.call_id}`)).body, { direction: 'realtime', status: 'queued', realtime_session_id: made.body.id, from: null, to: null, ...asked });
    t.match((await open()).body, { audio: { input: { encoding: 'pcm16', sample_rate: 16_000 }, output: { encoding: 'pcm16', sample_rate: 16_000 } } });
  });

  t.test('fields that nothing fills are noted in the log', async (t) => {
    const { call_id } = (await open()).body;
    t.match((await api.call('GET', `/v1/calls/${call_id}/log`)).body.entries, [{ source: 'session', event: 'merge_fields_unresolved', detail: { fields: ['name'] } }]);
  });

  t.test('refusals', async (t) => {
    for (const [body, code, param] of [
      [{ overrides: { voice: { tts: { model: 'no/such' } } } }, 'unknown_model', 'overrides.voice.tts.model'],
      [{ overrides: { language: 'de-DE' } }, 'unsupported_language', 'agent_id'],
      [{ overrides: { name: 'x' } }, 'unknown_parameter', 'overrides.name'],
      [{ max_duration_seconds: 29 }, 'invalid_parameter', 'max_duration_seconds'], [{ max_duration_seconds: 14_401 }, 'invalid_parameter', 'max_duration_seconds'],
      [{ audio: { output: { encoding: 'pcma', sample_rate: 16_000 } } }, 'invalid_parameter', 'audio.output.sample_rate'],
      [{ audio: { input: { encoding: 'pcm16', sample_rate: 44_100 } } }, 'invalid_parameter', 'audio.input.sample_rate'],
      [{ agent_id: 'x' }, 'invalid_id', 'agent_id'], [{ nonsense: 1 }, 'unknown_parameter', 'nonsense'],
    ] as const) t.match(await open(body), { status: 400, body: { error: { code, param } } }, JSON.stringify(body));
  });

  t.test('a retry gets the same session, without its secret', async (t) => {
    const opened = api.liveCalls.opened.length;
    const first = await open({}, 'twice');
    const again = await open({}, 'twice');
    t.match(again, { status: 201, headers: { 'idempotent-replayed': 'true' }, body: { id: first.body.id, call_id: first.body.call_id, client_secret: null, secret_already_shown: true } });
    await db.query("UPDATE idempotency SET status = NULL, answer = NULL, lease_until = '2000-01-01' WHERE key = 'twice'");
    const { client_secret: _, url: __, ...same } = first.body;
    t.match(await open({}, 'twice'), { status: 201, headers: { 'idempotent-replayed': 'true' }, body: {
      ...same, client_secret: null, secret_already_shown: true, url: `ws://localhost:8080/v1/realtime?session=${first.body.id}`,
    } }, 'after a crash too');
    t.equal(api.liveCalls.opened.length, opened + 1);
    const stored = await db.query<{ answer: string }>('SELECT answer FROM idempotency WHERE answer IS NOT NULL');
    t.notMatch(JSON.stringify(stored), /wvr_/);
    t.notMatch(api.logged.join(), /wvr_/);
  });

  t.test('a retry of one that found no place is shown what was made', async (t) => {
    api.liveCalls.full = true;
    t.match(await open({}, 'full'), { status: 429, body: { error: { code: 'concurrency_limit' } } });
    const again = await open({}, 'full');
    t.match(again, { status: 201, headers: { 'idempotent-replayed': 'true' }, body: { client_secret: null } });
    t.match((await api.call('GET', `/v1/calls/${again.body.call_id}`)).body, { status: 'failed', end_reason: 'concurrency_limit' });
    t.match(api.events, [{ event: 'callCompleted', data: { id: again.body.call_id, direction: 'realtime', metadata: {} } }], 'a call that was never joined completes too');
    api.liveCalls.full = false;
  });
});
