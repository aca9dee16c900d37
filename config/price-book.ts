/**
 * The price book that ships with the service: list prices of the vendors, micro-USD per unit. Data only. An operator sets
 * other prices on the console; those hold from then on, whatever stands here.
 */

export interface BookPrice {
  component: 'stt' | 'llm' | 'tts' | 'realtime' | 'voice_clone' | 'telephony';
  /** `vendor/model`; `vendor/*` for every other model of that vendor, `*` for every other model at all. */
  model: string;
  unit:
    | 'second' | 'minute' | 'hour' | '1k_input_tokens' | '1k_cached_input_tokens' | '1k_output_tokens'
    | '1k_audio_tokens_in' | '1k_cached_audio_tokens_in' | '1k_audio_tokens_out' | '1k_characters' | 'clone';
  priceMicros: number;
}

/** On this machine, or at an endpoint of the operator's own: nothing is paid for it. */
const FREE: BookPrice[] = [
  { component: 'stt', model: 'local/*', unit: 'minute', priceMicros: 0 },
  { component: 'llm', model: 'local/*', unit: '1k_input_tokens', priceMicros: 0 },
  { component: 'llm', model: 'local/*', unit: '1k_output_tokens', priceMicros: 0 },
  { component: 'tts', model: 'local/*', unit: '1k_characters', priceMicros: 0 },
  { component: 'llm', model: 'openai-compatible/*', unit: '1k_input_tokens', priceMicros: 0 },
  { component: 'llm', model: 'openai-compatible/*', unit: '1k_output_tokens', priceMicros: 0 },
  { component: 'telephony', model: '*', unit: 'minute', priceMicros: 0 },
];

const STT: BookPrice[] = [
  { component: 'stt', model: 'deepgram/nova-3', unit: 'minute', priceMicros: 4800 },
  { component: 'stt', model: 'deepgram/flux-general-en', unit: 'minute', priceMicros: 6500 },
  { component: 'stt', model: 'deepgram/flux-general-multi', unit: 'minute', priceMicros: 7800 },
  { component: 'stt', model: 'deepgram/*', unit: 'minute', priceMicros: 7800 },
  { component: 'stt', model: 'assemblyai/universal-streaming', unit: 'hour', priceMicros: 150_000 },
  { component: 'stt', model: 'assemblyai/*', unit: 'hour', priceMicros: 450_000 },
  { component: 'stt', model: 'elevenlabs/*', unit: 'hour', priceMicros: 390_000 },
  // INR 30 an hour at 88 INR to the dollar.
  { component: 'stt', model: 'sarvam/*', unit: 'hour', priceMicros: 340_909 },
  { component: 'stt', model: 'openai/gpt-realtime-whisper', unit: 'minute', priceMicros: 17_000 },
  { component: 'stt', model: 'openai/*', unit: 'minute', priceMicros: 6000 },
  { component: 'stt', model: 'azure/*', unit: 'hour', priceMicros: 1_000_000 },
];

const TTS: BookPrice[] = [
  { component: 'tts', model: 'deepgram/*', unit: '1k_characters', priceMicros: 30_000 },
  { component: 'tts', model: 'elevenlabs/flash_v2_5', unit: '1k_characters', priceMicros: 50_000 },
  { component: 'tts', model: 'elevenlabs/*', unit: '1k_characters', priceMicros: 100_000 },
  // INR 30 for 10 000 characters, at the same rate.
  { component: 'tts', model: 'sarvam/*', unit: '1k_characters', priceMicros: 34_091 },
  // Depends on the plan there; the upper end of what is published.
  { component: 'tts', model: 'cartesia/*', unit: '1k_characters', priceMicros: 50_000 },
  { component: 'tts', model: 'rime/*', unit: '1k_characters', priceMicros: 50_000 },
];

const REALTIME: BookPrice[] = [
  ...tokens('openai/gpt-realtime-2.1', { textIn: 4000, textCached: 400, textOut: 24_000, audioIn: 32_000, audioCached: 400, audioOut: 64_000 }),
  ...tokens('openai/gpt-realtime-2.1-mini', { textIn: 600, textCached: 60, textOut: 2400, audioIn: 10_000, audioCached: 300, audioOut: 20_000 }),
  { component: 'realtime', model: 'openai/gpt-live-1', unit: 'minute', priceMicros: 50_000 },
  { component: 'realtime', model: 'deepgram/voice-agent', unit: 'minute', priceMicros: 80_000 },
  { component: 'realtime', model: 'elevenlabs/agents', unit: 'minute', priceMicros: 80_000 },
  { component: 'realtime', model: 'xai/voice-agent', unit: 'minute', priceMicros: 50_000 },
];

export const PRICE_BOOK: readonly BookPrice[] = [
  ...FREE, ...STT, ...TTS, ...REALTIME,
  // Vendors charge for places of voices in a plan, not by the clone: a fee of the operator's own.
  { component: 'voice_clone', model: '*', unit: 'clone', priceMicros: 1_000_000 },
];

/** Speech-to-speech models bill text and audio tokens apart. */
function tokens(model: string, price: { textIn: number; textCached: number; textOut: number; audioIn: number; audioCached: number; audioOut: number }): BookPrice[] {
  const entry = (unit: BookPrice['unit'], priceMicros: number): BookPrice => ({ component: 'realtime', model, unit, priceMicros });
  return [
    entry('1k_input_tokens', price.textIn), entry('1k_cached_input_tokens', price.textCached), entry('1k_output_tokens', price.textOut),
    entry('1k_audio_tokens_in', price.audioIn), entry('1k_cached_audio_tokens_in', price.audioCached), entry('1k_audio_tokens_out', price.audioOut),
  ];
}
