import { pageSql, type PageRequest } from '../../api/pagination.ts';
import type { Queryable } from '../../db/database.ts';

/** The only SQL on the ledger: balances, transactions and their entries. */

export type TransactionType = 'top_up' | 'usage' | 'voice_clone' | 'refund' | 'adjustment' | 'credit' | 'hold';
export type LedgerAccount = 'customer' | 'held' | 'owed' | 'payments' | 'revenue' | 'adjustments';

export interface BalanceRow {
  account_id: string;
  available_micros: number;
  held_micros: number;
  owed_micros: number;
  sequence: number;
  head_id: string | null;
  head_at: Date | null;
  head_hash: Buffer | null;
}

export interface TransactionRow {
  id: string;
  account_id: string;
  sequence: number;
  type: TransactionType;
  amount_micros: number;
  balance_after_micros: number;
  source_key: string;
  call_id: string | null;
  top_up_id: string | null;
  note: string | null;
  created_at: Date;
  hash: Buffer;
}

export interface Entry { ledgerAccount: LedgerAccount; amountMicros: bigint }

const COLUMNS = 'id, account_id, sequence, type, amount_micros, balance_after_micros, source_key, call_id, top_up_id, note, created_at, hash';

/** The account's balance, locked until the transaction ends; made when it is not there. */
export async function lockBalance(db: Queryable, accountId: string): Promise<BalanceRow> {
  const select = 'SELECT * FROM balance WHERE account_id = $1 FOR UPDATE';
  const [row] = await db.query<BalanceRow>(select, [accountId]);
  if (row) return row;
  await db.query('INSERT INTO balance (account_id) VALUES ($1) ON CONFLICT DO NOTHING', [accountId]);
  const [made] = await db.query<BalanceRow>(select, [accountId]);
  return made as BalanceRow;
}

export async function selectBalance(db: Queryable, accountId: string): Promise<BalanceRow | undefined> {
  const [row] = await db.query<BalanceRow>('SELECT * FROM balance WHERE account_id = $1', [accountId]);
  return row;
}

export async function selectBySource(db: Queryable, sourceKey: string): Promise<TransactionRow | undefined> {
  const [row] = await db.query<TransactionRow>(`SELECT ${COLUMNS} FROM ledger_transaction WHERE source_key = $1`, [sourceKey]);
  return row;
}

export async function insertTransaction(db: Queryable, row: TransactionRow, entries: readonly Entry[]): Promise<void> {
  await db.query(
    `INSERT INTO ledger_transaction (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [row.id, row.account_id, row.sequence, row.type, row.amount_micros, row.balance_after_micros, row.source_key, row.call_id, row.top_up_id, row.note, row.created_at, row.hash],
  );
  await db.query(
    'INSERT INTO ledger_entry (transaction_id, ledger_account, amount_micros) SELECT $1, * FROM unnest($2::text[], $3::bigint[])',
    [row.id, entries.map(({ ledgerAccount }) => ledgerAccount), entries.map(({ amountMicros }) => String(amountMicros))],
  );
}

export async function updateBalance(db: Queryable, row: { accountId: string; available: bigint; held: bigint; owed: bigint }, head: TransactionRow): Promise<void> {
  await db.query(
    `UPDATE balance SET available_micros = $2::bigint, held_micros = $3::bigint, owed_micros = $4::bigint,
       sequence = $5, head_id = $6, head_at = $7, head_hash = $8 WHERE account_id = $1`,
    [row.accountId, String(row.available), String(row.held), String(row.owed), head.sequence, head.id, head.created_at, head.hash],
  );
}

/** What the account is shown: holds are not. */
export function listTransactionRows(db: Queryable, accountId: string, type: TransactionType | undefined, page: PageRequest): Promise<TransactionRow[]> {
  const { sql, values } = pageSql(page, ['account_id = $1', 'type <> \'hold\'', ...(type === undefined ? [] : ['type = $2'])], type === undefined ? [accountId] : [accountId, type]);
  return db.query<TransactionRow>(`SELECT ${COLUMNS} FROM ledger_transaction ${sql}`, values);
}


/** The balance after everything before `at`. */
export async function selectBalanceAt(db: Queryable, accountId: string, at: Date): Promise<number> {
  const [row] = await db.query<{ balance_after_micros: number }>(
    'SELECT balance_after_micros FROM ledger_transaction WHERE account_id = $1 AND type <> \'hold\' AND created_at < $2 ORDER BY created_at DESC, id DESC LIMIT 1', [accountId, at]);
  return row?.balance_after_micros ?? 0;
}

export interface TotalRow { type: TransactionType; count: number; amount_micros: number }

/** What each type of transaction came to, `from` inclusive, `to` exclusive. */
export function sumTransactions(db: Queryable, accountId: string, from: Date, to: Date): Promise<TotalRow[]> {
  return db.query<TotalRow>(
    `SELECT type, count(*) AS count, sum(amount_micros)::bigint AS amount_micros FROM ledger_transaction
     WHERE account_id = $1 AND type <> 'hold' AND created_at >= $2 AND created_at < $3 GROUP BY type ORDER BY type`, [accountId, from, to]);
}
