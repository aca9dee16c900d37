import type { Value } from '../db/database.ts';

/** The conditions of a list's SELECT and their values, for `pageSql`. Every list begins with whose its rows are, and of which mode. */
export class Conditions {
  readonly sql = ['account_id = $1', 'livemode = $2'];
  readonly values: Value[];

  constructor(accountId: string, livemode: boolean) {
    this.values = [accountId, livemode];
  }

  /** `comparison` ends in its operator, such as `status =`. An absent value is no condition. */
  add(comparison: string, value: Value | undefined): void {
    if (value === undefined) return;
    this.values.push(value);
    this.sql.push(`${comparison} $${this.values.length}`);
  }

  /** The same for a moment as a query has it. */
  addTime(comparison: string, text: string | undefined): void {
    this.add(comparison, text === undefined ? undefined : new Date(text));
  }
}
