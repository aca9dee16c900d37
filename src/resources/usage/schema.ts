import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { DateTime, Id, NullableString, OneOf, Timestamp } from '../../api/schemas.ts';
import { COMPONENTS, PRICE_UNITS, USAGE_UNITS } from '../billing/units.ts';

const closed = { additionalProperties: false };
const money = (description: string) => Type.Integer({ description: `${description} Micro-USD: 1 000 000 is 1.00 USD.` });

export const UsageRecord = Type.Object({
  id: Type.String(),
  object: Type.Literal('usage_record'),
  livemode: Type.Boolean(),
  call_id: Type.Union([Type.String(), Type.Null()], { description: 'The call, even if it was deleted since; null for what belongs to none, such as a voice cloned.' }),
  agent_id: NullableString,
  campaign_id: NullableString,
  api_key_id: Type.Union([Type.String(), Type.Null()], { description: 'The key that started the call; null for inbound calls and the console.' }),
  component: OneOf(COMPONENTS),
  model: Type.String(),
  unit: OneOf(USAGE_UNITS, { description: 'The finest measure: what `quantity` counts.' }),
  quantity: Type.Integer(),
  price_unit: OneOf(PRICE_UNITS, { description: 'What `unit_price_micros` buys one of.' }),
  unit_price_micros: money('The price when it was used.'),
  amount_micros: money('quantity × price, rounded half up, once.'),
  source: OneOf(['vendor', 'measured', 'estimated'], { description: 'Whose figure the quantity is.' }),
  occurred_at: Timestamp,
});
export type UsageRecord = Static<typeof UsageRecord>;
export const UsageRecordList = listOf(UsageRecord);

const RANGE = {
  from: Type.Optional(DateTime('Used at this time or later.')),
  to: Type.Optional(DateTime('Used before this time.')),
};
export const ListUsage = Type.Object({
  ...PAGE_PARAMETERS,
  call_id: Type.Optional(Id('Of this call.')),
  component: Type.Optional(OneOf(COMPONENTS)),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  ...RANGE,
}, closed);

export const GROUP_BY = ['day', 'component', 'agent', 'model', 'campaign'] as const;
export type GroupBy = (typeof GROUP_BY)[number];
export const SummaryQuery = Type.Object({
  group_by: OneOf(GROUP_BY, { description: 'One group for each of its values; days are those of UTC.' }),
  from: Type.Optional(DateTime('Used at this time or later; 30 days before `to` when absent.')),
  to: Type.Optional(DateTime('Used before this time; now when absent. At most 366 days after `from`.')),
}, closed);

export const UsageSummary = Type.Object({
  object: Type.Literal('usage_summary'),
  livemode: Type.Boolean(),
  group_by: OneOf(GROUP_BY),
  from: Timestamp,
  to: Timestamp,
  amount_micros: money('Everything in this time.'),
  data: Type.Array(Type.Object({
    key: Type.Union([Type.String(), Type.Null()], { description: 'The day, component, model, or the id of the agent or campaign; null: of none.' }),
    amount_micros: money('Everything in this group.'),
    records: Type.Integer({ description: 'How many usage records.' }),
    quantities: Type.Array(Type.Object({ unit: OneOf(USAGE_UNITS), quantity: Type.Integer() })),
  })),
});
export type UsageSummary = Static<typeof UsageSummary>;
