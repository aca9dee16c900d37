import { ApiError } from '../../api/errors.ts';
import type { Queryable } from '../../db/database.ts';
import { costOf, takeForCharge, unchargedOfCall, type Metered } from '../usage/actions.ts';
import { move } from './ledger.ts';
import { pricesOf } from './prices.ts';
import { insertCharge, lockCharge, updateCharge, type ChargeRow } from './store.ts';
import type { Component, Measure } from './units.ts';

/** What a busy minute of a call uses: what is held for it. */
const MINUTE: Readonly<Record<Component, Partial<Record<Measure, number>>>> = {
  stt: { time_ms: 60_000 },
  llm: { input_tokens: 12_000, output_tokens: 600 },
  tts: { characters: 900 },
  realtime: { time_ms: 60_000, input_tokens: 4000, output_tokens: 400, audio_tokens_in: 600, audio_tokens_out: 1200 },
  telephony: { time_ms: 60_000 },
  voice_clone: {},
};

/** A call about to start, with every model it will use. */
export interface CallToHold {
  callId: string;
  accountId: string;
  livemode: boolean;
  models: readonly { component: Component; model: string }[];
  /** The call ends before it costs more: no more is held. */
  maxCostMicros?: number | undefined;
  nowMs: number;
}

/**
 * Holds the first minute of a call, in the transaction that makes its row; answers what is held, micro-USD. A test call, and
 * one whose parts all cost 0, holds nothing. Once per call. Throws ApiError `insufficient_credits`, or `unknown_model` for a
 * model that the price book does not have.
 */
export async function holdForCall(db: Queryable, call: CallToHold): Promise<number> {
  const minuteMicros = call.livemode ? await minuteOf(db, call) : 0n;
  const most = call.maxCostMicros === undefined ? minuteMicros : BigInt(call.maxCostMicros);
  const isNew = await insertCharge(db, { ...call, minuteMicros });
  const charge = await lockCharge(db, call.callId) as ChargeRow;
  return Number(isNew ? await holdMore(db, charge, most < minuteMicros ? most : minuteMicros, call.nowMs) : charge.held_micros);
}

/**
 * Holds enough for what the call has used and another minute; answers what is held then, micro-USD. `unrecorded` is what was
 * used and has no usage row yet. Throws ApiError `insufficient_credits`: nothing more is held then, and the call should end.
 */
export async function extendHold(db: Queryable, { callId, unrecorded = [], nowMs }: { callId: string; unrecorded?: readonly Metered[]; nowMs: number }): Promise<number> {
  const charge = await lockCharge(db, callId);
  if (!charge || !charge.livemode || charge.settled_at !== null) return charge?.held_micros ?? 0;
  const recorded = BigInt((await unchargedOfCall(db, callId))?.amountMicros ?? 0);
  const wanted = recorded + await costOf(db, unrecorded, nowMs) + BigInt(charge.minute_micros);
  const more = wanted - BigInt(charge.held_micros);
  return Number(more > 0n ? await holdMore(db, charge, more, nowMs) : charge.held_micros);
}

/**
 * Charges a call exactly what its usage rows come to and releases what was held beyond, in the transaction that ends it;
 * answers its cost, micro-USD. Again, after rows came late: charges those. Never refuses: what was used up is owed.
 */
export async function settleCall(db: Queryable, { callId, nowMs }: { callId: string; nowMs: number }): Promise<number> {
  const charge = await lockCharge(db, callId) ?? await chargeOfUsage(db, callId);
  if (!charge) return 0;
  const moves = charge.moves + 1;
  const sourceKey = `call:${callId}:${moves}`;
  const due = BigInt(await takeForCharge(db, callId, sourceKey));
  const held = BigInt(charge.held_micros);
  if (due !== 0n || held !== 0n) {
    await move(db, { accountId: charge.account_id, type: due === 0n ? 'hold' : 'usage', amountMicros: -due, holdMicros: -held, against: 'revenue', mayOwe: true, sourceKey, callId, nowMs });
  }
  const charged = BigInt(charge.charged_micros) + due;
  await updateCharge(db, callId, { held: 0n, charged, moves, settledAt: new Date(nowMs) });
  return Number(charged);
}

async function minuteOf(db: Queryable, { models, nowMs }: CallToHold): Promise<bigint> {
  for (const { component, model } of models) {
    if ((await pricesOf(db, component, model, nowMs)).length === 0) throw new ApiError('unknown_model', `${model} has no price as ${component}: the operator must set one in the price book first.`);
  }
  const minute = models.flatMap(({ component, model }) => Object.entries(MINUTE[component]).map(([measure, quantity]) => ({ component, model, measure: measure as Measure, quantity })));
  return costOf(db, minute, nowMs);
}

async function holdMore(db: Queryable, charge: ChargeRow, moreMicros: bigint, nowMs: number): Promise<bigint> {
  if (moreMicros === 0n) return BigInt(charge.held_micros);
  const moves = charge.moves + 1;
  await move(db, {
    accountId: charge.account_id, type: 'hold', amountMicros: 0n, holdMicros: moreMicros, against: 'revenue', sourceKey: `call:${charge.call_id}:${moves}`, callId: charge.call_id, nowMs,
  });
  const held = BigInt(charge.held_micros) + moreMicros;
  await updateCharge(db, charge.call_id, { held, charged: BigInt(charge.charged_micros), moves, settledAt: null });
  return held;
}

/** For rows of a call that nothing was ever held for; undefined: it has none that cost. */
async function chargeOfUsage(db: Queryable, callId: string): Promise<ChargeRow | undefined> {
  const usage = await unchargedOfCall(db, callId);
  if (!usage || usage.amountMicros === 0) return undefined;
  await insertCharge(db, { callId, accountId: usage.accountId, livemode: usage.livemode, minuteMicros: 0n });
  return lockCharge(db, callId);
}
