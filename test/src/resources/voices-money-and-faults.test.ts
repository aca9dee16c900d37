import t from 'tap';
import { creditAccount, FEE_MICROS, startVoiceHarness, usageOf } from '../../support/voice-harness.ts';
import { postVoice } from '../../support/voice-requests.ts';
import { noiseWav } from '../../support/voice-recordings.ts';
import { until } from '../../support/until.ts';
import type { Answer } from '../../support/api-harness.ts';

const speech = noiseWav(30);
const MINUTE_MS = 60_000;
const UNAVAILABLE = { status: 503, headers: { 'retry-after': '30' }, body: { error: { type: 'api_error', code: 'cloning_unavailable' } } };

t.test('money, limits and faults', async (t) => {
  const { api, provider } = await startVoiceHarness();
  t.teardown(() => api.close());

  /** An account that can pay for so many clones, and what is asked of it. */
  const payer = async (clones: number) => {
    const account = await api.newAccount();
    if (clones > 0) await creditAccount(api, clones * FEE_MICROS, account.id);
    const key = account.live;
    const clone = (idempotencyKey?: string, files = [speech]): Promise<Answer> => postVoice(api, { key, files, headers: idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey } });
    return {
      account, clone,
      clonesPaidFor: async (): Promise<number> => clones - (await api.call('GET', '/v1/billing', { key })).body.balance_micros / FEE_MICROS,
      voices: async (): Promise<string[]> => (await api.call('GET', '/v1/voices?limit=100', { key })).body.data.map(({ id }: { id: string }) => id),
      /** Statuses of all rows, also of what never became a voice. */
      rows: async (): Promise<string[]> => (await api.context.db.query<{ status: string }>('SELECT status FROM voice WHERE account_id = $1 ORDER BY id', [account.id])).map(({ status }) => status),
    };
  };
  /** Begins to clone, and resolves once the provider was asked. */
  const begin = async (clone: () => Promise<Answer>): Promise<{ answer: Promise<Answer> }> => {
    const asked = provider.requests.length;
    const answer = clone();
    await until('the provider to be asked', 10_000, () => Promise.resolve(provider.requests.length > asked || undefined));
    return { answer };
  };
  t.afterEach(() => {
    provider.mood = 'well';
    provider.onClone = () => undefined;
  });

  t.test('the fee is charged once the clone is made, and itemised', async (t) => {
    const one = await payer(2);
    let before = NaN;
    provider.onClone = async () => { before = await one.clonesPaidFor(); };
    t.equal((await one.clone()).status, 201);
    t.same([before, await one.clonesPaidFor()], [0, 1]);
    t.match(await usageOf(api, one.account.id), [{ amount_micros: FEE_MICROS, livemode: true, model: 'elevenlabs/instant-voice-clone', api_key_id: /^[0-9a-f]{24}$/ }]);
  });

  t.test('nothing is charged for a refusal or a death of the provider', async (t) => {
    const one = await payer(1);
    for (const mood of ['refuses', 'dies'] as const) {
      provider.mood = mood;
      t.match(await one.clone(), UNAVAILABLE, mood);
    }
    t.same([await one.clonesPaidFor(), await one.voices(), await usageOf(api, one.account.id)], [0, [], []]);
  });

  t.test('nor for one that says nothing for a minute', async (t) => {
    const one = await payer(1);
    provider.mood = 'hangs';
    const { answer } = await begin(one.clone);
    api.clock.advance(MINUTE_MS);
    t.match(await answer, UNAVAILABLE);
    t.equal(await one.clonesPaidFor(), 0);
  });

  t.test('two at once that can be paid for once', async (t) => {
    const one = await payer(1);
    const made = provider.clones.size;
    const meeting = Promise.withResolvers<void>();
    let waiting = 0;
    // Both have seen the credit when the first is charged.
    provider.onClone = () => {
      if (++waiting === 2) meeting.resolve();
      return meeting.promise;
    };
    const answers = await Promise.all([one.clone(), one.clone()]);
    t.same(answers.map(({ status }) => status).sort((a, b) => a - b), [201, 402]);
    t.match(answers.find(({ status }) => status === 402)?.body, { error: { type: 'insufficient_credits', code: 'insufficient_credits' } });
    t.equal(await one.clonesPaidFor(), 1);
    t.equal(provider.clones.size, made + 1, 'the clone that could not be paid for is deleted again');
  });

  t.test('without credit the provider is not asked', async (t) => {
    const one = await payer(0);
    const asked = provider.requests.length;
    t.match(await one.clone(), { status: 402, body: { error: { type: 'insufficient_credits', code: 'insufficient_credits' } } });
    t.same([provider.requests.length, await one.rows()], [asked, []]);
  });

  t.test('the limit', async (t) => {
    const { options } = api.context;
    const fifty = options.maxVoicesPerAccount;
    options.maxVoicesPerAccount = 3;
    t.teardown(() => { options.maxVoicesPerAccount = fifty; });
    t.equal(fifty, 50);
    const full = { status: 409, body: { error: { type: 'conflict_error', code: 'voice_limit_reached' } } };
    const one = await payer(10);
    const asked = provider.requests.length;
    const answers = await Promise.all(Array.from({ length: 6 }, () => one.clone()));
    t.same(answers.map(({ status }) => status).sort((a, b) => a - b), [201, 201, 201, 409, 409, 409], 'six at once take three places');
    t.same([provider.requests.length - asked, await one.clonesPaidFor()], [3, 3]);
    t.match(await one.clone(), full);
    t.match(await postVoice(api, { key: one.account.test, files: [speech] }), { status: 201 }, 'test mode has places of its own');
    t.match(await (await payer(1)).clone(), { status: 201 }, 'and so has every account');
    await api.call('DELETE', `/v1/voices/${(await one.voices())[0]}`, { key: one.account.live });
    provider.mood = 'refuses';
    t.match(await one.clone(), UNAVAILABLE);
    provider.mood = 'dies';
    t.match(await one.clone(), UNAVAILABLE);
    provider.mood = 'well';
    t.equal((await one.clone()).status, 201, 'failures take no place');
    t.match(await one.clone(), full);
  });

  t.test('Idempotency-Key: the first answer is replayed', async (t) => {
    const one = await payer(3);
    const asked = provider.requests.length;
    const first = await one.clone('key');
    const again = await one.clone('key');
    t.match(again, { status: 201, headers: { 'idempotent-replayed': 'true' } });
    t.same(again.body, first.body);
    t.equal(provider.requests.length, asked + 1);
    t.match(await one.clone('key', [noiseWav(31)]), { status: 409, body: { error: { code: 'idempotency_key_reused' } } }, 'other recordings are another body');
  });

  t.test('Idempotency-Key: a provider that failed is asked again', async (t) => {
    const one = await payer(3);
    for (const mood of ['refuses', 'dies'] as const) {
      provider.mood = mood;
      t.match(await one.clone('key'), UNAVAILABLE);
    }
    provider.mood = 'well';
    t.match(await one.clone('key'), { status: 201, headers: { 'idempotent-replayed': undefined } });
    t.equal(await one.clonesPaidFor(), 1);
  });

  t.test('Idempotency-Key: a retry while the first is running', async (t) => {
    const one = await payer(3);
    const held = Promise.withResolvers<void>();
    provider.onClone = () => held.promise;
    const { answer } = await begin(() => one.clone('key'));
    t.match(await one.clone('key'), { status: 409, headers: { 'retry-after': '1' }, body: { error: { code: 'idempotency_in_progress' } } });
    held.resolve();
    t.equal((await answer).status, 201);
  });

  t.test('Idempotency-Key: a process that died after the clone was made', async (t) => {
    const one = await payer(3);
    provider.mood = 'vanishes';
    const { answer: lost } = await begin(() => one.clone('key'));
    await api.context.db.query('UPDATE idempotency SET lease_until = created_at WHERE account_id = $1', [one.account.id]);
    provider.mood = 'well';
    const asked = provider.requests.length;
    const { status, body } = await one.clone('key');
    t.equal(status, 201);
    t.equal(provider.requests.length, asked, 'its successor takes the clone over');
    t.equal(body.provider_voice_id, provider.clones.get(body.id));
    t.equal(await one.clonesPaidFor(), 1);
    api.clock.advance(10 * MINUTE_MS);
    t.match(await lost, UNAVAILABLE);
    await api.context.jobs.runDue();
    t.equal(provider.clones.get(body.id), body.provider_voice_id, 'and neither the first run nor the clean-up touches it');
    t.same(await one.voices(), [body.id]);
    t.equal(await one.clonesPaidFor(), 1);
  });

  const cleanUp = async (): Promise<void> => {
    api.clock.advance(10 * MINUTE_MS);
    await api.context.jobs.runDue();
  };

  t.test('an orphan is deleted at the provider', async (t) => {
    await cleanUp();
    const one = await payer(3);
    const made = provider.clones.size;
    provider.mood = 'dies';
    await one.clone();
    t.same([provider.clones.size, await one.rows()], [made + 1, ['abandoned']]);
    await api.context.jobs.runDue();
    t.equal(provider.clones.size, made + 1, 'not before ten minutes have passed');
    await cleanUp();
    t.same([provider.clones.size, await one.rows()], [made + 1, ['cleaning']], 'a provider that is down is asked again');
    provider.mood = 'well';
    await cleanUp();
    t.same([provider.clones.size, await one.rows()], [made, []]);
  });

  t.test('also that of a process that died', async (t) => {
    const one = await payer(3);
    const made = provider.clones.size;
    provider.mood = 'vanishes';
    const { answer } = await begin(one.clone);
    provider.mood = 'well';
    await cleanUp();
    await answer;
    t.same([provider.clones.size, await one.rows()], [made, []]);
  });

  t.test('a clone that is ready when it was given up already is deleted', async (t) => {
    const one = await payer(3);
    const made = provider.clones.size;
    provider.onClone = async () => { await api.context.db.query('DELETE FROM voice WHERE account_id = $1', [one.account.id]); };
    t.match(await one.clone(), UNAVAILABLE);
    t.same([provider.clones.size, await one.clonesPaidFor()], [made, 0]);
  });

  t.test('a clone that can be neither kept nor taken back is cleaned up later', async (t) => {
    const one = await payer(3);
    const made = provider.clones.size;
    provider.onClone = async () => {
      await api.context.db.query('UPDATE voice SET status = \'abandoned\', slot = NULL WHERE account_id = $1', [one.account.id]);
      provider.delete = () => Promise.reject(new Error('down'));
    };
    t.match(await one.clone(), UNAVAILABLE);
    t.equal(provider.clones.size, made + 1);
    Reflect.deleteProperty(provider, 'delete');
    await cleanUp();
    t.same([provider.clones.size, await one.rows()], [made, []]);
  });
});
