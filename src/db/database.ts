import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { listen, type Listening } from './listener.ts';

export interface DatabaseOptions {
  /** Where: a URL, or the socket directory of the embedded server and a database on it. */
  connection: { url: string } | { socketDir: string; database?: string };
  log: { warn(detail: object, message: string): void };
  /** Connections at once. */
  maxConnections?: number;
  /** How long a database that is away is waited for before a statement fails, ms. */
  retryForMs?: number;
}

/** Values a statement may carry. Objects go as JSON text made by the caller. */
export type Value = string | number | boolean | Date | Buffer | null | readonly string[];

export interface Queryable {
  /** Runs one statement and returns its rows, named as the statement names them. */
  query<Row extends object>(text: string, values?: readonly Value[]): Promise<Row[]>;
}

export interface Transaction extends Queryable {
  /** Runs once the transaction has been committed, in the order given; never when it is not. */
  afterCommit(effect: () => void): void;
}

/** The one store. Reads, and whatever PostgreSQL is known not to have done, are tried again while it is away. */
export interface Database extends Queryable {
  /** All or nothing. `work` may run more than once, so it must do nothing but statements and `afterCommit`. */
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /**
   * Hears what `NOTIFY channel` says, on a connection of its own. `heard` gets undefined after every (re)connection, for
   * what was said meanwhile is lost; `lost` is told when the connection is gone.
   */
  listen(channel: string, heard: (payload: string | undefined) => void, lost?: () => void): Listening;
  close(): Promise<void>;
}

const DEFAULT_RETRY_MS = 2000;
const RETRY_FIRST_MS = 20;
const RETRY_MAX_MS = 250;
const MAX_CONNECTIONS = 20;
const STATEMENT_TIMEOUT_MS = 15_000;

/** Opens a pool. Does not connect yet: the first statement does. */
export function openDatabase(options: DatabaseOptions): Database {
  const { connection } = options;
  const where = 'url' in connection ? { connectionString: connection.url } : { host: connection.socketDir, user: 'postgres', database: connection.database ?? 'postgres' };
  const pool = new pg.Pool({
    ...where,
    max: options.maxConnections ?? MAX_CONNECTIONS,
    connectionTimeoutMillis: 5000,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    application_name: 'wirevoice',
    types: { getTypeParser: parserFor },
  });
  // Once for each connection: one that breaks must not throw, whoever has it.
  pool.on('connect', (client) => client.on('error', (error) => broken.set(client, error)));
  pool.on('error', (error) => options.log.warn({ error: error.message }, 'an idle database connection was lost'));
  const retryForMs = options.retryForMs ?? DEFAULT_RETRY_MS;
  return {
    query: (text, values = []) => untilAnswered(retryForMs, (attempt) => attempt.mayRepeat(isReading(text)), () => onConnection(pool, (client) => run(client, text, values))),
    transaction: (work) => untilAnswered(retryForMs, (attempt) => attempt.mayRepeat(!(attempt.error instanceof CommitLost)), () => onConnection(pool, (client) => inTransaction(client, work))),
    listen: (channel, heard, lost) => listen(where, channel, heard, lost),
    close: () => pool.end(),
  };
}

/** Whether the database is away, so that the same request may succeed in a moment. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof CommitLost) return true;
  const code = codeOf(error);
  // A socket that is not there is the server's; any other file is ours, and its absence a fault.
  if (code === 'ENOENT') return (error as { syscall?: string }).syscall === 'connect';
  // 0A000: a migration changed what a prepared statement answers; on a fresh connection it is prepared anew.
  if (/^(57P0[123]|08...|0A000|53300|ECONN\w+|EPIPE|ETIMEDOUT)$/.test(code)) return true;
  return code === '' && error instanceof Error && /connection terminated|timeout exceeded when trying to connect|not queryable/i.test(error.message);
}

/** Whether `error` says that a row breaks the unique index `index`. */
export function isDuplicate(error: unknown, index: string): boolean {
  return codeOf(error) === '23505' && (error as { constraint?: string }).constraint === index;
}

