import type { Queryable } from '../../db/database.ts';
import type { BalanceRow, LedgerAccount, TransactionRow } from './ledger-store.ts';

/** The SQL of the ledger's audit: reads only, over all accounts. Sums that should agree and do not, as sentences. */
const DISAGREEMENTS: readonly string[] = [
  `SELECT 'transaction ' || t.id || ': its entries add up to ' || COALESCE(sum(e.amount_micros), 0) AS finding
   FROM ledger_transaction t LEFT JOIN ledger_entry e ON e.transaction_id = t.id GROUP BY t.id HAVING COALESCE(sum(e.amount_micros), 0) <> 0`,
  `SELECT 'transaction ' || t.id || ': says ' || t.amount_micros || ', but moved ' || COALESCE(sum(e.amount_micros), 0) AS finding
   FROM ledger_transaction t LEFT JOIN ledger_entry e ON e.transaction_id = t.id AND e.ledger_account IN ('customer', 'held', 'owed')
   GROUP BY t.id HAVING COALESCE(sum(e.amount_micros), 0) <> t.amount_micros`,
  `SELECT 'account ' || b.account_id || ': its balance is not the sum of its entries' AS finding FROM balance b
   LEFT JOIN ledger_transaction t ON t.account_id = b.account_id LEFT JOIN ledger_entry e ON e.transaction_id = t.id
   GROUP BY b.account_id HAVING b.available_micros <> COALESCE(sum(e.amount_micros) FILTER (WHERE e.ledger_account = 'customer'), 0)
     OR b.held_micros <> COALESCE(sum(e.amount_micros) FILTER (WHERE e.ledger_account = 'held'), 0)
     OR -b.owed_micros <> COALESCE(sum(e.amount_micros) FILTER (WHERE e.ledger_account = 'owed'), 0)`,
  `SELECT 'account ' || b.account_id || ': what its calls hold is not what is held' AS finding FROM balance b
   LEFT JOIN call_charge c ON c.account_id = b.account_id AND c.held_micros > 0 GROUP BY b.account_id HAVING b.held_micros <> COALESCE(sum(c.held_micros), 0)`,
  `SELECT 'transaction ' || t.id || ': its usage rows come to ' || COALESCE(sum(u.amount_micros), 0) || ', it took ' || -t.amount_micros AS finding
   FROM ledger_transaction t LEFT JOIN usage_record u ON u.charged_by = t.source_key WHERE t.type IN ('usage', 'voice_clone')
   GROUP BY t.id HAVING COALESCE(sum(u.amount_micros), 0) <> -t.amount_micros`,
  `SELECT 'call ' || c.call_id || ': charged ' || c.charged_micros || ', its usage rows come to ' || COALESCE(sum(u.amount_micros), 0) AS finding
   FROM call_charge c LEFT JOIN usage_record u ON u.call_id = c.call_id WHERE c.settled_at IS NOT NULL GROUP BY c.call_id HAVING COALESCE(sum(u.amount_micros), 0) <> c.charged_micros`,
  `SELECT 'call ' || call.id || ': cost_micros is ' || call.cost_micros || ', its usage rows come to ' || COALESCE(sum(u.amount_micros), 0) AS finding
   FROM call LEFT JOIN usage_record u ON u.call_id = call.id WHERE call.ended_at IS NOT NULL GROUP BY call.id HAVING COALESCE(sum(u.amount_micros), 0) <> call.cost_micros`,
  `SELECT 'top-up ' || p.id || ': is ' || p.status || ', but its transactions come to ' || COALESCE(sum(t.amount_micros), 0) AS finding
   FROM top_up p LEFT JOIN ledger_transaction t ON t.top_up_id = p.id
   GROUP BY p.id HAVING COALESCE(sum(t.amount_micros), 0) <> CASE WHEN p.livemode AND p.status = 'paid' THEN p.amount_micros - p.refunded_micros ELSE 0 END`,
];

export async function selectDisagreements(db: Queryable): Promise<string[]> {
  const findings: string[] = [];
  for (const sql of DISAGREEMENTS) findings.push(...(await db.query<{ finding: string }>(sql)).map(({ finding }) => finding));
  return findings;
}

export function selectAllBalances(db: Queryable): Promise<BalanceRow[]> {
  return db.query<BalanceRow>('SELECT * FROM balance ORDER BY account_id');
}

/** An account's transactions after number `after`, in order, with their entries. */
export function selectChain(db: Queryable, accountId: string, after: number, limit: number): Promise<(TransactionRow & { entries: { a: LedgerAccount; m: number }[] })[]> {
  return db.query(
    `SELECT t.*, COALESCE((SELECT jsonb_agg(jsonb_build_object('a', e.ledger_account, 'm', e.amount_micros)) FROM ledger_entry e WHERE e.transaction_id = t.id), '[]') AS entries
     FROM ledger_transaction t WHERE account_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`, [accountId, after, limit]);
}
