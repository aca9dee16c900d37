import type { App } from '../../api/app-type.ts';
import { NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { listPrices } from '../billing/prices.ts';
import { PricesInForce } from './prices-in-force.ts';
import type { OfferedEngine, OfferedModel } from './engine-offer.ts';
import { EngineList, type Engine } from './schema.ts';

const SUMMARY = 'List engines';
const DESCRIPTION = 'What can be served now, with prices. An engine whose vendor is degraded disappears before calls start failing, so take model ids from here.';

/** `/v1/engines`. */
export function engineRoutes(app: App, { db, clock, engines }: AppContext): void {
  app.get('/v1/engines', { config: { scope: 'any_key' }, schema: { summary: SUMMARY, description: DESCRIPTION, querystring: NoQuery, response: { 200: EngineList } } }, async () => {
    const prices = new PricesInForce(await listPrices(db, clock.now()));
    return { object: 'list' as const, data: engines.offered().map((engine) => present(engine, prices)), has_more: false as const, next_cursor: null };
  });
}

function present({ id, name, kind, available, models, languages, sampleRates, limits, health }: OfferedEngine, prices: PricesInForce): Engine {
  return {
    id, object: 'engine', name, kind, available, models: models.flatMap((model) => priced(model, prices)), languages, sample_rates: sampleRates, limits,
    health: { state: health.state, error_rate: health.errorRate, p95_ms: health.p95Ms === null ? null : Math.round(health.p95Ms) },
  };
}

/** One entry for each unit that a model is billed in; none for a model without a price: it could not be billed. */
function priced({ component, model, price, voices }: OfferedModel, prices: PricesInForce): Engine['models'] {
  const known = prices.of(component, model);
  const units = known.length > 0 || !price ? known : [{ unit: price.unit, price_micros: price.priceMicros }];
  return units.map(({ unit, price_micros }) => ({ component, model, unit, price_micros, ...(voices && { voices: [...voices] }) }));
}
