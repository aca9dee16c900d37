/** The providers of cloned voices, by their neutral names. */
export const VOICE_PROVIDERS = ['vendor_a', 'vendor_b'] as const;
export type VoiceProvider = (typeof VOICE_PROVIDERS)[number];

/** What the price book and usage rows call a clone of each provider. */
export const CLONE_MODELS: Readonly<Record<VoiceProvider, string>> = { vendor_a: 'elevenlabs/instant-voice-clone', vendor_b: 'sarvam/voice-clone' };

/** The engines that can speak in a voice of each provider. */
export const ENGINES_OF: Readonly<Record<VoiceProvider, readonly string[]>> = { vendor_a: ['classic', 'vendor_c_agent'], vendor_b: ['vendor_b'] };

/** What a provider takes. */
export const RECORDING_RULES: Readonly<Record<VoiceProvider, { maxRecordings: number; minTotalMs: number }>> = {
  vendor_a: { maxRecordings: 5, minTotalMs: 30_000 },
  vendor_b: { maxRecordings: 1, minTotalMs: 10_000 },
};
