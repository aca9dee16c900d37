import { iso } from '../../api/schemas.ts';
import type { BalanceRow, TransactionRow } from './ledger-store.ts';
import type { PriceRow } from './prices.ts';
import type { Billing, BillingTransaction, ConsolePrice, TopUp } from './schema.ts';
import type { SettingsRow, TopUpRow } from './store.ts';

export function presentBilling(balance: BalanceRow | undefined, settings: SettingsRow, concurrency: Billing['concurrency']): Billing {
  const { available_micros: available = 0, held_micros: held = 0, owed_micros: owed = 0 } = balance ?? {};
  const { low_balance_threshold_micros: low, auto_top_up_threshold_micros: threshold, auto_top_up_amount_micros: amount } = settings;
  return {
    object: 'billing', currency: 'usd', balance_micros: available + held - owed, held_micros: held, available_micros: available,
    low_balance: available < low, low_balance_threshold_micros: low,
    auto_top_up: threshold === null || amount === null ? null : { threshold_micros: threshold, amount_micros: amount },
    concurrency,
  };
}

export function presentTransaction(row: TransactionRow): BillingTransaction {
  return {
    id: row.id, object: 'billing_transaction', type: row.type as BillingTransaction['type'], amount_micros: row.amount_micros, balance_after_micros: row.balance_after_micros,
    call_id: row.call_id, top_up_id: row.top_up_id, note: row.note, created_at: iso(row.created_at),
  };
}

export function presentPrice({ component, model, unit, price_micros, valid_from, source }: PriceRow): ConsolePrice {
  return { object: 'price', component, model, unit, price_micros, valid_from: valid_from.getTime() === 0 ? null : iso(valid_from), source };
}

export function presentTopUp(row: TopUpRow, nowMs: number): TopUp {
  const over = row.status === 'pending' && row.expires_at !== null && row.expires_at.getTime() <= nowMs;
  const status = over ? 'expired' : row.status;
  return {
    id: row.id, object: 'top_up', livemode: row.livemode, amount_micros: row.amount_micros, currency: 'usd', status,
    checkout_url: status === 'pending' ? row.checkout_url : null, expires_at: iso(row.expires_at), paid_at: iso(row.paid_at),
    refunded_micros: row.refunded_micros, created_at: iso(row.created_at),
  };
}

/** The envelope of a list that is one page. */
export function allOf<Item>(data: Item[]): { object: 'list'; data: Item[]; has_more: boolean; next_cursor: null; previous_cursor: null } {
  return { object: 'list', data, has_more: false, next_cursor: null, previous_cursor: null };
}
