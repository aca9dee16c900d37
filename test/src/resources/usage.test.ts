import fc from 'fast-check';
import t from 'tap';
import { newId } from '../../../src/db/id.ts';
import { setPrice } from '../../../src/resources/billing/prices.ts';
import { amountOf, PRICE_UNITS } from '../../../src/resources/billing/units.ts';
import { recordUsage, type NewUsage } from '../../../src/resources/usage/actions.ts';
import { startApiHarness } from '../../support/api-harness.ts';

const DAY_MS = 24 * 3_600_000;

t.test('a row is rounded half up, once', (t) => {
  for (const [quantity, price, unit, amount] of [
    [0, 4800, 'minute', 0n], [1, 4800, 'minute', 0n], [6, 4800, 'minute', 0n], [7, 4800, 'minute', 1n], [60_000, 4800, 'minute', 4800n], [1, 500, '1k_characters', 1n],
    [1, 499, '1k_characters', 0n], [3, 500, '1k_characters', 2n], [10, 150_000, 'hour', 0n], [12, 150_000, 'hour', 1n], [1, 1_000_000, 'clone', 1_000_000n], [500, 1, 'second', 1n], [499, 1, 'second', 0n],
  ] as const) t.equal(amountOf(quantity, price, unit), amount, `${quantity} at ${price} per ${unit}`);
  t.equal(amountOf(Number.MAX_SAFE_INTEGER, 1_000_000, '1k_input_tokens'), 9_007_199_254_740_991_000n, 'beyond what a float holds');
  const PER = { second: 1000, minute: 60_000, hour: 3_600_000, clone: 1 } as Record<string, number>;
  fc.assert(fc.property(fc.nat(100_000_000), fc.nat(10_000_000), fc.constantFrom(...PRICE_UNITS), (quantity, price, unit) => {
    const twiceExact = 2n * BigInt(quantity) * BigInt(price);
    const per = BigInt(PER[unit] ?? 1000);
    const error = 2n * per * amountOf(quantity, price, unit) - twiceExact;
    return error > -per && error <= per;
  }));
  t.end();
});

