import t from 'tap';
import { buildApp } from '../../../src/app.ts';
import { engineCatalogue, type InstalledEngines } from '../../../src/engine-catalogue.ts';
import { engineOf } from '../../../src/resources/engines/engine-of.ts';
import { HealthRecords, RollingHealth, type Outcome } from '../../../src/resources/engines/health.ts';
import type { Engine } from '../../../src/resources/engines/schema.ts';
import { setPrice } from '../../../src/resources/billing/prices.ts';
import { startApiHarness } from '../../support/api-harness.ts';
import { TestClock } from '../../support/test-clock.ts';

const ok: Outcome = { kind: 'ok' };

t.test('GET /v1/engines', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  /** The list of an installation with these engines. */
  const list = async (installed: InstalledEngines = {}, key = api.account.live): Promise<{ status: number; body: { data: Engine[] } }> => {
    const app = await buildApp({ ...api.context, engines: engineCatalogue(installed) });
    const answer = await app.inject({ method: 'GET', url: '/v1/engines', headers: { authorization: `Bearer ${key}` } });
    await app.close();
    return { status: answer.statusCode, body: answer.json() };
  };
  const engine = async (id: string, installed?: InstalledEngines): Promise<Engine | undefined> => (await list(installed)).body.data.find((one) => one.id === id);

  t.test('one page with every engine', async (t) => {
    const { status, body } = await list();
    t.equal(status, 200);
    t.match(body, { object: 'list', has_more: false, next_cursor: null });
    t.same(body.data.map(({ id, kind, available }) => [id, kind, available]), [['classic', 'composed', true], ['vendor_c_agent', 'composed', false], ['vendor_b', 'composed', false]]);
    for (const one of body.data) t.match(one, { object: 'engine', name: String, languages: Array, sample_rates: [Number], health: { state: 'healthy', error_rate: 0, p95_ms: null } });
    for (const { unit, price_micros } of body.data.flatMap(({ models }) => models)) {
      t.match(unit, /^(second|minute|hour|1k_(cached_)?(in|out)put_tokens|1k_characters|clone)$/);
      t.ok(Number.isSafeInteger(price_micros) && price_micros >= 0);
    }
  });

  t.test('any valid key may read it, and only a valid one', async (t) => {
    t.equal((await list({}, await api.newKey(api.account, ['usage:read']))).status, 200);
    t.equal((await list({}, await api.newKey(api.account, ['leads:write'], false))).status, 200);
    t.match(await api.call('GET', '/v1/engines', { key: null }), { status: 401 });
    for (const query of ['limit=1', 'starting_after=x']) t.match(await api.call('GET', `/v1/engines?${query}`), { status: 400, body: { error: { code: 'unknown_parameter' } } });
  });

  t.test('the embedded models are classic\'s and cost nothing', async (t) => {
    const classic = await engine('classic', { llm: 'small' });
    t.match(classic, { languages: ['en'], limits: { endpointing_ms: { min: 10, max: 5000, default: 300 }, speed: { min: 0.5, max: 2, default: 1 } } });
    for (const [component, model] of [['stt', 'local/moonshine-tiny-en'], ['llm', 'local/offline-agent'], ['llm', 'openai-compatible/small'], ['tts', 'local/flite']] as const) {
      const lines = classic?.models.filter((one) => one.component === component && one.model === model) ?? [];
      t.ok(lines.length > 0, model);
      t.ok(lines.every(({ price_micros }) => price_micros === 0), model);
    }
    t.match(classic?.models.find(({ component }) => component === 'tts')?.voices, ['rms', 'slt', 'awb', 'kal16']);
    t.notOk((await engine('classic'))?.models.some(({ model }) => model.startsWith('openai-compatible/')), 'no endpoint, no model of it');
  });

  t.test('prices are those in force', async (t) => {
    const fee = async (): Promise<object | undefined> => (await engine('classic'))?.models.find(({ component }) => component === 'voice_clone');
    t.match(await fee(), { model: 'elevenlabs/instant-voice-clone', unit: 'clone', price_micros: 1_000_000 });
    await setPrice(api.context.db, { component: 'voice_clone', model: 'elevenlabs/*', unit: 'clone', priceMicros: 1_250_000 }, api.clock.now());
    t.match(await fee(), { unit: 'clone', price_micros: 1_250_000 });
    t.match((await engine('classic'))?.models.find(({ component }) => component === 'telephony'), { unit: 'minute', price_micros: 0 });
    t.match((await engine('vendor_b'))?.models.find(({ component }) => component === 'stt'), { model: 'sarvam/saaras:v3', unit: 'hour', price_micros: 340_909 });
    const { models = [] } = (await engine('classic')) ?? {};
    t.same(models.filter(({ model }) => model === 'local/offline-agent').map(({ unit }) => unit), ['1k_input_tokens', '1k_output_tokens'], 'one line for each unit');
  });

  t.test('a vendor\'s engine is there once its credentials are', async (t) => {
    t.match(await engine('vendor_b', { configured: ['vendor_b'] }), { available: true, languages: ['bn', 'en'] });
  });

  t.test('a degraded engine disappears until a probe succeeds', async (t) => {
    const health = new HealthRecords(api.clock);
    const installed = { configured: ['vendor_b'], health };
    const ids = async (): Promise<string[]> => (await list(installed)).body.data.map(({ id }) => id);
    health.record('sarvam/bulbul:v3', { kind: 'ok', firstResultMs: 180 });
    t.match(await engine('vendor_b', installed), { health: { state: 'healthy', error_rate: 0, p95_ms: 180 } });
    for (let n = 0; n < 3; n++) health.record('sarvam/bulbul:v3', { kind: 'connect_failure' });
    t.same(await ids(), ['classic', 'vendor_c_agent'], 'its only TTS is gone');
    t.same(health.degraded(), ['sarvam/bulbul:v3']);
    health.probed('sarvam/bulbul:v3', false);
    api.clock.advance(3_600_000);
    t.notOk((await ids()).includes('vendor_b'), 'time heals nothing');
    health.probed('sarvam/bulbul:v3', true);
    t.ok((await ids()).includes('vendor_b'));
  });

  t.test('of two models the healthy one goes on', async (t) => {
    const health = new HealthRecords(api.clock);
    health.record('openai-compatible/small', { kind: 'refused' });
    const classic = await engine('classic', { llm: 'small', health });
    t.same([...new Set(classic?.models.filter(({ component }) => component === 'llm').map(({ model }) => model))], ['local/offline-agent']);
  });
});

