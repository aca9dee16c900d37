import { parse } from 'csv-parse/sync';
import t from 'tap';
import { newId } from '../../../src/db/id.ts';
import { giveCredit } from '../../../src/resources/billing/actions.ts';
import { verifyLedger } from '../../../src/resources/billing/audit.ts';
import { holdForCall, settleCall } from '../../../src/resources/billing/call-money.ts';
import { loadPriceBook, priceOf } from '../../../src/resources/billing/prices.ts';
import { recordUsage } from '../../../src/resources/usage/actions.ts';
import { startApiHarness } from '../../support/api-harness.ts';
import { signedIn } from '../../support/console-session.ts';

t.test('billing', async (t) => {
  const api = await startApiHarness({ accountConcurrency: 20 });
  t.teardown(() => api.close());
  const { db } = api.context;

  t.test('a fresh account, and its settings', async (t) => {
    const { live, test } = await api.newAccount();
    const fresh = { object: 'billing', currency: 'usd', balance_micros: 0, held_micros: 0, available_micros: 0, low_balance: false, low_balance_threshold_micros: 0, auto_top_up: null, concurrency: { limit: 20, current: 0 } };
    t.same((await api.call('GET', '/v1/billing', { key: live })).body, fresh);
    t.same((await api.call('GET', '/v1/billing', { key: test })).body, fresh, 'a test key reads the same one balance');
    const patch = (body: unknown, key = live): ReturnType<typeof api.call> => api.call('PATCH', '/v1/billing', { key, body });
    t.match(await patch({ low_balance_threshold_micros: 1 }), { status: 200, body: { low_balance: true, low_balance_threshold_micros: 1, auto_top_up: null } });
    t.match(await patch({ auto_top_up: { threshold_micros: 500_000, amount_micros: 1_000_000 } }), { status: 200, body: { low_balance_threshold_micros: 1, auto_top_up: { threshold_micros: 500_000, amount_micros: 1_000_000 } } });
    t.match(await patch({}), { status: 200, body: { low_balance: true, auto_top_up: { amount_micros: 1_000_000 } } });
    t.match(await patch({ low_balance_threshold_micros: null, auto_top_up: null }), { status: 200, body: { low_balance: false, low_balance_threshold_micros: 0, auto_top_up: null } });
    for (const [body, code, param] of [
      [{ low_balance_threshold_micros: -1 }, 'invalid_parameter', 'low_balance_threshold_micros'], [{ low_balance_threshold_micros: 0.5 }, 'invalid_parameter', 'low_balance_threshold_micros'],
      [{ auto_top_up: { threshold_micros: 1 } }, 'invalid_parameter', undefined], [{ balance_micros: 1 }, 'unknown_parameter', 'balance_micros'],
    ] as const) t.match(await patch(body), { status: 400, body: { error: param === undefined ? {} : { code, param } } }, JSON.stringify(body));
    t.match(await patch({ low_balance_threshold_micros: 1 }, test), { status: 403, body: { error: { code: 'key_mode_mismatch' } } }, 'a test key decides nothing about real money');
  });

  t.test('live calls are counted', async (t) => {
    const account = await api.newAccount();
    const { body: agent } = await api.call('POST', '/v1/agents', { key: account.live, body: { name: 'A', system_prompt: 'P', opening_message: 'Hello' } });
    await api.call('POST', '/v1/realtime/sessions', { key: account.live, body: { agent_id: agent.id } });
    t.match((await api.call('GET', '/v1/billing', { key: account.live })).body, { concurrency: { limit: 20, current: 1 } });
    t.match((await api.call('GET', '/v1/billing')).body, { concurrency: { current: 0 } });
  });

  t.test('transactions', async (t) => {
    const account = await api.newAccount();
    for (let n = 1; n <= 5; n++) await giveCredit(api.context, { account_id: account.id, amount_micros: n, note: `gift ${n}` }, newId());
    await giveCredit(api.context, { account_id: account.id, amount_micros: -4, note: 'a correction' }, newId());
    const list = (query = '', key = account.live): ReturnType<typeof api.call> => api.call('GET', `/v1/billing/transactions?${query}`, { key });
    const { body } = await list();
    t.same(body.data.map(({ amount_micros, balance_after_micros }: Record<string, number>) => [amount_micros, balance_after_micros]), [[-4, 11], [5, 15], [4, 10], [3, 6], [2, 3], [1, 1]], 'newest first, each with what was left');
    t.match(body.data[0], { id: /^[0-9a-f]{24}$/, object: 'billing_transaction', type: 'adjustment', call_id: null, top_up_id: null, note: 'a correction', created_at: '2026-11-21T12:00:00.000Z' });
    t.same((await list('', account.test)).body, body, 'a test key reads them too');
    const first = (await list('limit=4')).body;
    t.match(first, { has_more: true });
    const second = (await list(`limit=4&starting_after=${first.next_cursor}`, account.test)).body;
    t.same([...first.data, ...second.data], body.data, 'cursors have no mode');
    t.equal((await list('type=adjustment')).body.data.length, 1);
    t.match(await list('type=hold'), { status: 400, body: { error: { param: 'type' } } });
    t.same((await api.call('GET', '/v1/billing/transactions')).body.data, [], 'another account has its own');
  });

  t.test('prices', async (t) => {
    const { body } = await api.call('GET', '/v1/billing/prices', { key: await api.newKey(api.account, ['billing:read'], false) });
    t.match(body, { object: 'list', has_more: false, next_cursor: null });
    const find = (component: string, model: string): object[] => body.data.filter((price: { component: string; model: string }) => price.component === component && price.model === model);
    t.same(find('stt', 'deepgram/nova-3'), [{ object: 'price', component: 'stt', model: 'deepgram/nova-3', unit: 'minute', price_micros: 4800, valid_from: null }]);
    for (const component of ['stt', 'llm', 'tts']) for (const price of find(component, 'local/*')) t.match(price, { price_micros: 0 }, `embedded ${component}`);
    t.match(find('voice_clone', '*'), [{ unit: 'clone', price_micros: 1_000_000 }]);
    t.equal(find('realtime', 'openai/gpt-realtime-2.1').length, 6);
    for (const { price_micros: micros } of body.data) t.ok(Number.isSafeInteger(micros));
    const nowMs = api.clock.now();
    t.equal(await priceOf(db, 'tts', 'elevenlabs/anything', '1k_characters', nowMs), 100_000, 'a vendor\'s other models');
    t.equal(await priceOf(db, 'tts', 'nobody/anything', '1k_characters', nowMs), undefined);
  });

  t.test('statements', async (t) => {
    const account = await api.newAccount();
    const at = (iso: string): number => Date.parse(iso);
    const gift = (iso: string, amount_micros: number): Promise<unknown> => giveCredit({ db, clock: { ...api.clock, now: () => at(iso), after: () => () => undefined } }, { account_id: account.id, amount_micros, note: 'x' }, newId());
    await gift('2026-09-30T23:59:59.999Z', 1_000_000);
    await gift('2026-10-01T00:00:00.000Z', 500);
    const callId = newId();
    const nowMs = at('2026-10-31T23:59:59.999Z');
    await db.transaction((transaction) => holdForCall(transaction, { callId, accountId: account.id, livemode: true, models: [{ component: 'stt', model: 'deepgram/nova-3' }], nowMs }));
    await recordUsage(db, [{ callId, sequence: 0, accountId: account.id, livemode: true, component: 'stt', model: 'deepgram/nova-3', measure: 'time_ms', quantity: 120_000, source: 'vendor', occurredAtMs: nowMs }]);
    await db.transaction((transaction) => settleCall(transaction, { callId, nowMs }));
    await gift('2026-11-01T00:00:00.000Z', 7);
    const read = (query: string, headers: Record<string, string> = {}): ReturnType<typeof api.call> => api.call('GET', `/v1/billing/statements?${query}`, { key: account.test, headers });
    const { body } = await read('month=2026-10');
    t.same(body, {
      object: 'statement', month: '2026-10', currency: 'usd', opening_balance_micros: 1_000_000, closing_balance_micros: 990_900,
      totals: [{ type: 'credit', count: 1, amount_micros: 500 }, { type: 'usage', count: 1, amount_micros: -9600 }],
      usage: [{ component: 'stt', model: 'deepgram/nova-3', unit: 'ms', quantity: 120_000, amount_micros: 9600 }],
    });
    t.match((await read('month=2026-11')).body, { opening_balance_micros: 990_900, closing_balance_micros: 990_907 });
    t.match((await read('month=2020-01')).body, { opening_balance_micros: 0, closing_balance_micros: 0, totals: [], usage: [] });
    const csv = await read('month=2026-10&format=csv');
    t.match(csv, { status: 200, headers: { 'content-type': 'text/csv; charset=utf-8', 'content-disposition': 'attachment; filename="statement-2026-10.csv"', vary: 'Accept' } });
    const rows = parse(csv.body as unknown as string, { columns: true }) as Record<string, string>[];
    t.same(rows.map(({ line, type, model, amount_micros, amount_usd }) => [line, type, model, amount_micros, amount_usd]), [
      ['opening_balance', '', '', '1000000', '1.000000'], ['total', 'credit', '', '500', '0.000500'], ['total', 'usage', '', '-9600', '-0.009600'],
      ['usage', '', 'deepgram/nova-3', '9600', '0.009600'], ['closing_balance', '', '', '990900', '0.990900'],
    ]);
    t.equal((await read('month=2026-10', { accept: 'text/csv' })).body, csv.body, 'by the Accept header too');
    t.match((await read('month=2026-10&format=json', { accept: 'text/csv' })).body, { object: 'statement' }, 'the parameter goes first');
    t.match((await read('month=2026-10', { accept: 'application/json, text/csv' })).body, { object: 'statement' });
    for (const [query, code] of [['', 'missing_parameter'], ['month=2026-13', 'invalid_parameter'], ['month=2026-1', 'invalid_parameter'], ['month=2026-10&format=pdf', 'invalid_parameter']]) t.match(await read(String(query)), { status: 400, body: { error: { code } } }, String(query));
  });

  t.same(await verifyLedger(db), []);
});

