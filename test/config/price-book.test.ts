import t from 'tap';
import { PRICE_BOOK } from '../../config/price-book.ts';
import { ENGINE_MODELS } from '../../src/engines/catalogue.ts';

const UNITS = {
  stt: /^(second|minute|hour)$/, tts: /^1k_characters$/, llm: /^1k_(cached_)?(input|output)_tokens$/, realtime: /^(second|minute|hour|1k_.*tokens.*)$/, voice_clone: /^clone$/, telephony: /^(second|minute|hour)$/,
};

t.test('the price book', (t) => {
  const keys = PRICE_BOOK.map(({ component, model, unit }) => `${component} ${model} ${unit}`);
  t.equal(new Set(keys).size, keys.length, 'one price for each component, model and unit');
  for (const { component, model, unit, priceMicros } of PRICE_BOOK) {
    t.match(unit, UNITS[component], `${component} ${model}`);
    t.match(model, /^(\*|[a-z-]+\/(\*|[\w.-]+))$/);
    t.ok(Number.isSafeInteger(priceMicros) && priceMicros >= 0, `${model} in whole micro-USD`);
  }
  t.ok(PRICE_BOOK.some(({ component }) => component === 'voice_clone'), 'the cloning fee is listed');
  for (const { component, model } of ENGINE_MODELS.filter((engine) => engine.model.startsWith('local/'))) {
    const prices = PRICE_BOOK.filter((price) => price.component === component && price.model === 'local/*');
    t.ok(prices.length > 0 && prices.every(({ priceMicros }) => priceMicros === 0), `${model} is free`);
  }
  t.end();
});
