import Type, { type TSchema } from 'typebox';
import type { Value } from '../db/database.ts';
import { decodeCursor, encodeCursor, type Position } from './cursor.ts';
import { ApiError } from './errors.ts';
import type { Keyring } from './keyring.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_CURSOR = 512;

/** Query parameters of every list; spread into a list's own. */
export const PAGE_PARAMETERS = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, description: 'Page size; 20 when absent.' })),
  starting_after: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_CURSOR, description: 'The next_cursor of a page: continues towards the older.' })),
  ending_before: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_CURSOR, description: 'The previous_cursor of a page: continues towards the newer.' })),
};

export interface PageQuery { limit?: number; starting_after?: string; ending_before?: string }

/** The list envelope around `item`. */
export function listOf<Item extends TSchema>(item: Item) {
  return Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(item),
    has_more: Type.Boolean(),
    next_cursor: nullableString(),
    previous_cursor: nullableString(),
  });
}

export interface Page<Item> {
  object: 'list';
  data: Item[];
  has_more: boolean;
  next_cursor: string | null;
  previous_cursor: string | null;
}

/** What a store needs to read one page. */
export interface PageRequest {
  direction: 'older' | 'newer';
  /** Where to go on from; undefined: from the newest. */
  from: Position | undefined;
  limit: number;
  /** Binds cursors to account, mode, route and filters. */
  scope: string;
}

/** Reads a list's query. Throws ApiError `conflicting_cursors` or `invalid_cursor`. */
export function readPage(keyring: Keyring, query: PageQuery, route: string, principal: { accountId: string; livemode?: boolean }, filters: Record<string, unknown> = {}): PageRequest {
  if (query.starting_after !== undefined && query.ending_before !== undefined) {
    throw new ApiError('conflicting_cursors', 'Send starting_after or ending_before, not both.', { param: 'ending_before' });
  }
  const scope = cursorScope(route, principal, filters);
  const direction = query.ending_before === undefined ? 'older' : 'newer';
  const cursor = query.ending_before ?? query.starting_after;
  const from = cursor === undefined ? undefined : decodeCursor(keyring, scope, cursor);
  if (cursor !== undefined && !from) {
    throw new ApiError('invalid_cursor', 'This cursor was not issued for this list with these filters.', { param: direction === 'older' ? 'starting_after' : 'ending_before' });
  }
  return { direction, from, limit: query.limit ?? DEFAULT_LIMIT, scope };
}

/** What a list's cursors are bound to. */
export function cursorScope(route: string, principal: { accountId: string; livemode?: boolean }, filters: Record<string, unknown> = {}): string {
  const sorted = Object.entries(filters).filter(([, value]) => value !== undefined).sort(([a], [b]) => (a < b ? -1 : 1));
  return [route, principal.accountId, String(principal.livemode ?? 'any'), JSON.stringify(sorted)].join('|');
}

/**
 * The end of a list's SELECT: what comes after the conditions in `conditions` (joined with AND). Asks for one row more
 * than the page, so that `has_more` is known. `time` is the column sorted by.
 */
export function pageSql(page: PageRequest, conditions: string[], values: Value[], time = 'created_at'): { sql: string; values: Value[] } {
  const all = [...values];
  const where = [...conditions];
  const older = page.direction === 'older';
  if (page.from) {
    all.push(new Date(page.from.atMs), page.from.id);
    where.push(`(${time}, id) ${older ? '<' : '>'} ($${all.length - 1}, $${all.length})`);
  }
  all.push(page.limit + 1);
  const order = older ? 'DESC' : 'ASC';
  return { sql: `WHERE ${where.join(' AND ')} ORDER BY ${time} ${order}, id ${order} LIMIT $${all.length}`, values: all };
}

/** The envelope of what `pageSql` found, newest first whichever way it was read. */
export function toPage<Row, Item>(keyring: Keyring, page: PageRequest, rows: Row[], position: (row: Row) => Position, present: (row: Row) => Item): Page<Item> {
  const has_more = rows.length > page.limit;
  const shown = rows.slice(0, page.limit);
  const [near, far] = [shown[0], shown.at(-1)];
  const cursor = (row: Row | undefined): string | null => (row === undefined ? null : encodeCursor(keyring, page.scope, position(row)));
  const next_cursor = has_more ? cursor(far) : null;
  if (page.direction === 'newer') shown.reverse();
  // The side we came from; on a first page, what is newer than everything now.
  return { object: 'list', data: shown.map(present), has_more, next_cursor, previous_cursor: cursor(near) };
}

function nullableString() {
  return Type.Union([Type.String(), Type.Null()]);
}
