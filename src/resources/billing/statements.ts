import type { Database } from '../../db/database.ts';
import { itemiseCharges } from '../usage/actions.ts';
import { selectBalanceAt, sumTransactions } from './ledger-store.ts';
import type { Statement } from './schema.ts';

/** What happened to an account's money in a month of UTC, `YYYY-MM`. */
export async function statementOf(db: Database, accountId: string, month: string): Promise<Statement> {
  const from = new Date(`${month}-01T00:00:00.000Z`);
  const to = new Date(from);
  to.setUTCMonth(to.getUTCMonth() + 1);
  // One moment for all of it: a transaction between two of the reads would not add up.
  return db.transaction(async (transaction) => {
    await transaction.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const totals = await sumTransactions(transaction, accountId, from, to);
    return {
      object: 'statement', month, currency: 'usd',
      opening_balance_micros: await selectBalanceAt(transaction, accountId, from),
      closing_balance_micros: await selectBalanceAt(transaction, accountId, to),
      totals: totals as Statement['totals'],
      usage: await itemiseCharges(transaction, accountId, from, to),
    };
  });
}

/** The statement as a table: a line each for the balances, the totals and what was used. */
export function statementAsCsv({ month, opening_balance_micros: opening, closing_balance_micros: closing, totals, usage }: Statement): string {
  const rows: (string | number)[][] = [
    ['month', 'line', 'type', 'component', 'model', 'unit', 'quantity', 'amount_micros', 'amount_usd'],
    [month, 'opening_balance', '', '', '', '', '', opening, usd(opening)],
    ...totals.map(({ type, count, amount_micros: amount }) => [month, 'total', type, '', '', 'transaction', count, amount, usd(amount)]),
    ...usage.map(({ component, model, unit, quantity, amount_micros: amount }) => [month, 'usage', '', component, model, unit, quantity, amount, usd(amount)]),
    [month, 'closing_balance', '', '', '', '', '', closing, usd(closing)],
  ];
  return rows.map((row) => `${row.map(field).join(',')}\r\n`).join('');
}

/** RFC 4180. */
function field(value: string | number): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Dollars with all six decimals, from digits: never through a fraction. */
function usd(micros: number): string {
  const digits = String(Math.abs(micros)).padStart(7, '0');
  return `${micros < 0 ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
