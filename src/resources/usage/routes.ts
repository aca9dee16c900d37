import type { App } from '../../api/app-type.ts';
import { ApiError } from '../../api/errors.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import { iso } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { ListUsage, SummaryQuery, UsageRecordList, UsageSummary, type UsageRecord } from './schema.ts';
import { listUsageRows, sumUsage, type UsageRow, type UsageSumRow } from './store.ts';

const DAY_MS = 24 * 3_600_000;
const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;

/** `/v1/usage`: what was used and what it cost, never what was said. */
export function usageRoutes(app: App, context: AppContext): void {
  const { db, keyring, clock } = context;
  const read = { scope: 'usage:read' } as const;

  app.get('/v1/usage', { config: { ...read, errors: ['invalid_cursor', 'conflicting_cursors'] }, schema: { summary: 'List usage', description: 'One row for each model and measure of a call, newest first. The rows of a call add up to its `cost_micros`, and stay when it is deleted. Test usage costs nothing.', querystring: ListUsage, response: { 200: UsageRecordList } } }, async (request) => {
    const { limit: _limit, starting_after: _after, ending_before: _before, ...filters } = request.query;
    checkRange(filters.from, filters.to);
    const { principal } = request;
    const page = readPage(keyring, request.query, 'usage', principal, filters);
    const rows = await listUsageRows(db, principal.accountId, principal.livemode, filters, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.occurred_at.getTime(), id: row.id }), present);
  });

  app.get('/v1/usage/summary', { config: read, schema: { summary: 'Summarise usage', querystring: SummaryQuery, response: { 200: UsageSummary } } }, async (request) => {
    const { query: { group_by, from, to }, principal: { accountId, livemode } } = request;
    const until = to === undefined ? new Date(clock.now()) : new Date(to);
    const since = from === undefined ? new Date(until.getTime() - DEFAULT_DAYS * DAY_MS) : new Date(from);
    checkRange(since.toISOString(), until.toISOString());
    if (until.getTime() - since.getTime() > MAX_DAYS * DAY_MS) throw new ApiError('invalid_parameter', `from and to may be ${MAX_DAYS} days apart at most.`, { param: 'from' });
    const rows = await sumUsage(db, accountId, livemode, group_by, since, until);
    return {
      object: 'usage_summary' as const, livemode, group_by, from: iso(since), to: iso(until),
      amount_micros: rows.reduce((sum, row) => sum + row.amount_micros, 0), data: grouped(rows),
    };
  });
}

function checkRange(from: string | undefined, to: string | undefined): void {
  if (from !== undefined && to !== undefined && Date.parse(from) >= Date.parse(to)) throw new ApiError('invalid_parameter', 'to must be later than from.', { param: 'to' });
}

/** A group's rows, one for each unit, follow one another. */
function grouped(rows: UsageSumRow[]): UsageSummary['data'] {
  const groups = new Map<string | null, UsageSummary['data'][number]>();
  for (const { key, unit, records, quantity, amount_micros } of rows) {
    const group = groups.get(key) ?? { key, amount_micros: 0, records: 0, quantities: [] };
    group.amount_micros += amount_micros;
    group.records += records;
    group.quantities.push({ unit, quantity });
    groups.set(key, group);
  }
  return [...groups.values()];
}

function present(row: UsageRow): UsageRecord {
  return {
    id: row.id, object: 'usage_record', livemode: row.livemode, call_id: row.call_id, agent_id: row.agent_id, campaign_id: row.campaign_id, api_key_id: row.api_key_id,
    component: row.component, model: row.model, unit: row.unit, quantity: row.quantity, price_unit: row.price_unit, unit_price_micros: row.unit_price_micros,
    amount_micros: row.amount_micros, source: row.source, occurred_at: iso(row.occurred_at),
  };
}
