import { ApiError } from '../../api/errors.ts';
import type { AppContext } from '../../context.ts';
import type { Queryable } from '../../db/database.ts';
import { requireAccount } from '../accounts/actions.ts';
import { recordUsage } from '../usage/actions.ts';
import { lockBalance, selectBalance, selectBySource, type TransactionRow } from './ledger-store.ts';
import { move } from './ledger.ts';
import type { GiveCredit, UpdateBilling } from './schema.ts';
import { selectSettings, upsertSettings } from './store.ts';

export { priceOf, pricesOf } from './prices.ts';

/** Something paid for at once, outside a call. */
export interface OneOff {
  accountId: string;
  /** Test charges are free and leave the ledger alone. */
  livemode: boolean;
  type: 'voice_clone';
  /** What the usage row names, such as `elevenlabs/instant-voice-clone`. */
  model: string;
  amountMicros: number;
  /** The same key again charges nothing: `voice_clone:<id of the voice>`. */
  sourceKey: string;
  apiKeyId?: string;
  nowMs: number;
}

/**
 * Charges for something done once, in the caller's transaction: the ledger, and a usage row whose amount is what was charged.
 * Throws ApiError `insufficient_credits`.
 */
export async function chargeOnce(db: Queryable, charge: OneOff): Promise<void> {
  const { accountId, livemode, type, model, sourceKey, apiKeyId, nowMs } = charge;
  const amountMicros = livemode ? charge.amountMicros : 0;
  const moved = amountMicros === 0 ? undefined : await move(db, { accountId, type, amountMicros: -BigInt(amountMicros), against: 'revenue', sourceKey, nowMs });
  if (moved?.isNew === false) return;
  await recordUsage(db, [{
    accountId, livemode, ...(apiKeyId === undefined ? {} : { apiKeyId }), component: type, model, measure: 'clones', quantity: 1, unitPriceMicros: amountMicros,
    source: 'measured', occurredAtMs: nowMs, sourceKey,
  }]);
}

/**
 * Refuses early what could not be paid for; `chargeOnce` decides, for money may be spent in between.
 * Throws ApiError `insufficient_credits`.
 */
export async function requireCredit(db: Queryable, { accountId, livemode, amountMicros }: { accountId: string; livemode: boolean; amountMicros: number }): Promise<void> {
  if (!livemode || amountMicros === 0) return;
  const available = (await selectBalance(db, accountId))?.available_micros ?? 0;
  if (available < amountMicros) throw new ApiError('insufficient_credits', `This needs ${amountMicros} micro-USD, and ${available} are available. Top up first.`);
}

/** Credit that an operator gives, or takes back, by hand. Throws ApiError `account_not_found`, `insufficient_credits`. */
export function giveCredit({ db, clock }: Pick<AppContext, 'db' | 'clock'>, given: GiveCredit, id: string): Promise<TransactionRow> {
  return db.transaction(async (transaction) => {
    await requireAccount(transaction, given.account_id, 'account_id');
    const { row } = await move(transaction, {
      accountId: given.account_id, type: given.amount_micros > 0 ? 'credit' : 'adjustment', amountMicros: BigInt(given.amount_micros), against: 'adjustments',
      sourceKey: `credit:${id}`, note: given.note, nowMs: clock.now(),
    });
    return row;
  });
}

/** What `giveCredit` did with this id. */
export async function givenCredit(db: Queryable, id: string): Promise<TransactionRow> {
  return await selectBySource(db, `credit:${id}`) as TransactionRow;
}

/** Changes the settings that were sent. */
export function changeSettings({ db, clock }: Pick<AppContext, 'db' | 'clock'>, accountId: string, body: UpdateBilling): Promise<void> {
  return db.transaction(async (transaction) => {
    await lockBalance(transaction, accountId);
    const settings = await selectSettings(transaction, accountId);
    const { low_balance_threshold_micros: low, auto_top_up: auto } = body;
    await upsertSettings(transaction, accountId, {
      low_balance_threshold_micros: low === undefined ? settings.low_balance_threshold_micros : (low ?? 0),
      auto_top_up_threshold_micros: auto === undefined ? settings.auto_top_up_threshold_micros : (auto?.threshold_micros ?? null),
      auto_top_up_amount_micros: auto === undefined ? settings.auto_top_up_amount_micros : (auto?.amount_micros ?? null),
    }, new Date(clock.now()));
  });
}
