import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { Id, Nullable, NullableString, NullableTimestamp, OneOf, Timestamp } from '../../api/schemas.ts';
import { COMPONENTS, PRICE_UNITS, USAGE_UNITS } from './units.ts';

const closed = { additionalProperties: false };
const MAX_THRESHOLD_MICROS = 1_000_000_000_000;
const MAX_PRICE_MICROS = 1_000_000_000_000;
const MAX_CREDIT_MICROS = 10_000_000_000_000;
const CENT_MICROS = 10_000;

const money = (description: string) => Type.Integer({ description: `${description} Micro-USD.` });
/** What a provider can be paid: whole cents, 1 to 10 000 USD. */
const payable = (description: string) => Type.Integer({ minimum: 1_000_000, maximum: 10_000_000_000, multipleOf: CENT_MICROS, description: `${description} Micro-USD, in whole cents (multiples of 10 000).` });

const AutoTopUp = Type.Object({
  threshold_micros: Type.Integer({ minimum: 0, maximum: MAX_THRESHOLD_MICROS, description: 'Tops up when less than this is available. Micro-USD.' }),
  amount_micros: payable('How much each time.'),
}, closed);

export const Billing = Type.Object({
  object: Type.Literal('billing'),
  currency: Type.Literal('usd'),
  balance_micros: money('What the account has. Below 0 only when the last seconds of a call cost more than was left, or a refund came after the money was spent; the next credit pays that first.'),
  held_micros: money('The part of it that is set aside for live calls.'),
  available_micros: money('The part of it that new calls can use.'),
  low_balance: Type.Boolean({ description: 'Less than `low_balance_threshold_micros` is available.' }),
  low_balance_threshold_micros: money('0: the balance is never low.'),
  auto_top_up: Nullable(AutoTopUp),
  concurrency: Type.Object({
    limit: Type.Integer({ description: 'Calls the account may have at once.' }),
    current: Type.Integer({ description: 'Calls it has now, of both modes.' }),
  }),
});
export type Billing = Static<typeof Billing>;

export const UpdateBilling = Type.Object({
  low_balance_threshold_micros: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: MAX_THRESHOLD_MICROS, description: 'Micro-USD; 0 or null: the balance is never low.' }))),
  auto_top_up: Type.Optional(Nullable(AutoTopUp)),
}, closed);
export type UpdateBilling = Static<typeof UpdateBilling>;

export const TRANSACTION_TYPES = ['top_up', 'usage', 'voice_clone', 'refund', 'adjustment', 'credit'] as const;
export const BillingTransaction = Type.Object({
  id: Type.String(),
  object: Type.Literal('billing_transaction'),
  type: OneOf(TRANSACTION_TYPES),
  amount_micros: money('What the balance gained; negative: lost.'),
  balance_after_micros: money('What it then was.'),
  call_id: NullableString,
  top_up_id: NullableString,
  note: NullableString,
  created_at: Timestamp,
});
export type BillingTransaction = Static<typeof BillingTransaction>;
export const BillingTransactionList = listOf(BillingTransaction);
export const ListTransactions = Type.Object({ ...PAGE_PARAMETERS, type: Type.Optional(OneOf(TRANSACTION_TYPES)) }, closed);

const PRICE = {
  object: Type.Literal('price'),
  component: OneOf(COMPONENTS),
  model: Type.String({ description: '`vendor/model`; `vendor/*` is every other model of that vendor, `*` every other model.' }),
  unit: OneOf(PRICE_UNITS),
  price_micros: money('For one unit.'),
  valid_from: NullableTimestamp,
};
export const Price = Type.Object(PRICE);
export type Price = Static<typeof Price>;
export const PriceList = listOf(Price);
export const ConsolePrice = Type.Object({ ...PRICE, source: OneOf(['book', 'console'], { description: '`book`: shipped with the service; `console`: set here.' }) });
export type ConsolePrice = Static<typeof ConsolePrice>;
export const ConsolePriceList = listOf(ConsolePrice);
export const SetPrice = Type.Object({
  component: OneOf(COMPONENTS),
  model: Type.String({ pattern: '^(\\*|[a-z0-9_-]+/(\\*|[A-Za-z0-9._:/-]+))$', maxLength: 200 }),
  unit: OneOf(PRICE_UNITS),
  price_micros: Nullable(Type.Integer({ minimum: 0, maximum: MAX_PRICE_MICROS, description: 'Micro-USD for one unit; null: as shipped.' })),
}, closed);

export const TopUp = Type.Object({
  id: Type.String(),
  object: Type.Literal('top_up'),
  livemode: Type.Boolean(),
  amount_micros: money('What is paid.'),
  currency: Type.Literal('usd'),
  status: OneOf(['pending', 'paid', 'expired', 'failed']),
  checkout_url: Type.Union([Type.String(), Type.Null()], { description: 'Where to pay; null once that is over, and in test mode.' }),
  expires_at: Type.Union([Type.String(), Type.Null()], { description: 'When the page closes. ISO 8601, UTC.' }),
  paid_at: NullableTimestamp,
  refunded_micros: money('What was given back of it.'),
  created_at: Timestamp,
});
export type TopUp = Static<typeof TopUp>;
export const TopUpList = listOf(TopUp);
export const ListTopUps = Type.Object({ ...PAGE_PARAMETERS }, closed);
export const CreateTopUp = Type.Object({ amount_micros: payable('How much credit to buy: 1 to 10 000 USD.') }, closed);

export const StatementQuery = Type.Object({
  month: Type.String({ pattern: '^20[0-9]{2}-(0[1-9]|1[0-2])$', description: 'YYYY-MM, a month of UTC.' }),
  format: Type.Optional(OneOf(['json', 'csv'], { description: 'Goes before the Accept header.' })),
}, closed);
export const Statement = Type.Object({
  object: Type.Literal('statement'),
  month: Type.String(),
  currency: Type.Literal('usd'),
  opening_balance_micros: money('Before the month.'),
  closing_balance_micros: money('After the month; the opening balance and every total.'),
  totals: Type.Array(Type.Object({ type: OneOf(TRANSACTION_TYPES), count: Type.Integer(), amount_micros: money('What the balance gained; negative: lost.') })),
  usage: Type.Array(Type.Object({
    component: OneOf(COMPONENTS),
    model: Type.String(),
    unit: OneOf(USAGE_UNITS),
    quantity: Type.Integer(),
    amount_micros: money('Together these are what the totals of usage and voice_clone took.'),
  }), { description: 'What the month\'s charges were for.' }),
});
export type Statement = Static<typeof Statement>;

export const GiveCredit = Type.Object({
  account_id: Id('Account whose balance it is.'),
  amount_micros: Type.Integer({ minimum: -MAX_CREDIT_MICROS, maximum: MAX_CREDIT_MICROS, not: { const: 0 }, description: 'Micro-USD; negative takes back what is available.' }),
  note: Type.String({ minLength: 1, maxLength: 500, description: 'Why; the account sees it.' }),
}, closed);
export type GiveCredit = Static<typeof GiveCredit>;
