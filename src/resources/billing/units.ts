/** What is measured, and what prices are for. */

export const COMPONENTS = ['stt', 'llm', 'tts', 'realtime', 'voice_clone', 'telephony'] as const;
export type Component = (typeof COMPONENTS)[number];

export const PRICE_UNITS = [
  'second', 'minute', 'hour', '1k_input_tokens', '1k_cached_input_tokens', '1k_output_tokens',
  '1k_audio_tokens_in', '1k_cached_audio_tokens_in', '1k_audio_tokens_out', '1k_characters', 'clone',
] as const;
export type PriceUnit = (typeof PRICE_UNITS)[number];

/** The finest measure of a quantity. */
export const USAGE_UNITS = ['ms', 'token', 'character', 'clone'] as const;
export type UsageUnit = (typeof USAGE_UNITS)[number];

/** What a quantity counts. */
export type Measure =
  | 'time_ms' | 'input_tokens' | 'cached_input_tokens' | 'output_tokens' | 'audio_tokens_in' | 'cached_audio_tokens_in' | 'audio_tokens_out' | 'characters' | 'clones';

/** By measure: its unit, and the price units it can be billed in, the first one that has a price. */
export const MEASURES: Readonly<Record<Measure, { unit: UsageUnit; priceUnits: readonly [PriceUnit, ...PriceUnit[]] }>> = {
  time_ms: { unit: 'ms', priceUnits: ['second', 'minute', 'hour'] },
  input_tokens: { unit: 'token', priceUnits: ['1k_input_tokens'] },
  // Without a price of their own, cached tokens cost what the others do.
  cached_input_tokens: { unit: 'token', priceUnits: ['1k_cached_input_tokens', '1k_input_tokens'] },
  output_tokens: { unit: 'token', priceUnits: ['1k_output_tokens'] },
  audio_tokens_in: { unit: 'token', priceUnits: ['1k_audio_tokens_in'] },
  cached_audio_tokens_in: { unit: 'token', priceUnits: ['1k_cached_audio_tokens_in', '1k_audio_tokens_in'] },
  audio_tokens_out: { unit: 'token', priceUnits: ['1k_audio_tokens_out'] },
  characters: { unit: 'character', priceUnits: ['1k_characters'] },
  clones: { unit: 'clone', priceUnits: ['clone'] },
};

/** How many of the finest measure one price buys. */
const PER_PRICE: Readonly<Record<PriceUnit, bigint>> = {
  second: 1000n, minute: 60_000n, hour: 3_600_000n, '1k_input_tokens': 1000n, '1k_cached_input_tokens': 1000n, '1k_output_tokens': 1000n,
  '1k_audio_tokens_in': 1000n, '1k_cached_audio_tokens_in': 1000n, '1k_audio_tokens_out': 1000n, '1k_characters': 1000n, clone: 1n,
};

/** What a quantity of the finest measure costs, rounded half up to the micro-USD. */
export function amountOf(quantity: number, unitPriceMicros: number, priceUnit: PriceUnit): bigint {
  const per = PER_PRICE[priceUnit];
  return (BigInt(quantity) * BigInt(unitPriceMicros) * 2n + per) / (per * 2n);
}
