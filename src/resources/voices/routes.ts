import type { App } from '../../api/app-type.ts';
import { ApiError } from '../../api/errors.ts';
import type { MultipartRules } from '../../api/multipart-rules.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import type { Recall } from '../../api/recall.ts';
import { Deleted, IdParams, iso, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { createVoice, deleteVoice, previewVoice, requireVoice } from './actions.ts';
import { MAX_RECORDING_BYTES, MAX_RECORDINGS } from './recording.ts';
import { CreateVoice, ListVoices, PreviewVoice, Voice, VoiceList } from './schema.ts';
import { listVoiceRows, type VoiceRow } from './store.ts';
import { ENGINES_OF } from './voice-provider.ts';

/** Five recordings and the fields. */
const MAX_FORM_BYTES = 55 * 1024 * 1024;
const FORM: MultipartRules = {
  files: 'files', maxFiles: MAX_RECORDINGS, maxFileBytes: MAX_RECORDING_BYTES, maxBytes: MAX_FORM_BYTES, tooLarge: 'recording_too_large', tooMany: 'too_many_recordings',
  booleans: ['consent', 'remove_background_noise'], instead: ['audio_urls'],
};
const CREATE = {
  summary: 'Clone a voice',
  description: 'From recordings of one person speaking: 30 seconds to a few minutes, no music, no other voices. mp3, wav, m4a, ogg, webm or flac. The recordings are passed to the provider and not stored. The fee is the price book\'s voice_clone, charged once the clone is made; in test mode cloning is simulated and free.',
};
const CREATE_ERRORS = [
  'consent_required', 'too_many_recordings', 'recording_too_short', 'unsupported_recording_format', 'unsafe_audio_url', 'audio_fetch_failed',
  'insufficient_credits', 'voice_limit_reached', 'recording_too_large', 'cloning_unavailable',
] as const;
const DELETE = {
  summary: 'Delete a voice',
  description: 'At the provider too. Agents that name it keep their settings, and need another voice before their next call.',
};

/** `/v1/voices`. */
export function voiceRoutes(app: App, context: AppContext): void {
  const { db, keyring } = context;
  const read = { scope: 'any_key' } as const;
  const write = { scope: 'voices:write' } as const;

  const recall: Recall = async ({ principal, resourceId }) => present(await requireVoice(db, principal, resourceId));

  app.post('/v1/voices', {
    config: { ...write, recall, multipart: FORM, errors: CREATE_ERRORS }, schema: { ...CREATE, body: CreateVoice, querystring: NoQuery, response: { 201: Voice } },
    preValidation: async ({ body }) => refuseByName(body),
  }, async (request, reply) => {
    const { body, uploads, resourceId } = request;
    return reply.code(201).send(present(await createVoice(context, request.principal, { id: resourceId, body, uploads: request.isMultipart() ? uploads : undefined })));
  });

  app.get('/v1/voices', { config: read, schema: { summary: 'List voices', querystring: ListVoices, response: { 200: VoiceList } } }, async (request) => {
    const page = readPage(keyring, request.query, 'voices', request.principal);
    const rows = await listVoiceRows(db, request.principal.accountId, request.principal.livemode, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), present);
  });

  app.get('/v1/voices/:id', { config: read, schema: { summary: 'Read a voice', params: IdParams, querystring: NoQuery, response: { 200: Voice } } }, async (request) =>
    present(await requireVoice(db, request.principal, request.params.id)));

  app.delete('/v1/voices/:id', { config: { ...write, errors: ['cloning_unavailable'] }, schema: { ...DELETE, params: IdParams, querystring: NoQuery, response: { 200: Deleted } } }, async (request) => {
    await deleteVoice(context, request.principal, request.params.id);
    return { id: request.params.id, object: 'voice', deleted: true as const };
  });

  app.post('/v1/voices/:id/preview', {
    config: { ...write, recall: 'no_effect', errors: ['cloning_unavailable'], produces: ['audio/wav', 'audio/mpeg'] },
    schema: { summary: 'Hear a voice', description: 'Free. Answers audio: WAV or MP3, as the provider speaks.', params: IdParams, querystring: NoQuery, body: PreviewVoice },
  }, async (request, reply) => {
    const { mediaType, audio } = await previewVoice(context, request.principal, request.params.id, request.body.text);
    return reply.type(mediaType).send(audio);
  });
}

/** What has a code of its own, although a schema says it too. */
function refuseByName(body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return;
  const { consent, audio_urls: urls } = body as { consent?: unknown; audio_urls?: unknown };
  if (consent !== true) throw new ApiError('consent_required', 'consent must be true: the speaker has agreed to the cloning of the voice.', { param: 'consent' });
  if (Array.isArray(urls) && urls.length > MAX_RECORDINGS) throw new ApiError('too_many_recordings', `At most ${MAX_RECORDINGS} recordings, not ${urls.length}.`, { param: 'audio_urls' });
}

function present(row: VoiceRow): Voice {
  return {
    id: row.id, object: 'voice', livemode: row.livemode, name: row.name, description: row.description, provider: row.provider, provider_voice_id: row.provider_voice_id,
    engines: [...ENGINES_OF[row.provider]], language: row.language, consent_at: iso(row.consent_at), created_at: iso(row.created_at), updated_at: iso(row.updated_at),
  };
}
