import type { App } from '../../api/app-type.ts';
import { ApiError } from '../../api/errors.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import type { Recall } from '../../api/recall.ts';
import { IdParams, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { countCallsAtOnce } from '../calls/actions.ts';
import { changeSettings } from './actions.ts';
import { consoleBillingRoutes } from './console-routes.ts';
import { listTransactionRows, selectBalance } from './ledger-store.ts';
import { paymentRoutes } from './payment-routes.ts';
import { allOf, presentBilling, presentPrice, presentTopUp, presentTransaction } from './present.ts';
import { listPrices } from './prices.ts';
import { Billing, BillingTransactionList, CreateTopUp, ListTopUps, ListTransactions, PriceList, Statement, StatementQuery, TopUp, TopUpList, UpdateBilling } from './schema.ts';
import { statementAsCsv, statementOf } from './statements.ts';
import { listTopUpRows, selectSettings } from './store.ts';
import { createTopUp, requireTopUp, resumeTopUp } from './top-ups.ts';

const read = { scope: 'billing:read' } as const;
const write = { scope: 'billing:write' } as const;

/** `/v1/billing`: the account's one balance, whatever the mode of the key. */
export function billingRoutes(app: App, context: AppContext): void {
  balanceRoutes(app, context);
  topUpRoutes(app, context);
  consoleBillingRoutes(app, context);
  paymentRoutes(app, context);
}

function balanceRoutes(app: App, context: AppContext): void {
  const { db, keyring, clock, options } = context;
  const billingOf = async (accountId: string): Promise<Billing> => presentBilling(
    await selectBalance(db, accountId), await selectSettings(db, accountId), { limit: options.accountConcurrency, current: await countCallsAtOnce(db, accountId) });

  app.get('/v1/billing', { config: read, schema: { summary: 'Read the balance', description: 'The same with live and test keys: an account has one balance.', querystring: NoQuery, response: { 200: Billing } } }, async (request) =>
    billingOf(request.principal.accountId));

  app.patch('/v1/billing', { config: { ...write, errors: ['key_mode_mismatch'] }, schema: { summary: 'Change billing settings', description: 'Needs a live key.', querystring: NoQuery, body: UpdateBilling, response: { 200: Billing } } }, async (request) => {
    const { accountId, livemode } = request.principal;
    if (!livemode) throw new ApiError('key_mode_mismatch', 'These settings decide about real money: change them with a live key.');
    await changeSettings(context, accountId, request.body);
    return billingOf(accountId);
  });

  app.get('/v1/billing/transactions', { config: { ...read, errors: ['invalid_cursor', 'conflicting_cursors'] }, schema: { summary: 'List transactions', description: 'Everything that changed the balance, newest first.', querystring: ListTransactions, response: { 200: BillingTransactionList } } }, async (request) => {
    const { query: { type }, principal: { accountId } } = request;
    const page = readPage(keyring, request.query, 'billing-transactions', { accountId }, { type });
    const rows = await listTransactionRows(db, accountId, type, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), presentTransaction);
  });

  app.get('/v1/billing/prices', { config: read, schema: { summary: 'List prices', description: 'The price book as it holds now, all on one page.', querystring: NoQuery, response: { 200: PriceList } } }, async () =>
    allOf((await listPrices(db, clock.now())).map(presentPrice)));

  app.get('/v1/billing/statements', { config: { ...read, produces: ['text/csv'] }, schema: { summary: 'Read a month\'s statement', description: 'JSON, or CSV where `format` or the Accept header asks for it. The running month is as it stands.', querystring: StatementQuery, response: { 200: Statement } } }, async (request, reply) => {
    const { month, format } = request.query;
    const statement = await statementOf(db, request.principal.accountId, month);
    reply.header('Vary', 'Accept');
    if ((format ?? formatFor(request.headers.accept)) === 'json') return statement;
    reply.type('text/csv; charset=utf-8').header('Content-Disposition', `attachment; filename="statement-${month}.csv"`).serializer(String);
    return reply.send(statementAsCsv(statement) as never);
  });
}

function topUpRoutes(app: App, context: AppContext): void {
  const { db, clock, keyring } = context;
  const recall: Recall = async ({ principal, resourceId }) => presentTopUp(await resumeTopUp(context, principal, resourceId), clock.now());

  app.post('/v1/billing/top-ups', { config: { ...write, recall, errors: ['provider_error', 'payments_not_configured'] }, schema: { summary: 'Buy credit', description: 'Answers the page to pay on. The balance grows when the payment has arrived. In test mode the top-up is paid at once, by nobody, and the balance stays as it is.', querystring: NoQuery, body: CreateTopUp, response: { 201: TopUp } } }, async (request, reply) => {
    const row = await createTopUp(context, request.principal, request.body.amount_micros, request.resourceId);
    return reply.code(201).send(presentTopUp(row, clock.now()));
  });

  app.get('/v1/billing/top-ups', { config: { ...read, errors: ['invalid_cursor', 'conflicting_cursors'] }, schema: { summary: 'List top-ups', querystring: ListTopUps, response: { 200: TopUpList } } }, async (request) => {
    const { principal } = request;
    const page = readPage(keyring, request.query, 'top-ups', principal);
    const rows = await listTopUpRows(db, principal.accountId, principal.livemode, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), (row) => presentTopUp(row, clock.now()));
  });

  app.get('/v1/billing/top-ups/:id', { config: { ...read, errors: ['top_up_not_found', 'key_mode_mismatch'] }, schema: { summary: 'Read a top-up', params: IdParams, querystring: NoQuery, response: { 200: TopUp } } }, async (request) =>
    presentTopUp(await requireTopUp(db, request.principal, request.params.id), clock.now()));
}

/** CSV only where JSON is not taken as well. */
function formatFor(accept = ''): 'json' | 'csv' {
  return accept.includes('text/csv') && !accept.includes('application/json') ? 'csv' : 'json';
}
