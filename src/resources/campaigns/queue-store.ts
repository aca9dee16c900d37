import type { PageRequest } from '../../api/pagination.ts';
import type { Queryable, Value } from '../../db/database.ts';
import type { LeadStatus } from './schema.ts';

/** The only SQL on the leads of campaigns. Whoever changes a row has locked its campaign before. */

export interface QueuedLeadRow {
  campaign_id: string;
  position: number;
  lead_id: string;
  status: LeadStatus;
  attempts: number;
  next_attempt_at: Date | null;
  outcome: string | null;
  last_call_id: string | null;
}

/** A lead of the queue with what decides whether it is called. */
export interface DueLeadRow { position: number; lead_id: string; attempts: number; deleted: boolean; do_not_call: boolean; timezone: string | null; phone_number: string }

/** The hold of one claim on a lead: who may say how its call went. */
export interface Lease { campaignId: string; leadId: string; node: string; claim: string }

const COLUMNS = 'campaign_id, position, lead_id, status, attempts, next_attempt_at, outcome, last_call_id';
const LET_GO = 'node_id = NULL, claim = NULL, lease_until = NULL, call_id = NULL, hang_up = false';
const DUE = "queued.position, queued.lead_id, queued.attempts, lead.id IS NULL AS deleted, coalesce(lead.do_not_call, false) AS do_not_call, lead.timezone, coalesce(lead.phone_number, '') AS phone_number";
/** As if it had not been called; what it was called with is still shown. */
const PENDING_AGAIN = `status = 'pending', attempts = attempts - 1, ${LET_GO}`;
const HELD = "campaign_id = $1 AND lead_id = $2 AND node_id = $3 AND claim = $4 AND status = 'in_flight'";
const held = ({ campaignId, leadId, node, claim }: Lease): Value[] => [campaignId, leadId, node, claim];

/** The list, in the order of `leadIds`. */
export async function insertQueue(db: Queryable, campaignId: string, leadIds: readonly string[]): Promise<void> {
  await db.query('INSERT INTO campaign_lead (campaign_id, position, lead_id) SELECT $1, place - 1, id FROM unnest($2::text[]) WITH ORDINALITY AS given (id, place)', [campaignId, leadIds]);
}

export async function deleteQueue(db: Queryable, campaignId: string): Promise<void> {
  await db.query('DELETE FROM campaign_lead WHERE campaign_id = $1', [campaignId]);
}

/** In the order of the list; a cursor's time is the position. */
export function listQueue(db: Queryable, campaignId: string, status: LeadStatus | undefined, page: PageRequest): Promise<QueuedLeadRow[]> {
  const onwards = page.direction === 'older';
  const values: Value[] = [campaignId, page.limit + 1];
  const conditions = ['campaign_id = $1'];
  if (status !== undefined) conditions.push(`status = $${values.push(status)}`);
  if (page.from) conditions.push(`position ${onwards ? '>' : '<'} $${values.push(page.from.atMs)}`);
  return db.query<QueuedLeadRow>(`SELECT ${COLUMNS} FROM campaign_lead WHERE ${conditions.join(' AND ')} ORDER BY position ${onwards ? 'ASC' : 'DESC'} LIMIT $2`, values);
}

/** Locks leads whose turn it is: `again` those whose wait is over, otherwise those never tried, both in order. */
export function lockDue(db: Queryable, campaignId: string, which: 'again' | 'first', now: Date, most: number): Promise<DueLeadRow[]> {
  const turn = which === 'again' ? 'queued.next_attempt_at <= $3' : 'queued.next_attempt_at IS NULL AND $3::timestamptz IS NOT NULL';
  return db.query<DueLeadRow>(
    `SELECT ${DUE}
     FROM campaign_lead queued LEFT JOIN lead ON lead.id = queued.lead_id
     WHERE queued.campaign_id = $1 AND queued.status = 'pending' AND ${turn}
     ORDER BY queued.next_attempt_at, queued.position LIMIT $2 FOR UPDATE OF queued SKIP LOCKED`,
    [campaignId, most, now],
  );
}

export async function markClaimed(db: Queryable, campaignId: string, positions: readonly number[], lease: { node: string; claim: string; until: Date; now: Date }): Promise<void> {
  await db.query(
    `UPDATE campaign_lead SET status = 'in_flight', attempts = attempts + 1, next_attempt_at = NULL, node_id = $3, claim = $4, lease_until = $5, claimed_at = $6, call_id = NULL, hang_up = false
     WHERE campaign_id = $1 AND position = ANY($2::integer[])`,
    [campaignId, positions.map(String), lease.node, lease.claim, lease.until, lease.now],
  );
}

export async function markSkipped(db: Queryable, campaignId: string, skipped: readonly { position: number; outcome: string }[]): Promise<void> {
  await db.query(
    `UPDATE campaign_lead SET status = 'skipped', outcome = given.outcome, next_attempt_at = NULL FROM unnest($2::integer[], $3::text[]) AS given (position, outcome)
     WHERE campaign_id = $1 AND campaign_lead.position = given.position`,
    [campaignId, skipped.map(({ position }) => String(position)), skipped.map(({ outcome }) => outcome)],
  );
}

