import { randomBytes } from 'node:crypto';
import t from 'tap';
import { newId } from '../../../src/db/id.ts';
import { giveCredit } from '../../../src/resources/billing/actions.ts';
import { verifyLedger } from '../../../src/resources/billing/audit.ts';
import { callCredit } from '../../../src/resources/billing/call-credit.ts';
import { extendHold, holdForCall, settleCall } from '../../../src/resources/billing/call-money.ts';
import { setPrice } from '../../../src/resources/billing/prices.ts';
import { recordUsage, type NewUsage } from '../../../src/resources/usage/actions.ts';
import { startApiHarness, type TestAccount } from '../../support/api-harness.ts';

const PAID = [{ component: 'stt', model: 'deepgram/nova-3' }, { component: 'llm', model: 'local/offline-agent' }, { component: 'tts', model: 'local/flite' }] as const;
const FREE = PAID.slice(1);
/** A minute of nova-3. */
const MINUTE = 4800;
const REFUSED = { code: 'insufficient_credits', status: 402 };

t.test('money for calls', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const { db } = api.context;
  const nowMs = api.clock.now();
  const funded = async (micros: number): Promise<TestAccount> => {
    const account = await api.newAccount();
    if (micros > 0) await giveCredit(api.context, { account_id: account.id, amount_micros: micros, note: 'x' }, newId());
    return account;
  };
  const hold = (accountId: string, callId: string, extra: { livemode?: boolean; models?: readonly { component: 'stt' | 'llm' | 'tts'; model: string }[]; maxCostMicros?: number } = {}): Promise<number> =>
    db.transaction((transaction) => holdForCall(transaction, { callId, accountId, livemode: true, models: PAID, nowMs, ...extra }));
  const extend = (callId: string, unrecordedMs = 0): Promise<number> => db.transaction((transaction) => extendHold(transaction, {
    callId, nowMs, unrecorded: unrecordedMs === 0 ? [] : [{ component: 'stt', model: 'deepgram/nova-3', measure: 'time_ms', quantity: unrecordedMs }] }));
  const settle = (callId: string): Promise<number> => db.transaction((transaction) => settleCall(transaction, { callId, nowMs }));
  const spoken = (accountId: string, callId: string, sequence: number, quantity: number): NewUsage =>
    ({ callId, sequence, accountId, livemode: true, component: 'stt', model: 'deepgram/nova-3', measure: 'time_ms', quantity, source: 'measured', occurredAtMs: nowMs });
  const billing = async (account: TestAccount): Promise<object> => (await api.call('GET', '/v1/billing', { key: account.live })).body;

  t.test('held at the start, settled to what was used', async (t) => {
    const account = await funded(10_000);
    const callId = newId();
    t.equal(await hold(account.id, callId), MINUTE);
    t.equal(await hold(account.id, callId), MINUTE, 'once per call');
    t.match(await billing(account), { balance_micros: 10_000, held_micros: MINUTE, available_micros: 10_000 - MINUTE });
    await recordUsage(db, [spoken(account.id, callId, 0, 30_001), spoken(account.id, callId, 1, 10)]);
    const cost = 2400 + 1;
    t.same(await Promise.all([settle(callId), settle(callId)]), [cost, cost], 'once, whoever asks');
    t.match(await billing(account), { balance_micros: 10_000 - cost, held_micros: 0, available_micros: 10_000 - cost });
    const { body: { data } } = await api.call('GET', '/v1/billing/transactions', { key: account.live });
    t.match(data, [{ type: 'usage', amount_micros: -cost, balance_after_micros: 10_000 - cost, call_id: callId }, { type: 'credit', amount_micros: 10_000 }], 'holds are not shown');
    t.equal(data.length, 2);
    await recordUsage(db, [spoken(account.id, callId, 1, 10), spoken(account.id, callId, 2, 60_000)]);
    t.equal(await settle(callId), cost + MINUTE, 'rows that came late are charged, those that came twice are not');
    t.match(await billing(account), { balance_micros: 10_000 - cost - MINUTE, held_micros: 0 });
    t.same(await verifyLedger(db), []);
  });

  t.test('extended while it lasts, until there is no more', async (t) => {
    const account = await funded(3 * MINUTE);
    const callId = newId();
    await hold(account.id, callId);
    t.equal(await extend(callId), MINUTE, 'nothing was used yet: a minute is still held');
    t.equal(await extend(callId, 30_000), 1.5 * MINUTE);
    await recordUsage(db, [spoken(account.id, callId, 0, 60_000)]);
    t.equal(await extend(callId), 2 * MINUTE);
    t.equal(await extend(callId, 60_000), 3 * MINUTE);
    await t.rejects(extend(callId, 60_010), REFUSED);
    t.match(await billing(account), { held_micros: 3 * MINUTE, available_micros: 0 }, 'a refusal changes nothing');
    await t.rejects(hold(account.id, newId()), REFUSED, 'and nobody else gets what is held');
    t.equal(await settle(callId), MINUTE);
    t.match(await billing(account), { held_micros: 0, available_micros: 2 * MINUTE });
    t.equal(await extend(callId), 0, 'after its end nothing is held');
    t.equal(await extend(newId()), 0);
    t.same(await verifyLedger(db), []);
  });

  t.test('too little credit, and just enough', async (t) => {
    const account = await funded(MINUTE - 1);
    await t.rejects(hold(account.id, newId()), REFUSED);
    t.match(await billing(account), { held_micros: 0 });
    t.equal(await hold(account.id, newId(), { maxCostMicros: 1000 }), 1000, 'no more than the call may cost');
    await giveCredit(api.context, { account_id: account.id, amount_micros: 1001, note: 'x' }, newId());
    t.equal(await hold(account.id, newId()), MINUTE);
    const rich = await funded(5 * MINUTE);
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => hold(rich.id, newId())));
    t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 5, 'of eight at once, five can be paid');
  });

  t.test('what costs nothing needs nothing', async (t) => {
    const account = await funded(0);
    const [free, test] = [newId(), newId()];
    t.equal(await hold(account.id, free, { models: FREE }), 0);
    t.equal(await hold(account.id, test, { livemode: false }), 0, 'nor do test calls');
    await recordUsage(db, [
      { ...spoken(account.id, free, 0, 60_000), model: 'local/moonshine-tiny-en' },
      { ...spoken(account.id, free, 1, 700), component: 'llm', model: 'local/offline-agent', measure: 'output_tokens' },
      { ...spoken(account.id, test, 0, 60_000), livemode: false },
    ]);
    t.same([await settle(free), await settle(test), await settle(newId())], [0, 0, 0]);
    t.match(await billing(account), { balance_micros: 0 });
    t.same((await api.call('GET', '/v1/billing/transactions', { key: account.live })).body.data, []);
    await t.rejects(hold(account.id, newId(), { models: [{ component: 'tts', model: 'nobody/x' }] }), { code: 'unknown_model', message: /nobody\/x has no price as tts/ });
  });

  t.test('what was used beyond the hold is owed', async (t) => {
    const account = await funded(MINUTE);
    const callId = newId();
    await hold(account.id, callId);
    await recordUsage(db, [spoken(account.id, callId, 0, 90_000)]);
    t.equal(await settle(callId), 1.5 * MINUTE);
    t.match(await billing(account), { balance_micros: -0.5 * MINUTE, available_micros: 0, held_micros: 0 });
    await t.rejects(hold(account.id, newId()), REFUSED);
    t.equal(await hold(account.id, newId(), { models: FREE }), 0);
    await giveCredit(api.context, { account_id: account.id, amount_micros: MINUTE, note: 'x' }, newId());
    t.match(await billing(account), { balance_micros: 0.5 * MINUTE, available_micros: 0.5 * MINUTE });
    const unheld = newId();
    await recordUsage(db, [spoken(account.id, unheld, 0, 6000)]);
    t.equal(await settle(unheld), 480, 'even without a hold');
    t.same(await verifyLedger(db), []);
  });

  t.test('what a call\'s row says it cost is what was charged', async (t) => {
    const account = await funded(MINUTE);
    const { body: agent } = await api.call('POST', '/v1/agents', { key: account.live, body: { name: 'A', system_prompt: 'P', opening_message: 'Hello' } });
    const { body: { call_id: callId } } = await api.call('POST', '/v1/realtime/sessions', { key: account.live, body: { agent_id: agent.id } });
    await recordUsage(db, [spoken(account.id, callId, 0, 60_000)]);
    const end = (costMicros: number): Promise<unknown> => db.query('UPDATE call SET status = \'completed\', ended_at = $2, cost_micros = $3 WHERE id = $1', [callId, new Date(nowMs), costMicros]);
    await end(await settle(callId));
    t.same(await verifyLedger(db), []);
    await end(MINUTE + 1);
    t.match(await verifyLedger(db), [`call ${callId}: cost_micros is 4801, its usage rows come to 4800`]);
    await api.call('DELETE', `/v1/calls/${callId}`, { key: account.live });
    t.same(await verifyLedger(db), []);
    t.match((await api.call('GET', `/v1/usage?call_id=${callId}`, { key: account.live })).body.data, [{ call_id: callId, amount_micros: MINUTE }], 'its usage stays');
  });

  t.test('every call asks for its agent\'s models', async (t) => {
    const account = await funded(0);
    const requireCredit = callCredit(api.clock);
    const { body: agent } = await api.call('POST', '/v1/agents', { key: account.live, body: { name: 'A', system_prompt: 'P', opening_message: 'Hello' } });
    const ask = (direction: 'inbound' | 'realtime'): Promise<void> => db.transaction((transaction) => requireCredit(transaction, { callId: newId(), accountId: account.id, livemode: true, direction, agentId: agent.id }));
    await ask('realtime');
    await ask('inbound');
    await setPrice(db, { component: 'telephony', model: 'sip/*', unit: 'minute', priceMicros: 9000 }, api.clock.now());
    await ask('realtime');
    await t.rejects(ask('inbound'), REFUSED, 'a trunk\'s minute has a price now');
  });

  t.test('a call that takes other models than its agent\'s pays for those', async (t) => {
    const paying = await startApiHarness({ store: { db, masterKey: randomBytes(32) }, requireCredit: callCredit(api.clock) });
    t.teardown(() => paying.close());
    await setPrice(db, { component: 'tts', model: 'local/costly', unit: '1k_characters', priceMicros: 1_000_000 }, api.clock.now());
    await setPrice(db, { component: 'telephony', model: 'sip/*', unit: 'minute', priceMicros: 0 }, api.clock.now());
    const make = async (path: string, body: object): Promise<string> => (await paying.call('POST', path, { body })).body.id;
    const trunk = await make('/v1/sip-trunks', { name: 'T', host: '203.0.113.9' });
    const number = await make('/v1/phone-numbers', { phone_number: '+14155550177', sip_trunk_id: trunk });
    const agent_id = await make('/v1/agents', { name: 'A', system_prompt: 'P', opening_message: 'O', outbound_phone_number_id: number });
    for (const [path, body] of [['/v1/calls', { to: '+14155550123', agent_id }], ['/v1/realtime/sessions', { agent_id }]] as const) {
      t.match(await paying.call('POST', path, { body: { ...body, overrides: { voice: { tts: { model: 'local/costly' } } } } }), { status: 402, body: { error: { code: 'insufficient_credits' } } }, path);
      t.equal((await paying.call('POST', path, { body })).status, 201, 'its own cost nothing');
    }
  });
});
