import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { NullableString, OneOf, Timestamp } from '../../api/schemas.ts';
import { MAX_RECORDINGS } from './recording.ts';
import { VOICE_PROVIDERS } from './voice-provider.ts';

const closed = { additionalProperties: false };
const MAX_URL_LENGTH = 2048;
const MAX_PREVIEW_LENGTH = 500;

export const Voice = Type.Object({
  id: Type.String(),
  object: Type.Literal('voice'),
  livemode: Type.Boolean(),
  name: Type.String(),
  description: NullableString,
  provider: OneOf(VOICE_PROVIDERS, { description: 'Where the clone is made, which decides the engines it speaks on.' }),
  provider_voice_id: Type.String({ description: 'Put it into an agent\'s voice.tts.voice to make it speak in this voice.' }),
  engines: Type.Array(Type.String(), { description: 'The engines that can speak in this voice.' }),
  language: Type.Union([Type.String(), Type.Null()], { description: 'Language of the recording; a vendor_b clone still speaks every language of that vendor.' }),
  consent_at: Type.String({ description: 'When the speaker\'s consent was declared; ISO 8601, UTC.' }),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Voice = Static<typeof Voice>;
export const VoiceList = listOf(Voice);

export const CreateVoice = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100 }),
  description: Type.Optional(Type.String({ maxLength: 500 })),
  provider: Type.Optional(OneOf(VOICE_PROVIDERS, { description: 'vendor_a when absent. vendor_a takes up to 5 recordings, 30 s in all; vendor_b one, 10 s.' })),
  language: Type.Optional(Type.String({ pattern: '^[a-z]{2}-[A-Z]{2}$', description: 'Of the recording; required for vendor_b.' })),
  remove_background_noise: Type.Optional(Type.Boolean({ description: 'vendor_a only; may worsen a clean recording.' })),
  consent: Type.Literal(true, { description: 'The speaker has agreed to the cloning. Recorded with the time, the account and the key.' }),
  audio_urls: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: MAX_URL_LENGTH, format: 'uri' }), {
    minItems: 1, maxItems: MAX_RECORDINGS, description: 'Public https addresses of the recordings, at most 10 MB each; fetched once, not stored. A form has files instead.',
  })),
}, closed);
export type CreateVoice = Static<typeof CreateVoice>;

export const ListVoices = Type.Object({ ...PAGE_PARAMETERS }, closed);

export const PreviewVoice = Type.Object({ text: Type.String({ minLength: 1, maxLength: MAX_PREVIEW_LENGTH, description: 'What the voice is to say.' }) }, closed);