t.test('usage', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const { db } = api.context;
  const { account } = api;
  const [callId, agentId, campaignId, apiKeyId] = [newId(), newId(), newId(), newId()];
  const nowMs = api.clock.now();
  const row = (sequence: number, extra: Partial<NewUsage> = {}): NewUsage => ({
    callId, sequence, accountId: account.id, livemode: true, agentId, campaignId, apiKeyId, component: 'stt', model: 'deepgram/nova-3', measure: 'time_ms', quantity: 61_000, source: 'measured', occurredAtMs: nowMs, ...extra }) as NewUsage;

  t.test('rows are priced, itemised, and written once', async (t) => {
    const rows = [
      row(0), row(1, { component: 'llm', model: 'local/offline-agent', measure: 'input_tokens', quantity: 900, source: 'vendor' }),
      row(2, { component: 'tts', model: 'elevenlabs/flash_v2_5', measure: 'characters', quantity: 333, source: 'vendor', occurredAtMs: nowMs - DAY_MS }),
    ];
    t.equal(await recordUsage(db, rows), 3);
    t.equal(await recordUsage(db, [...rows, row(3, { component: 'realtime', model: 'openai/gpt-realtime-2.1', measure: 'cached_audio_tokens_in', quantity: 1500, source: 'estimated', occurredAtMs: nowMs + 1 })]), 1, 'a journal can be played again');
    t.equal(await recordUsage(db, []), 0);
    const { body } = await api.call('GET', '/v1/usage');
    t.match(body, { object: 'list', has_more: false });
    t.match(body.data, [
      { component: 'realtime', unit: 'token', quantity: 1500, price_unit: '1k_cached_audio_tokens_in', unit_price_micros: 400, amount_micros: 600, source: 'estimated' },
      { component: 'llm', model: 'local/offline-agent', unit: 'token', quantity: 900, price_unit: '1k_input_tokens', unit_price_micros: 0, amount_micros: 0, source: 'vendor' },
      { component: 'stt', unit: 'ms', quantity: 61_000, price_unit: 'minute', unit_price_micros: 4800, amount_micros: 4880, source: 'measured' },
      { component: 'tts', unit: 'character', quantity: 333, price_unit: '1k_characters', unit_price_micros: 50_000, amount_micros: 16_650 },
    ]);
    t.same(Object.keys(body.data[0]).sort(), ['agent_id', 'amount_micros', 'api_key_id', 'call_id', 'campaign_id', 'component', 'id', 'livemode', 'model', 'object', 'occurred_at', 'price_unit', 'quantity', 'source', 'unit', 'unit_price_micros']);
    t.match(body.data[2], { object: 'usage_record', livemode: true, call_id: callId, agent_id: agentId, campaign_id: campaignId, api_key_id: apiKeyId, occurred_at: '2026-11-21T12:00:00.000Z' });
  });

  t.test('a price holds from when it is set; what was used before keeps its own', async (t) => {
    const other = newId();
    await setPrice(db, { component: 'stt', model: 'deepgram/nova-3', unit: 'minute', priceMicros: 6000 }, nowMs + 1000);
    await recordUsage(db, [row(0, { callId: other, occurredAtMs: nowMs + 999 }), row(1, { callId: other, occurredAtMs: nowMs + 1000 })]);
    t.same((await api.call('GET', `/v1/usage?call_id=${other}`)).body.data.map((found: { unit_price_micros: number }) => found.unit_price_micros), [6000, 4800]);
    await setPrice(db, { component: 'stt', model: 'deepgram/nova-3', unit: 'minute', priceMicros: null }, nowMs + 2000);
    await recordUsage(db, [row(2, { callId: other, occurredAtMs: nowMs + 2000 })]);
    t.match((await api.call('GET', `/v1/usage?call_id=${other}&limit=1`)).body.data, [{ unit_price_micros: 4800 }]);
  });

  t.test('modes and accounts', async (t) => {
    await recordUsage(db, [row(0, { callId: newId(), livemode: false, quantity: 999_000 })]);
    const { body } = await api.call('GET', '/v1/usage', { key: account.test });
    t.match(body.data, [{ livemode: false, quantity: 999_000, unit_price_micros: 0, amount_micros: 0 }]);
    t.equal(body.data.length, 1);
    const stranger = await api.newAccount();
    t.same((await api.call('GET', `/v1/usage?call_id=${callId}`, { key: stranger.live })).body.data, []);
    t.match((await api.call('GET', '/v1/usage/summary?group_by=model', { key: stranger.live })).body, { amount_micros: 0, data: [] });
  });

  t.test('filters and pages', async (t) => {
    const count = async (query: string): Promise<number> => (await api.call('GET', `/v1/usage?${query}`)).body.data.length;
    t.equal(await count(`call_id=${callId}`), 4);
    t.equal(await count(`call_id=${callId}&component=tts`), 1);
    t.equal(await count('model=local/offline-agent'), 1);
    t.equal(await count(`call_id=${callId}&from=2026-11-21T12:00:00.000Z`), 3, 'from is inclusive');
    t.equal(await count(`call_id=${callId}&to=2026-11-21T12:00:00.000Z`), 1, 'to is not');
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await api.call('GET', `/v1/usage?limit=2${cursor}`);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor === null ? '' : `&starting_after=${body.next_cursor}`;
    } while (cursor !== '');
    t.equal(new Set(seen).size, 7, 'each row on one page');
    t.equal(seen.length, 7);
    const { body: page } = await api.call('GET', '/v1/usage?limit=2');
    for (const [query, code, param] of [
      ['component=ear', 'invalid_parameter', 'component'], ['call_id=x', 'invalid_id', 'call_id'], ['from=yesterday', 'invalid_parameter', 'from'], ['model=', 'invalid_parameter', 'model'],
      ['from=2026-11-21T12:00:00Z&to=2026-11-21T12:00:00Z', 'invalid_parameter', 'to'], ['nonsense=1', 'unknown_parameter', 'nonsense'],
      [`starting_after=${page.next_cursor}&component=tts`, 'invalid_cursor', 'starting_after'],
    ]) t.match(await api.call('GET', `/v1/usage?${query}`), { status: 400, body: { error: { code, param } } }, String(query));
  });

  t.test('the rows of a call outlive it, and say nothing of what was said', async (t) => {
    const columns = await db.query<{ column_name: string }>('SELECT column_name FROM information_schema.columns WHERE table_name = \'usage_record\'');
    t.notOk(columns.some(({ column_name: name }) => /text$|content|transcript|phone|address|metadata/.test(name) && name !== 'source'));
    t.same(await db.query('SELECT confrelid::regclass::text AS refers FROM pg_constraint WHERE conrelid = \'usage_record\'::regclass AND contype = \'f\''), [], 'no foreign key to call');
  });

  t.test('summary', async (t) => {
    api.clock.advance(10_000);
    const summary = async (query: string): ReturnType<typeof api.call> => api.call('GET', `/v1/usage/summary?${query}`);
    const days = await summary('group_by=day');
    t.match(days, { status: 200, body: { object: 'usage_summary', livemode: true, group_by: 'day', from: '2026-10-22T12:00:10.000Z', to: '2026-11-21T12:00:10.000Z' } });
    t.match(days.body.data, [
      { key: '2026-11-20', amount_micros: 16_650, records: 1, quantities: [{ unit: 'character', quantity: 333 }] },
      { key: '2026-11-21', records: 6, quantities: [{ unit: 'ms', quantity: 4 * 61_000 }, { unit: 'token', quantity: 2400 }] },
    ]);
    t.equal(days.body.amount_micros, days.body.data[0].amount_micros + days.body.data[1].amount_micros);
    t.same((await summary('group_by=component')).body.data.map(({ key }: { key: string }) => key), ['llm', 'realtime', 'stt', 'tts']);
    t.match((await summary('group_by=model')).body.data, [{ key: 'deepgram/nova-3', records: 4 }, { key: 'elevenlabs/flash_v2_5' }, { key: 'local/offline-agent' }, { key: 'openai/gpt-realtime-2.1' }]);
    t.match((await summary('group_by=agent')).body.data, [{ key: agentId, records: 7 }]);
    t.match((await summary('group_by=campaign')).body.data, [{ key: campaignId }]);
    t.match((await summary('group_by=component&from=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z')).body.data, [{ key: 'tts', amount_micros: 16_650 }]);
    t.equal((await summary('group_by=day&from=2025-11-20T00:00:00Z&to=2026-11-21T00:00:00Z')).status, 200, '366 days');
    for (const [query, code, param] of [
      ['', 'missing_parameter', 'group_by'], ['group_by=weather', 'invalid_parameter', 'group_by'], ['group_by=day&from=2025-11-19T23:59:59Z&to=2026-11-21T00:00:00Z', 'invalid_parameter', 'from'],
      ['group_by=day&from=2026-11-22T00:00:00Z', 'invalid_parameter', 'to'],
    ]) t.match(await summary(String(query)), { status: 400, body: { error: { code, param } } }, String(query));
  });
});
