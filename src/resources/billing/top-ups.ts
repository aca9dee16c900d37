import { ApiError } from '../../api/errors.ts';
import type { AppContext } from '../../context.ts';
import type { Queryable } from '../../db/database.ts';
import { move } from './ledger.ts';
import { PaymentRefused, type PaymentEvent, type Payments } from './payments.ts';
import { findTopUp, insertPaymentEvent, insertTopUp, lockTopUp, markTopUpOver, markTopUpPaid, updateCheckout, updateRefunded, type TopUpRow } from './store.ts';

type TopUpContext = Pick<AppContext, 'db' | 'clock' | 'options' | 'log' | 'payments'>;
interface Owner { accountId: string; livemode: boolean }

/** Until the provider says when its page closes. */
const CHECKOUT_MS = 24 * 3_600_000;

/**
 * Begins a top-up: with a live key a page on which somebody pays; in test mode it is paid at once, by nobody, and credits
 * nothing. Throws ApiError `payments_not_configured`, `provider_error`.
 */
export async function createTopUp(context: TopUpContext, owner: Owner, amountMicros: number, id: string): Promise<TopUpRow> {
  const now = new Date(context.clock.now());
  const fields = { id, account_id: owner.accountId, livemode: owner.livemode, amount_micros: amountMicros, created_at: now };
  if (!owner.livemode) return context.db.transaction((transaction) => insertTopUp(transaction, { ...fields, status: 'paid', paid_at: now, expires_at: null }));
  const payments = requirePayments(context);
  const expires = new Date(now.getTime() + CHECKOUT_MS);
  // First the row: whatever the provider then tells us of it finds it.
  const row = await context.db.transaction((transaction) => insertTopUp(transaction, { ...fields, status: 'pending', paid_at: null, expires_at: expires }));
  return openCheckout(context, payments, row);
}

/** For a retry: the top-up, with a page if the first request did not get one. */
export async function resumeTopUp(context: TopUpContext, owner: Owner, id: string): Promise<TopUpRow> {
  const row = await requireTopUp(context.db, owner, id);
  if (row.status !== 'pending' || row.checkout_url !== null) return row;
  return openCheckout(context, requirePayments(context), row);
}

/** The top-up `id` names, for a caller of its own account and mode. Throws ApiError `top_up_not_found`, `key_mode_mismatch`. */
export async function requireTopUp(db: Queryable, owner: Owner, id: string): Promise<TopUpRow> {
  const row = await findTopUp(db, owner.accountId, id);
  if (!row) throw new ApiError('top_up_not_found', `No top-up ${id} in this account.`, { param: 'id' });
  if (row.livemode !== owner.livemode) throw new ApiError('key_mode_mismatch', `Top-up ${id} belongs to ${row.livemode ? 'live' : 'test'} mode.`, { param: 'id' });
  return row;
}

/** Throws ApiError `payments_not_configured`. */
export function requirePayments({ payments }: Pick<AppContext, 'payments'>): Payments {
  if (!payments) throw new ApiError('payments_not_configured', 'This installation has no payment provider. Ask its operator for credit, or to set STRIPE_SECRET_KEY.');
  return payments;
}

/**
 * Does what the provider's event says, once, however often and in whatever order events come: money that arrived is
 * credited even if the top-up had expired. Throws ApiError `service_unavailable` for a refund that comes before its payment.
 */
export async function applyPaymentEvent(context: TopUpContext, event: PaymentEvent): Promise<void> {
  if (event.kind === 'other') return;
  const nowMs = context.clock.now();
  await context.db.transaction(async (transaction) => {
    if (!(await insertPaymentEvent(transaction, event, new Date(nowMs)))) return;
    const row = await lockTopUp(transaction, event.topUpId);
    if (!row) return context.log.warn({ event: event.id, top_up: event.topUpId }, 'a payment event names no top-up of this installation');
    if (event.kind === 'refunded') return refund(transaction, row, event.refundedMicros, nowMs);
    if (event.kind !== 'paid') return markTopUpOver(transaction, row.id, event.kind);
    if (row.status === 'paid') return;
    if (event.amountMicros !== row.amount_micros || (row.provider_session_id !== null && row.provider_session_id !== event.sessionId)) {
      return context.log.error({ event: event.id, top_up: row.id }, 'a payment does not fit its top-up and was not credited');
    }
    await markTopUpPaid(transaction, row.id, event.paymentId, new Date(nowMs));
    await move(transaction, { accountId: row.account_id, type: 'top_up', amountMicros: BigInt(row.amount_micros), against: 'payments', sourceKey: `top_up:${row.id}`, topUpId: row.id, nowMs });
  });
}

async function refund(transaction: Queryable, row: TopUpRow, refundedMicros: number, nowMs: number): Promise<void> {
  if (row.status !== 'paid') throw new ApiError('service_unavailable', 'The payment that was refunded is not known yet. Send the event again later.', { retryAfterSeconds: 60 });
  const given = BigInt(refundedMicros) - BigInt(row.refunded_micros);
  if (given <= 0n) return;
  await updateRefunded(transaction, row.id, refundedMicros);
  await move(transaction, {
    accountId: row.account_id, type: 'refund', amountMicros: -given, against: 'payments', mayOwe: true, sourceKey: `refund:${row.id}:${refundedMicros}`, topUpId: row.id, nowMs,
  });
}

/** A provider that cannot be reached leaves the top-up pending: a retry with the same Idempotency-Key tries again. */
async function openCheckout({ db, log, options }: TopUpContext, payments: Payments, row: TopUpRow): Promise<TopUpRow> {
  try {
    const checkout = await payments.openCheckout({ topUpId: row.id, accountId: row.account_id, amountMicros: row.amount_micros, returnUrl: `${options.publicUrl}/console/billing?top_up=${row.id}` });
    return await updateCheckout(db, row.id, checkout);
  } catch (error) {
    log.error({ top_up: row.id, error: String(error), cause: error instanceof PaymentRefused && error.cause instanceof Error ? error.cause.message : undefined }, 'no checkout could be opened');
    if (error instanceof PaymentRefused) await markTopUpOver(db, row.id, 'failed');
    throw new ApiError('provider_error', 'The payment provider opened no checkout; nothing was charged. Try again.', { cause: error });
  }
}