t.test('what agents may name is what the list has', (t) => {
  const all = { configured: ['vendor_b', 'vendor_c_agent'], llm: 'small' };
  const engines = engineCatalogue(all);
  for (const { available, models } of engines.offered()) {
    t.ok(available);
    for (const { component, model } of models) if (component === 'stt' || component === 'llm' || component === 'tts') t.ok(engines.isKnownModel(component, model), model);
  }
  t.notOk(engineCatalogue().isKnownModel('stt', 'sarvam/saaras:v3'), 'not without credentials');
  t.notOk(engines.isKnownModel('tts', 'local/moonshine-tiny-en'), 'each for its component');
  t.notOk(engines.isKnownModel('realtime', 'local/flite'));
  t.ok(engines.speaks('stt', 'local/moonshine-tiny-en', 'en-GB'));
  t.notOk(engines.speaks('tts', 'local/flite', 'hi-IN'));
  t.ok(engines.speaks('tts', 'sarvam/bulbul:v3', 'hi-IN'));
  t.same(engines.defaults, { stt: 'local/moonshine-tiny-en', llm: 'openai-compatible/small', tts: 'local/flite', ttsVoice: 'rms' });
  t.equal(engineCatalogue().defaults.llm, 'local/offline-agent');
  t.end();
});

t.test('the engine of an agent', (t) => {
  const engines = engineCatalogue({ configured: ['vendor_b', 'vendor_c_agent'], llm: 'small' });
  const voice = (stt: string, llm: string, tts: string): object => ({ stt: { model: stt, language: 'en-US' }, llm: { model: llm }, tts: { model: tts } });
  t.equal(engineOf(voice('local/moonshine-tiny-en', 'openai-compatible/small', 'local/flite'), engines), 'classic');
  t.equal(engineOf(voice('sarvam/saaras:v3', 'openai-compatible/small', 'sarvam/bulbul:v3'), engines), 'vendor_b');
  t.equal(engineOf(voice('sarvam/saaras:v3', 'local/offline-agent', 'local/flite'), engines), 'classic', 'a mixture is composed');
  t.equal(engineOf(voice('deepgram/nova-3', 'local/offline-agent', 'deepgram/aura-2'), engines), 'classic', 'a managed agent needs all three');
  t.end();
});

t.test('rolling health', (t) => {
  const clock = new TestClock();
  const fresh = (outcomes: Outcome[] = []): RollingHealth => {
    const health = new RollingHealth(clock);
    for (const outcome of outcomes) health.record(outcome);
    return health;
  };
  const times = (count: number, outcome: Outcome): Outcome[] => Array.from({ length: count }, () => outcome);
  const state = (outcomes: Outcome[]): string => fresh(outcomes).figures.state;

  t.same(fresh().figures, { state: 'healthy', errorRate: 0, p95Ms: null });
  t.equal(state([...times(8, ok), ...times(2, { kind: 'error' })]), 'healthy', '20 % is allowed');
  t.equal(state([...times(7, ok), ...times(3, { kind: 'error' })]), 'degraded', '30 % is not');
  t.equal(state(times(9, { kind: 'error' })), 'healthy', 'nine uses say nothing yet');
  t.equal(state(times(10, { kind: 'error' })), 'degraded');
  t.equal(state(times(2, { kind: 'connect_failure' })), 'healthy');
  t.equal(state(times(3, { kind: 'connect_failure' })), 'degraded', 'three of the last ten');
  t.equal(state([...times(2, { kind: 'connect_failure' }), ...times(90, ok), { kind: 'connect_failure' }]), 'healthy', 'two of them are long past');
  t.equal(state([{ kind: 'refused' }]), 'degraded', 'credentials or quota: at once');

  const measured = fresh(Array.from({ length: 100 }, (_, n) => ({ kind: 'ok', firstResultMs: n + 1 })));
  t.equal(measured.figures.p95Ms, 95);

  const aged = fresh(times(9, { kind: 'error' }));
  clock.advance(60_000);
  aged.record({ kind: 'error' });
  t.match(aged.figures, { state: 'healthy', errorRate: 1 }, 'a minute is looked at');

  const recovered = fresh([{ kind: 'refused' }]);
  recovered.record(ok);
  t.equal(recovered.figures.state, 'degraded', 'a straggler that succeeds is no probe');
  recovered.probed(true);
  t.same(recovered.figures, { state: 'healthy', errorRate: 0, p95Ms: null });
  t.end();
});