/** They wait until their calling hours begin. */
export async function postpone(db: Queryable, campaignId: string, later: readonly { position: number; until: Date }[]): Promise<void> {
  await db.query(
    `UPDATE campaign_lead SET next_attempt_at = given.until FROM unnest($2::integer[], $3::timestamptz[]) AS given (position, until)
     WHERE campaign_id = $1 AND campaign_lead.position = given.position`,
    [campaignId, later.map(({ position }) => String(position)), later.map(({ until }) => until.toISOString())],
  );
}

/** Waiting for calling hours that no longer hold ends; those that wait for another attempt go on waiting for it. */
export async function recallPostponed(db: Queryable, campaignId: string, intervalMinutes: number): Promise<void> {
  await db.query(
    `UPDATE campaign_lead SET next_attempt_at = CASE WHEN attempts = 0 THEN NULL ELSE LEAST(next_attempt_at, claimed_at + make_interval(mins => $2)) END
     WHERE campaign_id = $1 AND status = 'pending' AND next_attempt_at IS NOT NULL`, [campaignId, intervalMinutes]);
}

export async function countClaimedSince(db: Queryable, campaignId: string, since: Date): Promise<number> {
  const [row] = await db.query<{ claimed: number }>('SELECT count(*) AS claimed FROM campaign_lead WHERE campaign_id = $1 AND claimed_at > $2', [campaignId, since]);
  return row?.claimed ?? 0;
}

/** The lead as it is now. Undefined: the lease is no longer this one's. */
export async function findHeld(db: Queryable, lease: Lease): Promise<DueLeadRow | undefined> {
  const [row] = await db.query<DueLeadRow>(`SELECT ${DUE} FROM campaign_lead queued LEFT JOIN lead ON lead.id = queued.lead_id WHERE ${HELD} FOR UPDATE OF queued`, held(lease));
  return row;
}

export async function renewHeld(db: Queryable, lease: Lease, until: Date): Promise<boolean> {
  const rows = await db.query(`UPDATE campaign_lead SET lease_until = $5 WHERE ${HELD} RETURNING position`, [...held(lease), until]);
  return rows.length > 0;
}

export async function setCall(db: Queryable, lease: Lease, callId: string): Promise<void> {
  await db.query(`UPDATE campaign_lead SET call_id = $5, last_call_id = $5 WHERE ${HELD}`, [...held(lease), callId]);
}

export async function settleHeld(db: Queryable, lease: Lease, settled: { status: LeadStatus; outcome: string; nextAttemptAt: Date | null }): Promise<void> {
  await db.query(`UPDATE campaign_lead SET status = $5, outcome = $6, next_attempt_at = $7, ${LET_GO} WHERE ${HELD}`, [...held(lease), settled.status, settled.outcome, settled.nextAttemptAt]);
}

/** Never to be called after all. */
export async function skipHeld(db: Queryable, lease: Lease, outcome: string): Promise<void> {
  await db.query(`UPDATE campaign_lead SET status = 'skipped', outcome = $5, attempts = attempts - 1, ${LET_GO} WHERE ${HELD}`, [...held(lease), outcome]);
}

/** Leads that this claim still holds become pending again; answers how many. */
export async function releaseHeld(db: Queryable, campaignId: string, leases: readonly Lease[]): Promise<number> {
  const rows = await db.query(
    `UPDATE campaign_lead SET ${PENDING_AGAIN} FROM unnest($2::text[], $3::text[], $4::text[]) AS given (lead_id, node_id, claim)
     WHERE campaign_id = $1 AND campaign_lead.lead_id = given.lead_id AND campaign_lead.node_id = given.node_id AND campaign_lead.claim = given.claim AND status = 'in_flight' RETURNING position`,
    [campaignId, leases.map(({ leadId }) => leadId), leases.map(({ node }) => node), leases.map(({ claim }) => claim)],
  );
  return rows.length;
}

/** Claimed leads that have no call yet become pending again: their claim can place none any more. */
export async function releaseUndialled(db: Queryable, campaignId: string): Promise<number> {
  const rows = await db.query(`UPDATE campaign_lead SET ${PENDING_AGAIN} WHERE campaign_id = $1 AND status = 'in_flight' AND call_id IS NULL RETURNING position`, [campaignId]);
  return rows.length;
}

export interface LiveLeadRow { lead_id: string; node_id: string; claim: string; call_id: string }

/** Marks the campaign's calls to be hung up, whichever node has them. */
export function requestHangUps(db: Queryable, campaignId: string): Promise<LiveLeadRow[]> {
  return db.query<LiveLeadRow>("UPDATE campaign_lead SET hang_up = true WHERE campaign_id = $1 AND status = 'in_flight' RETURNING lead_id, node_id, claim, call_id", [campaignId]);
}

/** Campaigns with a lead whose lease has run out. */
export async function campaignsWithLapsed(db: Queryable, now: Date): Promise<string[]> {
  const rows = await db.query<{ campaign_id: string }>("SELECT DISTINCT campaign_id FROM campaign_lead WHERE status = 'in_flight' AND lease_until <= $1", [now]);
  return rows.map(({ campaign_id }) => campaign_id);
}

/** Nobody knows how their calls went, so nobody calls them again; answers how many. */
export async function failLapsed(db: Queryable, campaignId: string, now: Date): Promise<number> {
  const rows = await db.query(`UPDATE campaign_lead SET status = 'failed', outcome = 'unknown', ${LET_GO} WHERE campaign_id = $1 AND status = 'in_flight' AND lease_until <= $2 RETURNING position`, [campaignId, now]);
  return rows.length;
}
