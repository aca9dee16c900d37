import Type, { type Static } from 'typebox';
import { Nullable, NullableString, OneOf } from '../../api/schemas.ts';

const closed = { additionalProperties: false };
/** `<vendor>/<model>`. */
export const model = () => Type.String({ minLength: 3, maxLength: 200, description: '<vendor>/<model>, one that GET /v1/engines lists.' });
/** A locale such as en-US. */
export const language = (description: string) => Type.String({ pattern: '^[a-z]{2,3}-[A-Z]{2}$', description });
/** A voice of a TTS or realtime model. */
export const voiceName = () => Type.String({ minLength: 1, maxLength: 200, description: 'Of the model; the provider_voice_id of a cloned voice goes here.' });

const TurnTaking = Type.Object({
  interrupt_sensitivity: Type.Optional(OneOf(['off', 'low', 'normal', 'high'])),
  silence_wait_ms: Type.Optional(Type.Integer({ minimum: 100, maximum: 5000, description: 'The wait when the evidence is undecided; plainly complete words may be answered sooner.' })),
}, closed);

/** A voice as a client sends it: what is missing is filled in. */
export const VoiceInput = Type.Object({
  stt: Type.Optional(Type.Object({
    model: Type.Optional(model()),
    language: Type.Optional(language('Defaults to the agent\'s.')),
    endpointing_ms: Type.Optional(Type.Integer({ minimum: 10, maximum: 5000, description: 'What the vendor is told, clamped to its own range.' })),
  }, closed)),
  llm: Type.Optional(Type.Object({
    model: Type.Optional(model()),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
    max_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: 4096 })),
  }, closed)),
  tts: Type.Optional(Type.Object({
    model: Type.Optional(model()),
    voice: Type.Optional(voiceName()),
    stability: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    similarity_boost: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    speed: Type.Optional(Type.Number({ minimum: 0.5, maximum: 2 })),
  }, closed)),
  realtime: Type.Optional(Type.Object({
    model: model(),
    voice: Type.Optional(Nullable(voiceName())),
    language: Type.Optional(Type.String({ pattern: '^(auto|[a-z]{2,3}-[A-Z]{2})$' })),
  }, closed)),
  turn_taking: Type.Optional(TurnTaking),
}, { ...closed, description: 'A composed pipeline (stt, llm, tts) or one realtime model.' });
export type VoiceInput = Static<typeof VoiceInput>;

const TurnTakingFilled = Type.Object({ interrupt_sensitivity: OneOf(['off', 'low', 'normal', 'high']), silence_wait_ms: Type.Integer() });

/** A voice with everything filled in: either the three of a pipeline, or `realtime`. */
export const Voice = Type.Object({
  stt: Type.Optional(Type.Object({ model: Type.String(), language: Type.String(), endpointing_ms: Type.Integer() })),
  llm: Type.Optional(Type.Object({ model: Type.String(), temperature: Type.Number(), max_tokens: Type.Integer() })),
  tts: Type.Optional(Type.Object({ model: Type.String(), voice: Type.String(), stability: Type.Number(), similarity_boost: Type.Number(), speed: Type.Number() })),
  realtime: Type.Optional(Type.Object({ model: Type.String(), voice: NullableString, language: Type.String() })),
  turn_taking: TurnTakingFilled,
});
export type Voice = Static<typeof Voice>;

const MAX_FALLBACKS = 5;
const plainFallback = () => Type.Optional(Type.Array(Type.Object({ model: model() }, closed), { maxItems: MAX_FALLBACKS }));
const voicedFallback = () => Type.Optional(Type.Array(Type.Object({
  model: model(), voice: Type.Optional(Nullable(voiceName())),
}, closed), { maxItems: MAX_FALLBACKS }));

export const FallbacksInput = Type.Object({ stt: plainFallback(), llm: plainFallback(), tts: voicedFallback(), realtime: voicedFallback() }, {
  ...closed, description: 'Models to go on with when one fails, in this order. A voice of null is the model\'s own.',
});
export type FallbacksInput = Static<typeof FallbacksInput>;

const Plain = Type.Array(Type.Object({ model: Type.String() }));
const Voiced = Type.Array(Type.Object({ model: Type.String(), voice: NullableString }));
export const Fallbacks = Type.Object({ stt: Plain, llm: Plain, tts: Voiced, realtime: Voiced });
export type Fallbacks = Static<typeof Fallbacks>;
