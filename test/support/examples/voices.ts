import { newId } from '../../../src/db/id.ts';
import type { ApiHarness } from '../api-harness.ts';
import { noiseWav } from '../voice-recordings.ts';
import { postVoice } from '../voice-requests.ts';
import type { Example } from './example.ts';

/** Cloned through the API in test mode; in live mode, which has no provider here, written down. */
async function makeVoice(api: ApiHarness, key: string): Promise<string> {
  if (key.startsWith('wv_live_')) return writeVoice(api, key);
  const { status, body } = await postVoice(api, { key, files: [noiseWav(30)] });
  if (status !== 201) throw new Error(`POST /v1/voices: ${status} ${JSON.stringify(body)}`);
  return String(body.id);
}

/** As it stands once a provider has made it. */
async function writeVoice({ context: { db } }: ApiHarness, key: string): Promise<string> {
  const id = newId();
  const rows = await db.query(
    `INSERT INTO voice (id, account_id, livemode, status, name, provider, provider_voice_id, consent_at, consent_key_id, created_at, updated_at)
     SELECT $1, account_id, true, 'ready', 'V', 'vendor_a', 'v', now(), id, now(), now() FROM api_key WHERE prefix = left($2, 12) ORDER BY id DESC LIMIT 1 RETURNING id`, [id, key]);
  if (rows.length === 0) throw new Error('no such key');
  return id;
}

export const examples: Example[] = [
  { path: '/v1/voices', notFound: 'voice_not_found', make: makeVoice, bodies: { 'POST /v1/voices/:id/preview': { text: 'Hello' } } },
];
