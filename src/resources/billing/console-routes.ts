import type { App } from '../../api/app-type.ts';
import { OPERATOR_ONLY } from '../../api/console-only.ts';
import { ApiError } from '../../api/errors.ts';
import type { Recall } from '../../api/recall.ts';
import { NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { giveCredit, givenCredit } from './actions.ts';
import { allOf, presentPrice, presentTransaction } from './present.ts';
import { listPrices, setPrice } from './prices.ts';
import { BillingTransaction, ConsolePrice, ConsolePriceList, GiveCredit, SetPrice } from './schema.ts';

/** `/console/api/credits` and `/console/api/prices`: what an operator does by hand. */
export function consoleBillingRoutes(app: App, context: AppContext): void {
  const { db, clock } = context;
  const config = { scope: 'any_key' } as const;
  const recall: Recall = async ({ resourceId }) => presentTransaction(await givenCredit(db, resourceId));

  app.post('/console/api/credits', { ...OPERATOR_ONLY, config: { ...config, recall, errors: ['account_not_found', 'insufficient_credits'] }, schema: { summary: 'Give an account credit', querystring: NoQuery, body: GiveCredit, response: { 201: BillingTransaction } } }, async (request, reply) =>
    reply.code(201).send(presentTransaction(await giveCredit(context, request.body, request.resourceId))));

  app.get('/console/api/prices', { ...OPERATOR_ONLY, config, schema: { summary: 'List prices with their source', querystring: NoQuery, response: { 200: ConsolePriceList } } }, async () =>
    allOf((await listPrices(db, clock.now())).map(presentPrice)));

  app.put('/console/api/prices', { ...OPERATOR_ONLY, config, schema: { summary: 'Set a price', description: 'From now on; what was used before keeps its price.', querystring: NoQuery, body: SetPrice, response: { 200: ConsolePrice } } }, async (request) => {
    const { price_micros: priceMicros, ...price } = request.body;
    const row = await setPrice(db, { ...price, priceMicros }, clock.now());
    if (!row) throw new ApiError('invalid_parameter', 'The shipped price book has no such price to go back to.', { param: 'price_micros' });
    return presentPrice(row);
  });
}
