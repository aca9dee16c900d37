import t from 'tap';
import type { Database } from '../../../src/db/database.ts';
import { newId } from '../../../src/db/id.ts';
import { chargeOnce, requireCredit } from '../../../src/resources/billing/actions.ts';
import { verifyLedger } from '../../../src/resources/billing/audit.ts';
import { extendHold, holdForCall, settleCall } from '../../../src/resources/billing/call-money.ts';
import { move, type Movement } from '../../../src/resources/billing/ledger.ts';
import { recordUsage } from '../../../src/resources/usage/actions.ts';
import { insertAccount } from '../../../src/resources/accounts/store.ts';
import { loadPriceBook } from '../../../src/resources/billing/prices.ts';
import { PRICE_BOOK } from '../../../config/price-book.ts';
import { createTestDatabase } from '../../support/test-database.ts';

const NOW = Date.parse('2026-11-21T12:00:00.000Z');
const CONNECTIONS = 8;
const CODES = { code: 'insufficient_credits', status: 402, type: 'insufficient_credits' };

interface Books {
  db: Database;
  account(): Promise<string>;
  /** Gives, or takes back; answers whether that was new. */
  post(accountId: string, amount: number, extra?: Partial<Movement>): Promise<boolean>;
  balance(accountId: string): Promise<object>;
}

async function openBooks(t: { teardown(stop: () => Promise<void>): void }): Promise<Books> {
  const database = await createTestDatabase();
  t.teardown(() => database.close());
  const { db } = database;
  await loadPriceBook(db, PRICE_BOOK, NOW);
  return {
    db,
    async account() {
      const id = newId();
      await insertAccount(db, { id, name: 'A', createdAt: new Date(NOW) });
      return id;
    },
    async post(accountId, amount, extra = {}) {
      const movement = { accountId, type: amount < 0 ? 'adjustment' : 'credit', amountMicros: BigInt(amount), against: 'adjustments', sourceKey: newId(), nowMs: NOW, ...extra } as const;
      return (await db.transaction((transaction) => move(transaction, movement))).isNew;
    },
    async balance(accountId) {
      const [row] = await db.query<object>('SELECT available_micros, held_micros, owed_micros FROM balance WHERE account_id = $1', [accountId]);
      return row ?? {};
    },
  };
}

/** `times` in all, as many at once as there are connections. */
async function atOnce<Result>(times: number, work: () => Promise<Result>): Promise<PromiseSettledResult<Result>[]> {
  const outcomes: PromiseSettledResult<Result>[] = [];
  let left = times;
  await Promise.all(Array.from({ length: Math.min(CONNECTIONS, times) }, async () => {
    while (left-- > 0) outcomes.push(...await Promise.allSettled([work()]));
  }));
  return outcomes;
}

const books = await openBooks(t);

t.test('no balance grows beyond what can be shown exactly', async (t) => {
  const { db, account, post, balance } = books;
  const id = await account();
  await post(id, Number.MAX_SAFE_INTEGER);
  await t.rejects(post(id, 1), { code: 'invalid_parameter', param: 'amount_micros' });
  await t.rejects(post(id, 10_000_000_000, { sourceKey: 'a top-up' }), { code: 'invalid_parameter' });
  t.same(await balance(id), { available_micros: Number.MAX_SAFE_INTEGER, held_micros: 0, owed_micros: 0 }, 'and it can still be read');
  await post(id, -10_000_000_000);
  t.equal(await post(id, 10_000_000_000, { sourceKey: 'a top-up' }), true, 'one that was refused can come again');
  t.same(await verifyLedger(db), []);
});

t.test('money is moved once, and never below nothing', async (t) => {
  const { db, account, post, balance } = books;
  const id = await account();
  t.equal(await post(id, 1000, { sourceKey: 'first' }), true);
  t.equal(await post(id, 1000, { sourceKey: 'first' }), false, 'the same key again moves nothing');
  t.same((await atOnce(8, () => post(id, 500, { sourceKey: 'second' }))).filter((outcome) => outcome.status === 'fulfilled' && outcome.value).length, 1, 'nor eight times at once');
  t.same(await balance(id), { available_micros: 1500, held_micros: 0, owed_micros: 0 });
  await t.rejects(post(id, -1501), { ...CODES, message: /1501 micro-USD, and 1500 are available/ });
  await post(id, -1500);
  t.same(await balance(id), { available_micros: 0, held_micros: 0, owed_micros: 0 });
  await post(id, -40, { mayOwe: true });
  t.same(await balance(id), { available_micros: 0, held_micros: 0, owed_micros: 40 }, 'what was used up is owed');
  await post(id, 30);
  await post(id, 30);
  t.same(await balance(id), { available_micros: 20, held_micros: 0, owed_micros: 0 }, 'the next credit pays it first');
  t.same(await db.query('SELECT sequence, amount_micros, balance_after_micros FROM ledger_transaction WHERE account_id = $1 ORDER BY sequence', [id]), [
    { sequence: 1, amount_micros: 1000, balance_after_micros: 1000 }, { sequence: 2, amount_micros: 500, balance_after_micros: 1500 }, { sequence: 3, amount_micros: -1500, balance_after_micros: 0 },
    { sequence: 4, amount_micros: -40, balance_after_micros: -40 }, { sequence: 5, amount_micros: 30, balance_after_micros: -10 }, { sequence: 6, amount_micros: 30, balance_after_micros: 20 },
  ]);
  t.same(await verifyLedger(db), []);
});

