import { pageSql, type PageRequest } from '../../api/pagination.ts';
import { isDuplicate, type Queryable } from '../../db/database.ts';
import type { VoiceProvider } from './voice-provider.ts';

/** The only SQL on voices. */

export interface VoiceRow {
  id: string;
  account_id: string;
  livemode: boolean;
  /** `cloning`: being made; `abandoned`: nobody knows whether the provider made it; `cleaning`: what it made is being deleted; `ready`: a voice. */
  status: 'cloning' | 'abandoned' | 'cleaning' | 'ready';
  name: string;
  description: string | null;
  provider: VoiceProvider;
  /** Of a voice that is ready. */
  provider_voice_id: string;
  language: string | null;
  consent_at: Date;
  created_at: Date;
  updated_at: Date;
}

export interface NewVoice {
  id: string;
  accountId: string;
  livemode: boolean;
  name: string;
  description: string | null;
  provider: VoiceProvider;
  language: string | null;
  apiKeyId: string | null;
  now: Date;
}

const COLUMNS = 'id, account_id, livemode, status, name, description, provider, provider_voice_id, language, consent_at, created_at, updated_at';
const SHOWN = 'status = \'ready\' AND deleted_at IS NULL';

/**
 * Takes one of the account's `places` for a voice that is about to be made. `again`: an earlier run of the same request got
 * as far as this. Undefined: every place is taken, or what the earlier run left is just being cleaned up. One statement, so that it holds without a transaction.
 */
export async function reserveVoice(db: Queryable, voice: NewVoice, places: number): Promise<{ again: boolean } | undefined> {
  for (;;) {
    try {
      const [row] = await db.query<{ again: boolean }>(
        `INSERT INTO voice (id, account_id, livemode, status, slot, name, description, provider, language, consent_at, consent_key_id, created_at, updated_at)
         SELECT $1, $2, $3, 'cloning', place.slot, $4, $5, $6, $7, $8, $9, $8, $8 FROM (SELECT COALESCE(
           (SELECT slot FROM voice WHERE id = $1),
           (SELECT free FROM generate_series(1, $10::integer) AS free
            WHERE NOT EXISTS (SELECT 1 FROM voice WHERE account_id = $2 AND livemode = $3 AND slot = free) ORDER BY free LIMIT 1)) AS slot) AS place
         WHERE place.slot IS NOT NULL
         ON CONFLICT (id) DO UPDATE SET status = 'cloning', slot = EXCLUDED.slot, created_at = EXCLUDED.created_at WHERE voice.status IN ('cloning', 'abandoned')
         RETURNING xmax::text <> '0' AS again`,
        [voice.id, voice.accountId, voice.livemode, voice.name, voice.description, voice.provider, voice.language, voice.now, voice.apiKeyId, places],
      );
      return row;
    } catch (error) {
      // Another request took the same place first: look for the next one.
      if (!isDuplicate(error, 'voice_slot')) throw error;
    }
  }
}

/** Undefined: it was given up meanwhile. */
export async function completeVoice(db: Queryable, id: string, providerVoiceId: string, now: Date): Promise<VoiceRow | undefined> {
  const [row] = await db.query<VoiceRow>(
    `UPDATE voice SET status = 'ready', provider_voice_id = $2, created_at = $3, updated_at = $3 WHERE id = $1 AND status = 'cloning' RETURNING ${COLUMNS}`, [id, providerVoiceId, now]);
  return row;
}

/** Frees the place of a clone that may have been made all the same. */
export async function abandonVoice(db: Queryable, id: string): Promise<void> {
  await db.query('UPDATE voice SET status = \'abandoned\', slot = NULL WHERE id = $1 AND status = \'cloning\'', [id]);
}

/** Takes a voice that never came to be out of everybody's reach, so that its remains can be deleted; undefined: there is none, or a run since `before` has it. */
export async function beginCleaning(db: Queryable, id: string, before: Date): Promise<VoiceRow | undefined> {
  const [row] = await db.query<VoiceRow>(
    `UPDATE voice SET status = 'cleaning', slot = NULL WHERE id = $1 AND status <> 'ready' AND (status <> 'cloning' OR created_at <= $2) RETURNING ${COLUMNS}`, [id, before]);
  return row;
}

/** Removes what never became a voice. */
export async function deleteUnmadeVoice(db: Queryable, id: string): Promise<void> {
  await db.query('DELETE FROM voice WHERE id = $1 AND status <> \'ready\'', [id]);
}

/** Whatever its status, and deleted ones too. */
export async function findAnyVoice(db: Queryable, id: string): Promise<VoiceRow | undefined> {
  const [row] = await db.query<VoiceRow>(`SELECT ${COLUMNS} FROM voice WHERE id = $1`, [id]);
  return row;
}

/** Of any mode; deleted ones, and those not yet made, are not there. */
export async function findVoice(db: Queryable, accountId: string, id: string): Promise<VoiceRow | undefined> {
  const [row] = await db.query<VoiceRow>(`SELECT ${COLUMNS} FROM voice WHERE account_id = $1 AND id = $2 AND ${SHOWN}`, [accountId, id]);
  return row;
}

export function listVoiceRows(db: Queryable, accountId: string, livemode: boolean, page: PageRequest): Promise<VoiceRow[]> {
  const { sql, values } = pageSql(page, ['account_id = $1', 'livemode = $2', SHOWN], [accountId, livemode]);
  return db.query<VoiceRow>(`SELECT ${COLUMNS} FROM voice ${sql}`, values);
}

/** The row stays: it holds the consent. False: it was deleted before. */
export async function markVoiceDeleted(db: Queryable, id: string, now: Date): Promise<boolean> {
  const rows = await db.query('UPDATE voice SET deleted_at = $2, updated_at = $2, slot = NULL WHERE id = $1 AND deleted_at IS NULL RETURNING id', [id, now]);
  return rows.length > 0;
}
