import { hash } from 'node:crypto';
import type { Keyring } from '../../api/keyring.ts';
import type { ApiKeyRecord } from '../../api/principal.ts';
import { modeOfApiKey } from '../../api/secrets.ts';
import type { Clock } from '../../clock.ts';
import type { Database, Transaction } from '../../db/database.ts';
import type { Listening } from '../../db/listener.ts';
import { findByDigest, KEY_CHANNEL, notifyKeysChanged, touchApiKey } from './store.ts';

/** A key is looked up again after this long at the latest, which keeps `last_used_at` honest. */
const FRESH_MS = 10_000;
const MAX_KEYS = 10_000;
/** `last_used_at` is this exact: a write per request would be wasted. */
const TOUCH_MS = 60_000;

/**
 * Keys as requests need them, kept so that a request does not cost a query. A revocation is heard from every process at
 * once (NOTIFY); while that cannot be heard, nothing is kept.
 */
export class KeyCache {
  readonly #db: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #keys = new Map<string, { record: ApiKeyRecord; atMs: number }>();
  #listening: Listening | undefined;
  #hears = false;
  /** Grows with every change heard: what a query saw before it is not kept. */
  #generation = 0;

  constructor(db: Database, keyring: Keyring, clock: Clock) {
    this.#db = db;
    this.#keyring = keyring;
    this.#clock = clock;
  }

  /** Begins to keep keys. */
  start(): void {
    const heard = (hears: boolean): void => {
      this.#hears = hears;
      this.forget();
    };
    this.#listening = this.#db.listen(KEY_CHANNEL, () => heard(true), () => heard(false));
  }

  /** The key with this secret. */
  async find(secret: string): Promise<ApiKeyRecord | undefined> {
    // Not the secret itself, which has no business in the memory of a process longer than its request.
    const name = hash('sha256', secret, 'base64');
    const now = this.#clock.now();
    const kept = this.#keys.get(name);
    if (kept && now - kept.atMs < FRESH_MS) return kept.record;
    const generation = this.#generation;
    const record = modeOfApiKey(secret) === undefined ? undefined : await findKey(this.#db, this.#keyring.digest(secret), now);
    if (record && this.#hears && generation === this.#generation) this.#keep(name, { record, atMs: now });
    return record;
  }

  /** In the transaction that changes a key: once it is committed, this process forgets at once and every other within milliseconds. */
  async changed(transaction: Transaction): Promise<void> {
    await notifyKeysChanged(transaction);
    transaction.afterCommit(() => this.forget());
  }

  forget(): void {
    this.#generation++;
    this.#keys.clear();
  }

  async close(): Promise<void> {
    await this.#listening?.close();
  }

  #keep(name: string, kept: { record: ApiKeyRecord; atMs: number }): void {
    if (this.#keys.size >= MAX_KEYS) this.#keys.clear();
    this.#keys.set(name, kept);
  }
}

async function findKey(db: Database, digest: Buffer, nowMs: number): Promise<ApiKeyRecord | undefined> {
  const row = await findByDigest(db, digest);
  if (!row) return undefined;
  if (!row.last_used_at || nowMs - row.last_used_at.getTime() > TOUCH_MS) await touchApiKey(db, row.id, new Date(nowMs));
  return {
    id: row.id, accountId: row.account_id, livemode: row.livemode, scopes: row.scopes, serviceVersion: row.service_version,
    revokedAt: row.revoked_at ?? undefined, expiresAt: row.expires_at ?? undefined,
  };
}