t.test('50 debits of 37 at once from 1000: 27 succeed, 1 is left', async (t) => {
  const { db, account, post, balance } = books;
  const id = await account();
  await post(id, 1000);
  const outcomes = await atOnce(50, () => post(id, -37));
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 27);
  for (const outcome of outcomes) if (outcome.status === 'rejected') t.match(outcome.reason, CODES);
  t.match(await balance(id), { available_micros: 1 });
  t.same(await verifyLedger(db), []);
});

t.test('the database itself refuses', async (t) => {
  const { db, account, post } = books;
  const id = await account();
  await post(id, 1000);
  for (const sql of [
    'UPDATE ledger_transaction SET amount_micros = 1', 'DELETE FROM ledger_transaction', 'UPDATE ledger_entry SET amount_micros = 1', 'DELETE FROM ledger_entry',
    'TRUNCATE ledger_entry', 'TRUNCATE ledger_transaction CASCADE',
  ]) await t.rejects(db.query(sql), /append-only/, sql);
  await t.rejects(db.query('INSERT INTO ledger_entry SELECT id, \'revenue\', 5 FROM ledger_transaction'), /add up to 0/);
  for (const column of ['available_micros', 'held_micros', 'owed_micros']) await t.rejects(db.query(`UPDATE balance SET ${column} = -1`), /check constraint/, column);
  t.same(await verifyLedger(db), []);
});

t.test('the audit finds what was tampered with', async (t) => {
  const { db, account, post } = await openBooks(t);
  const id = await account();
  for (let n = 0; n < 5; n++) await post(id, 1000 + n);
  const tampered = async (sql: string): Promise<string> => {
    await db.transaction(async (transaction) => {
      await transaction.query('SET LOCAL session_replication_role = replica');
      await transaction.query(sql);
    });
    return (await verifyLedger(db)).join('\n');
  };
  t.equal((await verifyLedger(db)).length, 0);
  t.match(await tampered('UPDATE balance SET available_micros = available_micros + 1'), /its balance is not the sum of its entries/);
  await tampered('UPDATE balance SET available_micros = available_micros - 1');
  t.match(await tampered('UPDATE ledger_transaction SET note = \'other\' WHERE sequence = 2'), /was changed/);
  await tampered('UPDATE ledger_transaction SET note = NULL WHERE sequence = 2');
  t.same(await verifyLedger(db), [], 'put back, it is whole');
  t.match(await tampered('UPDATE ledger_entry SET amount_micros = amount_micros * 2 WHERE ledger_account = \'customer\' AND amount_micros = 1003'), /its entries add up to 1003/);
  await tampered('UPDATE ledger_entry SET amount_micros = 1003 WHERE ledger_account = \'customer\' AND amount_micros = 2006');
  t.same(await verifyLedger(db), []);
  t.match(await tampered('DELETE FROM ledger_entry WHERE transaction_id IN (SELECT id FROM ledger_transaction WHERE sequence = 5)'), /says 1004, but moved 0/);
  t.match(await tampered('DELETE FROM ledger_transaction WHERE sequence = 5'), /its newest transactions are missing/);
});