t.test('the operator\'s own routes', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const { account, context: { db } } = api;
  const headers = await signedIn(api, account.id);
  const credit = (body: unknown, extra: Record<string, string> = {}): ReturnType<typeof api.call> => api.call('POST', '/console/api/credits', { key: null, headers: { ...headers, ...extra }, body });
  const gift = { account_id: account.id, amount_micros: 5000, note: 'welcome' };

  t.test('no API key reaches them', async (t) => {
    for (const [method, url, body] of [['POST', '/console/api/credits', gift], ['POST', '/console/api/credits', {}], ['GET', '/console/api/prices', undefined], ['PUT', '/console/api/prices', {}]] as const) {
      t.match(await api.call(method, url, body === undefined ? {} : { body }), { status: 404, body: { error: { code: 'route_not_found' } } }, `${method} ${url}`);
      t.match(await api.call(method, url, { key: null, ...(body === undefined ? {} : { body }) }), { status: 401 }, `${method} ${url} without anything`);
    }
    const { 'x-csrf-token': _token, ...cookie } = headers;
    t.match(await api.call('POST', '/console/api/credits', { key: null, headers: cookie, body: gift }), { status: 403, body: { error: { code: 'invalid_csrf_token' } } });
  });

  t.test('credit by hand', async (t) => {
    const first = await credit(gift, { 'Idempotency-Key': 'one' });
    t.match(first, { status: 201, body: { object: 'billing_transaction', type: 'credit', amount_micros: 5000, balance_after_micros: 5000, note: 'welcome' } });
    t.match(await credit(gift, { 'Idempotency-Key': 'one' }), { status: 201, headers: { 'idempotent-replayed': 'true' }, body: first.body }, 'once per key');
    t.match((await api.call('GET', '/v1/billing')).body, { balance_micros: 5000 });
    await db.query('UPDATE idempotency SET status = NULL, answer = NULL, lease_until = created_at');
    t.match(await credit(gift, { 'Idempotency-Key': 'one' }), { status: 201, body: first.body }, 'even if the answer was lost');
    t.match((await api.call('GET', '/v1/billing')).body, { balance_micros: 5000 });
    t.match(await credit({ ...gift, amount_micros: -6000 }), { status: 402, body: { error: { code: 'insufficient_credits' } } }, 'no more can be taken back than there is');
    t.match(await credit({ ...gift, amount_micros: -5000 }), { status: 201, body: { type: 'adjustment', balance_after_micros: 0 } });
    t.match(await credit({ ...gift, account_id: 'f'.repeat(24) }), { status: 404, body: { error: { code: 'account_not_found', param: 'account_id' } } });
    for (const change of [{ amount_micros: 0 }, { amount_micros: 1.5 }, { amount_micros: 10_000_000_000_001 }, { note: '' }, { note: 'x'.repeat(501) }]) t.match(await credit({ ...gift, ...change }), { status: 400 }, JSON.stringify(change).slice(0, 60));
    t.equal((await credit({ ...gift, amount_micros: 10_000_000_000_000 })).status, 201);
    t.same(await verifyLedger(db), []);
  });

  t.test('prices', async (t) => {
    const put = (body: unknown): ReturnType<typeof api.call> => api.call('PUT', '/console/api/prices', { key: null, headers, body });
    const nova = { component: 'stt', model: 'deepgram/nova-3', unit: 'minute' };
    const shown = async (): Promise<object | undefined> => (await api.call('GET', '/console/api/prices', { key: null, headers })).body.data.find(({ model }: { model: string }) => model === nova.model);
    t.match(await shown(), { price_micros: 4800, source: 'book', valid_from: null });
    t.match(await put({ ...nova, price_micros: 9999 }), { status: 200, body: { ...nova, price_micros: 9999, source: 'console', valid_from: '2026-11-21T12:00:00.000Z' } });
    t.match(await shown(), { price_micros: 9999, source: 'console' });
    await loadPriceBook(db, [{ component: 'stt', model: nova.model, unit: 'minute', priceMicros: 5555 }], api.clock.now());
    t.match(await shown(), { price_micros: 9999, source: 'console' }, 'a newer book does not undo it');
    api.clock.advance(1);
    t.match(await put({ ...nova, price_micros: null }), { status: 200, body: { price_micros: 5555, source: 'book' } });
    await loadPriceBook(db, [{ component: 'stt', model: nova.model, unit: 'minute', priceMicros: 4444 }], api.clock.now());
    t.match(await shown(), { price_micros: 4444, source: 'book' }, 'as a newer book says');
    t.match(await put({ component: 'tts', model: 'someone/new', unit: '1k_characters', price_micros: 1 }), { status: 200 });
    t.match(await put({ component: 'tts', model: 'someone/other', unit: '1k_characters', price_micros: null }), { status: 400, body: { error: { code: 'invalid_parameter', param: 'price_micros' } } });
    for (const [change, param] of [[{ component: 'nose' }, 'component'], [{ model: 'no vendor' }, 'model'], [{ unit: 'mile' }, 'unit'], [{ price_micros: -1 }, 'price_micros'], [{ price_micros: 0.5 }, 'price_micros']] as const) {
      t.match(await put({ ...nova, price_micros: 1, ...change }), { status: 400, body: { error: { code: 'invalid_parameter', param } } }, param);
    }
  });
});
