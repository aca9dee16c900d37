import { createHash } from 'node:crypto';
import { ApiError } from '../../api/errors.ts';
import type { Queryable } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import { insertTransaction, lockBalance, selectBySource, updateBalance, type BalanceRow, type Entry, type LedgerAccount, type TransactionRow, type TransactionType } from './ledger-store.ts';

/** One movement of an account's money. */
export interface Movement {
  accountId: string;
  type: TransactionType;
  /** What the balance gains; negative: loses. Micro-USD. */
  amountMicros: bigint;
  /** How much more is held; negative: released. Micro-USD. */
  holdMicros?: bigint;
  /** Where the amount comes from or goes to. */
  against: Exclude<LedgerAccount, 'customer' | 'held' | 'owed'>;
  /** What it is done for: the same key again moves nothing. */
  sourceKey: string;
  /** What the account does not have becomes owed instead of being refused: for what has been used up already. */
  mayOwe?: boolean;
  callId?: string;
  topUpId?: string;
  note?: string;
  nowMs: number;
}

/**
 * Writes a movement and moves the balance with it, in the caller's transaction; the account's row is locked until that
 * ends. A source key that is known moves nothing: `isNew` is false. Throws ApiError `insufficient_credits`, `invalid_parameter`.
 */
export async function move(db: Queryable, movement: Movement): Promise<{ row: TransactionRow; isNew: boolean }> {
  const balance = await lockBalance(db, movement.accountId);
  const known = await selectBySource(db, movement.sourceKey);
  if (known) return { row: known, isNew: false };
  const after = balanceAfter(balance, movement);
  const entries = entriesOf(balance, after, movement);
  const nowMs = Math.max(movement.nowMs, balance.head_at?.getTime() ?? 0);
  const unsealed = {
    id: idAfter(balance.head_id, nowMs), account_id: movement.accountId, sequence: balance.sequence + 1, type: movement.type,
    amount_micros: Number(movement.amountMicros), balance_after_micros: Number(after.available + after.held - after.owed), source_key: movement.sourceKey,
    call_id: movement.callId ?? null, top_up_id: movement.topUpId ?? null, note: movement.note ?? null, created_at: new Date(nowMs),
  };
  const row: TransactionRow = { ...unsealed, hash: hashOf(balance.head_hash, unsealed, entries) };
  await insertTransaction(db, row, entries);
  await updateBalance(db, { accountId: movement.accountId, ...after }, row);
  return { row, isNew: true };
}

/** Nine thousand million dollars: beyond it an amount could not be shown exactly. */
const MOST_MICROS = BigInt(Number.MAX_SAFE_INTEGER);

interface Amounts { available: bigint; held: bigint; owed: bigint }

/** What is free afterwards is either there or owed. */
function balanceAfter(balance: BalanceRow, { amountMicros, holdMicros = 0n, mayOwe = false }: Movement): Amounts {
  const free = BigInt(balance.available_micros) - BigInt(balance.owed_micros) + amountMicros - holdMicros;
  const takes = amountMicros < holdMicros;
  if (free < 0n && takes && !mayOwe) {
    throw new ApiError('insufficient_credits', `This needs ${holdMicros - amountMicros} micro-USD, and ${balance.available_micros} are available. Top up, or lower the amount.`);
  }
  const after = { available: free > 0n ? free : 0n, held: BigInt(balance.held_micros) + holdMicros, owed: free < 0n ? -free : 0n };
  if (after.available + after.held > MOST_MICROS || after.owed > MOST_MICROS) throw new ApiError('invalid_parameter', 'The balance would be more than an account can have.', { param: 'amount_micros' });
  return after;
}

function entriesOf(before: BalanceRow, after: Amounts, { amountMicros, against }: Movement): Entry[] {
  const entries: Entry[] = [
    { ledgerAccount: 'customer', amountMicros: after.available - BigInt(before.available_micros) },
    { ledgerAccount: 'held', amountMicros: after.held - BigInt(before.held_micros) },
    { ledgerAccount: 'owed', amountMicros: BigInt(before.owed_micros) - after.owed },
    { ledgerAccount: against, amountMicros: -amountMicros },
  ];
  return entries.filter((entry) => entry.amountMicros !== 0n);
}

/** SHA-256 over the hash before, the transaction and its entries, so that none can be changed, dropped or put in unseen. */
export function hashOf(previous: Buffer | null, row: Omit<TransactionRow, 'hash'>, entries: readonly Entry[]): Buffer {
  const content = [
    row.id, row.account_id, row.sequence, row.type, row.amount_micros, row.balance_after_micros, row.source_key, row.call_id, row.top_up_id, row.note,
    row.created_at.toISOString(), entries.map(({ ledgerAccount, amountMicros }) => `${ledgerAccount}:${amountMicros}`).sort(),
  ];
  return createHash('sha256').update(previous ?? Buffer.alloc(0)).update(JSON.stringify(content)).digest();
}

/** Ids of an account's transactions sort as they follow one another, whichever process makes them. */
function idAfter(previous: string | null, nowMs: number): string {
  const id = newId(nowMs);
  return previous === null || id > previous ? id : (BigInt(`0x${previous}`) + 1n).toString(16).padStart(24, '0');
}
