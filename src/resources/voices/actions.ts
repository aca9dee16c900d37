import { ApiError } from '../../api/errors.ts';
import type { Upload } from '../../api/multipart-rules.ts';
import type { Principal } from '../../api/principal.ts';
import type { AppContext } from '../../context.ts';
import type { Queryable } from '../../db/database.ts';
import { priceOf, requireCredit } from '../billing/actions.ts';
import { fetchRecording, requireSafeUrl } from './audio-fetch.ts';
import { giveUp, runClone, watchOver } from './clone-run.ts';
import type { Preview, VoiceCloner } from './cloning.ts';
import { askProvider, PROVIDER_LIMIT_MS, unavailable } from './provider-call.ts';
import { inspectRecordings, requireEnough, type Recording } from './recording.ts';
import type { CreateVoice } from './schema.ts';
import { findAnyVoice, findVoice, markVoiceDeleted, reserveVoice, type VoiceRow } from './store.ts';
import { CLONE_MODELS, RECORDING_RULES, type VoiceProvider } from './voice-provider.ts';

export type { VoiceRow } from './store.ts';

type VoiceContext = Pick<AppContext, 'db' | 'clock' | 'log' | 'jobs' | 'guard' | 'cloning' | 'options'>;
interface Owner { accountId: string; livemode: boolean }

/** A body that has passed its schema; `uploads` of a form, undefined for JSON. */
export interface VoiceRequest { id: string; body: CreateVoice; uploads: readonly Upload[] | undefined }

/**
 * Clones a voice. What the request holds is refused first, then that nobody here can make it, then the account's limit and credit;
 * addresses are fetched once nothing but them and the provider can fail. Throws ApiError as POST /v1/voices says.
 */
export async function createVoice(context: VoiceContext, principal: Principal, { id, body, uploads }: VoiceRequest): Promise<VoiceRow> {
  const { db, clock } = context;
  const provider = body.provider ?? 'vendor_a';
  requireWhatItTakes(provider, body, uploads);
  const given = uploads && await inspectAll(provider, uploads.map(({ data }) => data), 'files');
  if (!uploads) await Promise.all((body.audio_urls ?? []).map((url, position) => requireSafeUrl(url, context.guard, `audio_urls[${position}]`)));
  const { accountId, livemode, apiKeyId } = principal;
  const cloner = requireCloner(context, provider, livemode);
  const voice = { name: body.name, description: body.description ?? null, language: body.language ?? null };
  await watchOver(context, id);
  const place = await reserveVoice(db, { id, accountId, livemode, provider, ...voice, apiKeyId: apiKeyId ?? null, now: new Date(clock.now()) }, context.options.maxVoicesPerAccount);
  if (!place) throw await noPlace(context, id);
  const { feeMicros, recordings } = await refusing(context, id, place.again, async () => {
    const fee = await feeOf(context, principal, provider);
    return { feeMicros: fee, recordings: given ?? await fetchAll(context, provider, body.audio_urls ?? []) };
  });
  return runClone(context, {
    accountId, livemode, apiKeyId, provider, cloner, feeMicros, again: place.again,
    request: { reference: id, ...voice, removeBackgroundNoise: body.remove_background_noise ?? false, recordings },
  });
}

async function noPlace(context: VoiceContext, id: string): Promise<ApiError> {
  const { db, options } = context;
  const row = await findAnyVoice(db, id);
  if (!row) await giveUp(context, id);
  if (row?.status === 'cleaning') return unavailable('What an earlier attempt left is being cleaned up. Nothing was charged; try again.');
  return new ApiError('voice_limit_reached', `The account has its ${options.maxVoicesPerAccount} voices; delete one first.`);
}

/** The voice `id` names, for a caller of its own account and mode. Throws ApiError `voice_not_found`, `key_mode_mismatch`. */
export async function requireVoice(db: Queryable, owner: Owner, id: string): Promise<VoiceRow> {
  const row = await findVoice(db, owner.accountId, id);
  if (!row) throw new ApiError('voice_not_found', `No voice ${id} in this account.`, { param: 'id' });
  if (row.livemode !== owner.livemode) throw new ApiError('key_mode_mismatch', `Voice ${id} belongs to ${row.livemode ? 'live' : 'test'} mode.`, { param: 'id' });
  return row;
}

