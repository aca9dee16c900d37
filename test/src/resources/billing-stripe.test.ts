import Stripe from 'stripe';
import t from 'tap';
import { verifyLedger } from '../../../src/resources/billing/audit.ts';
import { PaymentRefused } from '../../../src/resources/billing/payments.ts';
import { stripePayments } from '../../../src/resources/billing/stripe-payments.ts';
import { startApiHarness, type Answer } from '../../support/api-harness.ts';
import { FakeStripe, type SentEvent } from '../../support/fake-stripe.ts';

const SECRET_KEY = 'sk_test_wirevoice';
const WEBHOOK_SECRET = 'whsec_wirevoice';
const NOW = Date.parse('2026-11-21T12:00:00.000Z');
const AMOUNT = { amount_micros: 12_340_000 };

t.test('top-ups', async (t) => {
  const clock = { now: () => NOW };
  const stripe = await FakeStripe.start({ secretKey: SECRET_KEY, webhookSecret: WEBHOOK_SECRET, nowMs: () => clock.now() });
  const api = await startApiHarness({ payments: stripePayments({ secretKey: SECRET_KEY, webhookSecret: WEBHOOK_SECRET, apiBase: stripe.apiBase }) });
  clock.now = () => api.clock.now();
  t.teardown(async () => {
    await api.close();
    await stripe.close();
  });
  const { db } = api.context;
  const begin = (options: { key?: string; body?: unknown; headers?: Record<string, string> } = {}): Promise<Answer> => api.call('POST', '/v1/billing/top-ups', { body: AMOUNT, ...options });
  const read = async (id: string): Promise<Answer['body']> => (await api.call('GET', `/v1/billing/top-ups/${id}`)).body;
  const sessionOf = (id: string): string => [...stripe.sessions.values()].find((session) => session.client_reference_id === id)?.id ?? '';
  const deliver = (event: SentEvent, lie: { secret?: string; atMs?: number } = {}): Promise<Answer> => api.call('POST', '/webhooks/stripe', { key: null, ...stripe.sign(event, lie) });
  const balance = async (): Promise<number> => (await api.call('GET', '/v1/billing')).body.balance_micros;
  const newTopUp = async (): Promise<{ id: string; session: string }> => {
    const { body } = await begin();
    return { id: body.id, session: sessionOf(body.id) };
  };

  t.test('paid on Stripe\'s page, credited once however often it is told', async (t) => {
    const { status, body } = await begin();
    t.equal(status, 201);
    t.match(body, { id: /^[0-9a-f]{24}$/, object: 'top_up', livemode: true, ...AMOUNT, currency: 'usd', status: 'pending', checkout_url: /^https:\/\/checkout\.stripe\.com\/c\/pay\/cs_test_/, expires_at: '2026-11-22T12:00:00.000Z', paid_at: null, refunded_micros: 0 });
    const { form, idempotencyKey } = stripe.requests.at(-1) ?? { form: new URLSearchParams(), idempotencyKey: '' };
    t.equal(idempotencyKey, `top_up_${body.id}`);
    t.match(Object.fromEntries(form), {
      mode: 'payment', client_reference_id: body.id, 'metadata[top_up_id]': body.id, 'metadata[account_id]': api.account.id, 'payment_intent_data[metadata][top_up_id]': body.id,
      'line_items[0][quantity]': '1', 'line_items[0][price_data][currency]': 'usd', 'line_items[0][price_data][unit_amount]': '1234',
    });
    t.same(await read(body.id), body);
    t.equal(await balance(), 0, 'nothing yet');
    const event = stripe.complete(sessionOf(body.id));
    const answers = await Promise.all(Array.from({ length: 20 }, () => deliver(event)));
    t.same(answers.map((answer) => answer.status), answers.map(() => 200));
    t.equal(await balance(), AMOUNT.amount_micros);
    const again = { ...event, id: 'evt_another' };
    t.equal((await deliver(again)).status, 200);
    t.equal(await balance(), AMOUNT.amount_micros, 'nor when told by another event');
    t.match(await read(body.id), { status: 'paid', checkout_url: null, paid_at: '2026-11-21T12:00:00.000Z' });
    t.match((await api.call('GET', '/v1/billing/transactions')).body.data, [{ type: 'top_up', amount_micros: 12_340_000, balance_after_micros: 12_340_000, top_up_id: body.id }]);
    t.same(await verifyLedger(db), []);
  });

  t.test('a bank transfer is credited when it arrives', async (t) => {
    const before = await balance();
    const [arrives, fails] = [await newTopUp(), await newTopUp()];
    for (const { id, session } of [arrives, fails]) {
      await deliver(stripe.complete(session, 'unpaid'));
      t.match(await read(id), { status: 'pending' });
    }
    await deliver(stripe.asyncPayment(arrives.session, 'succeeded'));
    await deliver(stripe.asyncPayment(fails.session, 'failed'));
    t.match(await read(arrives.id), { status: 'paid' });
    t.match(await read(fails.id), { status: 'failed', checkout_url: null });
    t.equal(await balance(), before + AMOUNT.amount_micros);
  });

  t.test('a page that closes', async (t) => {
    const before = await balance();
    const { id, session } = await newTopUp();
    await deliver(stripe.expire(session));
    t.match(await read(id), { status: 'expired', checkout_url: null });
    const { id: quiet } = await newTopUp();
    api.clock.advance(24 * 3_600_000);
    t.match(await read(quiet), { status: 'expired', checkout_url: null }, 'by the clock, if nobody tells');
    const paidLate = stripe.complete(sessionOf(quiet));
    const closed = stripe.expire(sessionOf(quiet));
    await deliver(closed);
    await deliver(paidLate);
    await deliver({ ...closed, id: 'evt_closed_again' });
    t.match(await read(quiet), { status: 'paid' }, 'money that came is credited, in whatever order');
    t.equal(await balance(), before + AMOUNT.amount_micros);
  });

  t.test('refunds', async (t) => {
    const before = await balance();
    const { id, session } = await newTopUp();
    const paid = stripe.complete(session);
    const half = stripe.refund(session, 600);
    t.match(await deliver(half), { status: 503, headers: { 'retry-after': '60' } }, 'one that overtakes its payment comes again');
    await deliver(paid);
    await Promise.all(Array.from({ length: 8 }, () => deliver(half)));
    t.equal(await balance(), before + 6_340_000);
    await deliver(stripe.refund(session, 1234));
    t.equal((await deliver({ ...half, id: 'evt_late' })).status, 200);
    t.equal(await balance(), before, 'an older figure that comes late takes nothing');
    t.match(await read(id), { status: 'paid', refunded_micros: 12_340_000 });
    t.match((await api.call('GET', '/v1/billing/transactions?type=refund')).body.data, [{ amount_micros: -6_340_000, top_up_id: id }, { amount_micros: -6_000_000 }]);
    t.same(await verifyLedger(db), []);
  });

  t.test('only Stripe is believed', async (t) => {
    const before = await balance();
    const { id, session } = await newTopUp();
    const event = stripe.complete(session);
    const refused = { status: 400, body: { error: { code: 'invalid_parameter', param: 'Stripe-Signature' } } };
    t.match(await deliver(event, { secret: 'whsec_other' }), refused, 'another secret');
    t.match(await deliver(event, { atMs: api.clock.now() - 301_000 }), refused, 'an old recording');
    const signed = stripe.sign(event);
    t.match(await api.call('POST', '/webhooks/stripe', { key: null, headers: signed.headers, raw: signed.raw.replace('1234', '9999') }), refused, 'a changed body');
    t.match(await api.call('POST', '/webhooks/stripe', { key: null, raw: signed.raw }), refused, 'no signature');
    t.match(await api.call('POST', '/webhooks/stripe', { key: null, raw: 'no json', headers: signed.headers }), refused);
    t.equal((await api.call('POST', '/webhooks/stripe?x=1', { key: null, ...signed })).status, 400);
    t.match(await read(id), { status: 'pending' });
    const header = Stripe.webhooks.generateTestHeaderString({ payload: signed.raw, secret: WEBHOOK_SECRET, timestamp: Math.floor(api.clock.now() / 1000) });
    t.equal((await api.call('POST', '/webhooks/stripe', { key: null, raw: signed.raw, headers: { 'stripe-signature': header } })).status, 200, 'as Stripe\'s own library signs');
    t.equal(await balance(), before + AMOUNT.amount_micros);
  });

  t.test('what is none of ours, or does not fit', async (t) => {
    const before = await balance();
    const { id, session } = await newTopUp();
    const event = stripe.complete(session);
    const changed = (id: string, change: object): SentEvent => ({ ...event, id, data: { object: { ...event.data.object, ...change } } as SentEvent['data'] });
    for (const strange of [
      { ...event, id: 'evt_kind', type: 'customer.created' }, changed('evt_foreign', { client_reference_id: 'f'.repeat(24) }), changed('evt_none', { client_reference_id: null }),
      changed('evt_amount', { amount_total: 999_999 }), changed('evt_euro', { currency: 'eur' }), changed('evt_session', { id: 'cs_test_other' }),
    ]) t.equal((await deliver(strange)).status, 200, strange.id);
    t.equal(await balance(), before);
    t.match(await read(id), { status: 'pending' });
    t.ok(api.logged.some((line) => line.includes('a payment does not fit its top-up')), 'somebody is told');
    t.notOk(api.logged.some((line) => line.includes(SECRET_KEY) || line.includes(WEBHOOK_SECRET)));
  });

  t.test('amounts', async (t) => {
    for (const amount_micros of [1_000_000, 10_000_000_000]) t.match(await begin({ body: { amount_micros } }), { status: 201, body: { amount_micros } });
    for (const amount_micros of [999_999, 990_000, 10_000_010_000, 1_000_001, 1.5, '5000000']) t.match(await begin({ body: { amount_micros } }), { status: 400, body: { error: { code: 'invalid_parameter', param: 'amount_micros' } } }, String(amount_micros));
    t.match(await begin({ body: {} }), { status: 400, body: { error: { code: 'missing_parameter', param: 'amount_micros' } } });
    t.match(await begin({ key: await api.newKey(api.account, ['billing:read']) }), { status: 403, body: { error: { code: 'missing_scope' } } });
  });

  t.test('an Idempotency-Key makes one top-up and one page', async (t) => {
    const headers = { 'Idempotency-Key': 'once' };
    const sessions = stripe.sessions.size;
    const first = await begin({ headers });
    t.same((await begin({ headers })).body, first.body);
    await db.query('UPDATE idempotency SET status = NULL, answer = NULL, lease_until = created_at');
    t.same((await begin({ headers })).body, first.body, 'nor when the answer was lost');
    await db.query('UPDATE idempotency SET status = NULL, answer = NULL, lease_until = created_at');
    await db.query('UPDATE top_up SET provider_session_id = NULL, checkout_url = NULL WHERE id = $1', [first.body.id]);
    t.same((await begin({ headers })).body, first.body, 'nor when the process died before it had the page');
    t.equal(stripe.sessions.size, sessions + 1);
  });

  t.test('a provider that fails', async (t) => {
    const headers = { 'Idempotency-Key': 'stubborn' };
    stripe.faults.push(500);
    t.match(await begin({ headers }), { status: 502, body: { error: { type: 'api_error', code: 'provider_error' } } });
    const { status, body } = await begin({ headers });
    t.match({ status, body }, { status: 201, body: { status: 'pending', checkout_url: /^https/ } }, 'the same key again gets its page');
    const strangers = stripePayments({ secretKey: 'sk_test_wrong', webhookSecret: WEBHOOK_SECRET, apiBase: stripe.apiBase });
    await t.rejects(strangers.openCheckout({ topUpId: 'f'.repeat(24), accountId: 'a', amountMicros: 1_000_000, returnUrl: 'http://localhost' }), PaymentRefused, 'a wrong key is no passing trouble');
  });

  t.test('test mode is simulated and free', async (t) => {
    const [before, sessions] = [await balance(), stripe.sessions.size];
    const { status, body } = await begin({ key: api.account.test });
    t.match({ status, body }, { status: 201, body: { livemode: false, status: 'paid', checkout_url: null, expires_at: null, paid_at: /^2026/, ...AMOUNT } });
    t.same((await api.call('GET', `/v1/billing/top-ups/${body.id}`, { key: api.account.test })).body, body);
    t.equal(await balance(), before);
    t.equal(stripe.sessions.size, sessions);
    t.same((await api.call('GET', '/v1/billing/top-ups', { key: api.account.test })).body.data, [body], 'each mode has its own list');
    const { body: list } = await api.call('GET', '/v1/billing/top-ups?limit=3');
    t.match(list, { has_more: true, data: [{ livemode: true }, { livemode: true }, { livemode: true }] });
    const { body: rest } = await api.call('GET', `/v1/billing/top-ups?limit=100&starting_after=${list.next_cursor}`);
    t.equal(new Set([...list.data, ...rest.data].map(({ id }) => id)).size, stripe.sessions.size, 'every one is listed once');
    t.same(await db.query('SELECT 1 FROM ledger_transaction WHERE top_up_id = $1', [body.id]), []);
  });

  t.same(await verifyLedger(db), []);
});

t.test('without a provider', async (t) => {
  const api = await startApiHarness({ payments: null });
  t.teardown(() => api.close());
  t.match(await api.call('POST', '/v1/billing/top-ups', { body: AMOUNT }), { status: 503, body: { error: { type: 'api_error', code: 'payments_not_configured' } }, headers: { 'retry-after': /\d/ } });
  t.same(await api.context.db.query('SELECT 1 FROM top_up'), [], 'nothing was begun');
  t.match(await api.call('POST', '/v1/billing/top-ups', { body: { amount_micros: 1 } }), { status: 400 }, 'a wrong body first');
  t.match(await api.call('POST', '/v1/billing/top-ups', { key: api.account.test, body: AMOUNT }), { status: 201, body: { status: 'paid' } });
  t.match(await api.call('POST', '/webhooks/stripe', { key: null, raw: '{}' }), { status: 503 });
});