/** The connection was lost at COMMIT: nobody knows whether it happened, so it is not done again. */
class CommitLost extends Error {
  override readonly name = 'CommitLost';
}

/** PostgreSQL said itself that it ended the connection: what ran on it was rolled back. */
const ROLLED_BACK = /^(57P0[123]|40001|40P01|0A000)$/;
/** No connection came about: nothing was sent. */
const NEVER_SENT = /^(ECONNREFUSED|ENOENT|53300|57P03|08001|08004)$/;

class Attempt {
  readonly error: unknown;
  constructor(error: unknown) {
    this.error = error;
  }

  mayRepeat(harmless: boolean): boolean {
    const code = codeOf(this.error);
    if (ROLLED_BACK.test(code) || NEVER_SENT.test(code)) return !(this.error instanceof CommitLost);
    return harmless && isUnavailable(this.error);
  }
}

async function untilAnswered<Result>(forMs: number, mayRepeat: (attempt: Attempt) => boolean, work: () => Promise<Result>): Promise<Result> {
  const deadline = Date.now() + forMs;
  for (let delayMs = RETRY_FIRST_MS; ; delayMs = Math.min(delayMs * 2, RETRY_MAX_MS)) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() + delayMs > deadline || !mayRepeat(new Attempt(error))) throw error;
      await sleep(delayMs);
    }
  }
}

/** Connections that are not to be used again, and why. */
const broken = new WeakMap<pg.PoolClient, Error>();

async function onConnection<Result>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  try {
    return await work(client);
  } catch (error) {
    if (isUnavailable(error)) broken.set(client, error as Error);
    throw error;
  } finally {
    client.release(broken.get(client));
  }
}

/** Statements by name, so that the server plans each once for a connection; bounded, for lists are put together from filters. */
const names = new Map<string, string>();
const MAX_NAMES = 500;

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= MAX_NAMES) return known;
  const name = `s${names.size}`;
  names.set(text, name);
  return name;
}

async function run<Row extends object>(client: pg.PoolClient, text: string, values: readonly Value[]): Promise<Row[]> {
  // Without values it may be several statements, which cannot be prepared.
  const name = values.length === 0 ? undefined : nameOf(text);
  const { rows } = await client.query<Row>({ text, values: values as Value[], ...(name === undefined ? {} : { name }) });
  return rows;
}

async function inTransaction<Result>(client: pg.PoolClient, work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
  const effects: (() => void)[] = [];
  await client.query('BEGIN');
  let result: Result;
  try {
    result = await work({ query: (text, values = []) => run(client, text, values), afterCommit: (effect) => effects.push(effect) });
  } catch (error) {
    if (!isUnavailable(error)) await client.query('ROLLBACK');
    throw error;
  }
  try {
    await client.query('COMMIT');
  } catch (error) {
    throw isUnavailable(error) ? new CommitLost('The connection to the database was lost at COMMIT.', { cause: error }) : error;
  }
  for (const effect of effects) effect();
  return result;
}

function isReading(text: string): boolean {
  return /^\s*SELECT\b/i.test(text) && !/\bFOR\s+UPDATE\b/i.test(text);
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : '';
}

const INT8 = 20;
const TIMESTAMPTZ = 1184;
/** bigint as a number, refused where a number cannot hold it; timestamptz as a Date; everything else as `pg` does. */
const parserFor: pg.CustomTypesConfig['getTypeParser'] = (oid: number, format?: 'text' | 'binary') =>
  (oid === INT8 ? toSafeNumber : oid === TIMESTAMPTZ ? toDate : pg.types.getTypeParser(oid, format as 'text')) as never;

function toSafeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new RangeError(`The database holds ${text}, more than a number can.`);
  return number;
}

const SPACE = 32;
const slowly = pg.types.getTypeParser(TIMESTAMPTZ);

/** `2026-11-21 12:00:00.123+00`, as a session in UTC writes it; whatever else it may be (BC, infinity), as `pg` reads it. */
function toDate(text: string): Date {
  if (text.endsWith('+00') && text.charCodeAt(10) === SPACE) {
    const date = new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`);
    if (!Number.isNaN(date.getTime())) return date;
  }
  return slowly(text) as Date;
}