/**
 * Deletes a voice at its provider, then here. Agents that name it are left alone.
 * Throws ApiError `cloning_unavailable` when the provider does not; the voice then stays as it was.
 */
export async function deleteVoice(context: VoiceContext, owner: Owner, id: string): Promise<void> {
  const { provider, livemode, provider_voice_id: providerVoiceId } = await requireVoice(context.db, owner, id);
  const cloner = requireCloner(context, provider, livemode);
  await askProvider(context, 'delete', PROVIDER_LIMIT_MS, (signal) => cloner.delete(providerVoiceId, signal)).catch(() => {
    throw unavailable('The provider did not delete the voice, which stays as it was. Try again later.');
  });
  if (!(await markVoiceDeleted(context.db, id, new Date(context.clock.now())))) throw new ApiError('voice_not_found', `No voice ${id} in this account.`, { param: 'id' });
}

/** Lets a voice say something. Throws ApiError `cloning_unavailable`. */
export async function previewVoice(context: VoiceContext, owner: Owner, id: string, text: string): Promise<Preview> {
  const { provider, livemode, provider_voice_id: providerVoiceId } = await requireVoice(context.db, owner, id);
  const cloner = requireCloner(context, provider, livemode);
  return askProvider(context, 'preview', PROVIDER_LIMIT_MS, (signal) => cloner.preview(providerVoiceId, text, signal)).catch(() => {
    throw unavailable('The provider cannot speak in this voice right now. Try again later.');
  });
}

/** Throws ApiError 400 for what the schema cannot say. */
function requireWhatItTakes(provider: VoiceProvider, body: CreateVoice, uploads: readonly Upload[] | undefined): void {
  if (provider === 'vendor_b') requireForVendorB(body);
  if (uploads && body.audio_urls) throw new ApiError('unknown_parameter', 'A form has files, not audio_urls.', { param: 'audio_urls' });
  const given = uploads ? 'files' : 'audio_urls';
  const count = (uploads ?? body.audio_urls ?? []).length;
  if (count === 0) throw new ApiError('missing_parameter', `${given} is required: at least one recording.`, { param: given });
  const { maxRecordings } = RECORDING_RULES[provider];
  if (count > maxRecordings) throw new ApiError('too_many_recordings', `${provider} takes ${maxRecordings === 1 ? 'one recording' : `at most ${maxRecordings} recordings`}, not ${count}.`, { param: given });
}

function requireForVendorB({ language, remove_background_noise: removeNoise }: CreateVoice): void {
  if (language === undefined) throw new ApiError('missing_parameter', 'language is required for vendor_b.', { param: 'language' });
  if (removeNoise) throw new ApiError('invalid_parameter', 'remove_background_noise is for vendor_a only.', { param: 'remove_background_noise' });
}

function requireCloner({ cloning }: VoiceContext, provider: VoiceProvider, livemode: boolean): VoiceCloner {
  const cloner = cloning.clonerOf(provider, livemode);
  if (!cloner) throw unavailable(`${provider} is not configured on this installation. Nothing was charged.`);
  return cloner;
}

/** The cloning fee now, once the account is seen to have it. Throws ApiError `insufficient_credits`. */
async function feeOf({ db, clock }: VoiceContext, { accountId, livemode }: Owner, provider: VoiceProvider): Promise<number> {
  if (!livemode) return 0;
  const amountMicros = (await priceOf(db, 'voice_clone', CLONE_MODELS[provider], 'clone', clock.now())) ?? 0;
  await requireCredit(db, { accountId, livemode, amountMicros });
  return amountMicros;
}

async function inspectAll(provider: VoiceProvider, files: readonly Buffer[], field: string): Promise<Recording[]> {
  const recordings = await inspectRecordings(files, field);
  requireEnough(provider, recordings, field);
  return recordings;
}

async function fetchAll({ guard }: VoiceContext, provider: VoiceProvider, urls: readonly string[]): Promise<Recording[]> {
  return inspectAll(provider, await Promise.all(urls.map((url, position) => fetchRecording(url, guard, `audio_urls[${position}]`))), 'audio_urls');
}

/** A refusal before the provider was asked gives the place back; what an earlier run may have made is left to the clean-up. */
async function refusing<Result>(context: VoiceContext, id: string, again: boolean, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!again) await giveUp(context, id);
    throw error;
  }
}
