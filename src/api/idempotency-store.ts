import type { Database, Queryable } from '../db/database.ts';

/** The only SQL on idempotency keys. */

/** What names one use of an Idempotency-Key. */
export interface KeyPlace { accountId: string; livemode: boolean; route: string; key: string }

export interface KeyRow {
  fingerprint: Buffer;
  resource_id: string;
  claim: string;
  lease_until: Date;
  effect_at: Date | null;
  status: number | null;
  answer: string | null;
  created_at: Date;
}

export interface NewClaim { fingerprint: Buffer; resourceId: string; owner: string; claim: string; leaseUntil: Date; now: Date }

const PLACE = 'account_id = $1 AND livemode = $2 AND route = $3 AND key = $4';
const at = ({ accountId, livemode, route, key }: KeyPlace): (string | boolean)[] => [accountId, livemode, route, key];

/** True: this request is the first (what is older than `expiredBefore` does not count), and the row is its. */
export async function insertClaim(db: Queryable, place: KeyPlace, claim: NewClaim, expiredBefore: Date): Promise<boolean> {
  await db.query(`DELETE FROM idempotency WHERE ${PLACE} AND created_at < $5`, [...at(place), expiredBefore]);
  const rows = await db.query(
    `INSERT INTO idempotency (account_id, livemode, route, key, fingerprint, resource_id, owner, claim, lease_until, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING claim`,
    [...at(place), claim.fingerprint, claim.resourceId, claim.owner, claim.claim, claim.leaseUntil, claim.now],
  );
  return rows.length > 0;
}

export async function lockKey(db: Queryable, place: KeyPlace): Promise<KeyRow | undefined> {
  const [row] = await db.query<KeyRow>(`SELECT fingerprint, resource_id, claim, lease_until, effect_at, status, answer, created_at FROM idempotency WHERE ${PLACE} FOR UPDATE`, at(place));
  return row;
}

/** A run whose process is gone goes on here, with the id it had. */
export async function takeOver(db: Queryable, place: KeyPlace, claim: Pick<NewClaim, 'owner' | 'claim' | 'leaseUntil'>): Promise<void> {
  await db.query(`UPDATE idempotency SET owner = $5, claim = $6, lease_until = $7 WHERE ${PLACE}`, [...at(place), claim.owner, claim.claim, claim.leaseUntil]);
}

/** False: another run has taken over, so this one must not change anything. */
export async function markEffect(db: Queryable, place: KeyPlace, claim: string, now: Date): Promise<boolean> {
  const rows = await db.query(`UPDATE idempotency SET effect_at = COALESCE(effect_at, $6) WHERE ${PLACE} AND claim = $5 RETURNING claim`, [...at(place), claim, now]);
  return rows.length > 0;
}

export async function storeAnswer(db: Queryable, place: KeyPlace, claim: string, status: number, answer: string): Promise<void> {
  await db.query(`UPDATE idempotency SET status = $6, answer = $7 WHERE ${PLACE} AND claim = $5`, [...at(place), claim, status, answer]);
}

/** The request had no effect: the key is free again. With one, only the lease ends: a retry finds what was made. */
export async function releaseClaim(db: Queryable, place: KeyPlace, claim: string, now: Date): Promise<void> {
  await db.query(`DELETE FROM idempotency WHERE ${PLACE} AND claim = $5 AND effect_at IS NULL`, [...at(place), claim]);
  await db.query(`UPDATE idempotency SET lease_until = $6 WHERE ${PLACE} AND claim = $5`, [...at(place), claim, now]);
}

/** Runs of this owner's earlier processes cannot still be running. */
export async function endLeasesOf(db: Database, owner: string, now: Date): Promise<void> {
  await db.query('UPDATE idempotency SET lease_until = $2 WHERE owner = $1 AND status IS NULL', [owner, now]);
}

export async function deleteKeysBefore(db: Queryable, before: Date, most: number): Promise<number> {
  const rows = await db.query(
    'DELETE FROM idempotency WHERE ctid IN (SELECT ctid FROM idempotency WHERE created_at < $1 LIMIT $2) RETURNING key', [before, most]);
  return rows.length;
}

/** Answers about an erased object go with it. */
export async function deleteKeysOf(db: Queryable, resourceIds: readonly string[]): Promise<void> {
  await db.query('DELETE FROM idempotency WHERE resource_id = ANY($1)', [resourceIds]);
}
