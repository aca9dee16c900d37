import type { Database, Queryable } from '../../db/database.ts';
import { selectAllBalances, selectChain, selectDisagreements } from './audit-store.ts';
import type { BalanceRow } from './ledger-store.ts';
import { hashOf } from './ledger.ts';

const PAGE = 1000;
const STATEMENT_TIMEOUT = '10min';

/**
 * Proves the ledger as it stands at one moment: every transaction adds up to 0, balances are the sums of their entries, what
 * was charged is the sum of its usage rows, and each account's chain of hashes is whole. Answers what does not hold, as
 * sentences; empty: all of it does.
 */
export async function verifyLedger(db: Database): Promise<string[]> {
  return db.transaction(async (transaction) => {
    await transaction.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    await transaction.query(`SET LOCAL statement_timeout = '${STATEMENT_TIMEOUT}'`);
    const findings = await selectDisagreements(transaction);
    for (const balance of await selectAllBalances(transaction)) findings.push(...await chainFindings(transaction, balance));
    return findings;
  });
}

async function chainFindings(db: Queryable, balance: BalanceRow): Promise<string[]> {
  const findings: string[] = [];
  let [sequence, micros]: [number, bigint] = [0, 0n];
  let previous: Buffer | null = null;
  for (;;) {
    const page = await selectChain(db, balance.account_id, sequence, PAGE);
    for (const { entries, ...row } of page) {
      micros += BigInt(row.amount_micros);
      const sealed = hashOf(previous, row, entries.map(({ a, m }) => ({ ledgerAccount: a, amountMicros: BigInt(m) })));
      if (row.sequence !== sequence + 1) findings.push(`account ${balance.account_id}: transaction ${row.sequence} follows ${sequence}`);
      if (!sealed.equals(row.hash)) findings.push(`transaction ${row.id}: was changed, or one before it`);
      if (BigInt(row.balance_after_micros) !== micros) findings.push(`transaction ${row.id}: balance_after_micros is ${row.balance_after_micros}, the sum so far ${micros}`);
      sequence = row.sequence;
      previous = row.hash;
    }
    if (page.length < PAGE) break;
  }
  if (balance.sequence !== sequence || !(balance.head_hash ?? Buffer.alloc(0)).equals(previous ?? Buffer.alloc(0))) findings.push(`account ${balance.account_id}: its newest transactions are missing`);
  return findings;
}
