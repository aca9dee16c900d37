import Type, { type Static } from 'typebox';
import { NullableInteger, OneOf } from '../../api/schemas.ts';

const Model = Type.Object({
  component: OneOf(['stt', 'llm', 'tts', 'realtime', 'voice_clone', 'telephony']),
  model: Type.String({ description: '<vendor>/<model>, as an agent\'s voice names it.' }),
  unit: Type.String({ description: 'What price_micros buys one of, such as minute or 1k_characters.' }),
  price_micros: Type.Integer({ description: 'Micro-USD per unit.' }),
  voices: Type.Optional(Type.Array(Type.String(), { description: 'Of a text-to-speech model: the voices it has besides cloned ones.' })),
});

const Range = Type.Object({ min: Type.Number(), max: Type.Number(), default: Type.Number() });

export const Engine = Type.Object({
  id: Type.String({ description: 'classic, vendor_b, vendor_c_agent or another.' }),
  object: Type.Literal('engine'),
  name: Type.String(),
  kind: OneOf(['composed', 'realtime']),
  available: Type.Boolean({ description: 'False: its credentials are not configured here.' }),
  models: Type.Array(Model),
  languages: Type.Array(Type.String(), { description: 'BCP 47 primary languages that it both hears and speaks.' }),
  sample_rates: Type.Array(Type.Integer(), { description: 'Hz.' }),
  limits: Type.Unsafe<Record<string, Static<typeof Range>>>({ type: 'object', additionalProperties: Range, description: 'Ranges of settings; what an agent sets outside of them is clamped.' }),
  health: Type.Object({
    state: OneOf(['healthy', 'degraded']),
    error_rate: Type.Number({ description: 'Of the last minute, 0 to 1.' }),
    p95_ms: Type.Unsafe<number | null>({ ...NullableInteger, description: 'Time to the first result; null when nothing was measured.' }),
  }),
});
export type Engine = Static<typeof Engine>;

/** One page holds them all. */
export const EngineList = Type.Object({ object: Type.Literal('list'), data: Type.Array(Engine), has_more: Type.Literal(false), next_cursor: Type.Null() });