t.test('a charge for something once', async (t) => {
  const { db, account, post, balance } = books;
  const id = await account();
  const charge = (sourceKey: string, livemode = true): Promise<void> => db.transaction((transaction) => chargeOnce(transaction, {
    accountId: id, livemode, type: 'voice_clone', model: 'elevenlabs/instant-voice-clone', amountMicros: 600, sourceKey, apiKeyId: 'a'.repeat(24), nowMs: NOW }));
  await t.rejects(requireCredit(db, { accountId: id, livemode: true, amountMicros: 600 }), CODES);
  await post(id, 1000);
  await requireCredit(db, { accountId: id, livemode: true, amountMicros: 1000 });
  await t.rejects(requireCredit(db, { accountId: id, livemode: true, amountMicros: 1001 }), CODES);
  await requireCredit(db, { accountId: id, livemode: false, amountMicros: 9000 });
  await Promise.all([charge('voice_clone:1'), charge('voice_clone:1')]);
  await t.rejects(charge('voice_clone:2'), CODES);
  await charge('voice_clone:3', false);
  await charge('voice_clone:3', false);
  t.match(await balance(id), { available_micros: 400 });
  t.match(await db.query('SELECT livemode, component, unit, quantity, price_unit, unit_price_micros, amount_micros, call_id FROM usage_record WHERE account_id = $1 ORDER BY id', [id]), [
    { livemode: true, component: 'voice_clone', unit: 'clone', quantity: 1, price_unit: 'clone', unit_price_micros: 600, amount_micros: 600, call_id: null },
    { livemode: false, component: 'voice_clone', unit: 'clone', quantity: 1, amount_micros: 0 },
  ]);
  t.match(await db.query('SELECT type, amount_micros FROM ledger_transaction WHERE account_id = $1 AND type = \'voice_clone\'', [id]), [{ type: 'voice_clone', amount_micros: -600 }], 'a test clone leaves the ledger alone');
  t.same(await verifyLedger(db), []);
});

t.test('a thousand operations at random, eight at a time', async (t) => {
  const { db, account, post, balance } = books;
  const accounts = [await account(), await account(), await account()];
  // A linear congruential generator: the same run every time.
  let seed = 4711;
  const random = (below: number): number => (seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 1) % below;
  const live: { callId: string; accountId: string; sequence: number }[] = [];
  const ended: string[] = [];
  let refused = 0;
  const spoken = (call: { callId: string; accountId: string; sequence: number }): Promise<unknown> => recordUsage(db, [{
    callId: call.callId, sequence: call.sequence++, accountId: call.accountId, livemode: true, component: 'stt', model: 'deepgram/nova-3', measure: 'time_ms', quantity: random(90_000), source: 'measured', occurredAtMs: NOW }]);
  const operations: (() => Promise<unknown>)[] = [
    () => post(accounts[random(3)] as string, 1000 + random(40_000)),
    () => post(accounts[random(3)] as string, -random(30_000)),
    async () => {
      const call = { callId: newId(), accountId: accounts[random(3)] as string, sequence: 0 };
      await db.transaction((transaction) => holdForCall(transaction, { ...call, livemode: true, models: [{ component: 'stt', model: 'deepgram/nova-3' }, { component: 'tts', model: 'local/flite' }], nowMs: NOW }));
      live.push(call);
    },
    async () => { const call = live[random(live.length || 1)]; if (call) { await spoken(call); await db.transaction((transaction) => extendHold(transaction, { callId: call.callId, nowMs: NOW })); } },
    async () => { const [call] = live.splice(random(live.length || 1), 1); if (call) { await spoken(call); await Promise.all([0, 1].map(() => db.transaction((transaction) => settleCall(transaction, { callId: call.callId, nowMs: NOW })))); ended.push(call.callId); } },
    async () => { const callId = ended[random(ended.length || 1)]; if (callId !== undefined) await db.transaction((transaction) => settleCall(transaction, { callId, nowMs: NOW })); },
    () => db.transaction((transaction) => chargeOnce(transaction, { accountId: accounts[random(3)] as string, livemode: true, type: 'voice_clone', model: 'x/y', amountMicros: random(9000), sourceKey: newId(), nowMs: NOW })),
    () => post(accounts[random(3)] as string, -random(3000), { type: 'refund', against: 'payments', mayOwe: true }),
  ];
  const worker = async (): Promise<void> => {
    for (let n = 0; n < 125; n++) {
      await (operations[random(operations.length)] as () => Promise<unknown>)().catch((error: unknown) => {
        t.match(error, CODES);
        refused++;
      });
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  for (const { callId } of live) await db.transaction((transaction) => settleCall(transaction, { callId, nowMs: NOW }));
  t.same(await verifyLedger(db), []);
  for (const id of accounts) t.match(await balance(id), { held_micros: 0 }, 'nothing stays on hold');
  t.ok(refused > 0 && ended.length > 20, `${refused} refused, ${ended.length} calls`);
  t.same(await db.query('SELECT (SELECT sum(amount_micros)::bigint FROM usage_record) + (SELECT sum(amount_micros)::bigint FROM ledger_transaction WHERE type IN (\'usage\', \'voice_clone\')) AS difference'), [{ difference: 0 }], 'usage and debits agree to the micro');
});
