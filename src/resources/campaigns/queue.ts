import type { AppContext } from '../../context.ts';
import type { Database, Transaction } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import { afterAttempt, watchFailures, type AttemptResult } from './attempt.ts';
import { isOpen, mayCall, nextOpening, zoneOf, type CallingHours } from './calling-hours.ts';
import { findAgentOf } from './campaign-agent.ts';
import {
  campaignsWithLapsed, countClaimedSince, failLapsed, findHeld, lockDue, markClaimed, markSkipped, postpone, releaseHeld, renewHeld, setCall, settleHeld, skipHeld, type DueLeadRow, type Lease,
} from './queue-store.ts';
import { lockCampaign, saveCampaign, type CampaignRow } from './store.ts';
import { halt, isListDone, released, saveProgress } from './transitions.ts';

export type { Lease } from './queue-store.ts';
export type QueueContext = Pick<AppContext, 'db' | 'clock' | 'events'>;

/** A lead that only the holder of `lease` may call, once. */
export interface ClaimedLead { lease: Lease; leadId: string; phoneNumber: string; attempt: number }

const MINUTE_MS = 60_000;
/** Leads looked at in one go, and how often in one claim: enough to get past those that must not be called now. */
const BATCH = 1000;
const BATCHES = 5;

/**
 * Takes up to `most` leads that may be called now, as many as the campaign's limits leave room for; committed before anything is
 * dialled. Leads that must never be called are skipped, those outside their calling hours wait for them.
 */
export function claimLeads(context: QueueContext, campaignId: string, { most, node, leaseUntil }: { most: number; node: string; leaseUntil: Date }): Promise<ClaimedLead[]> {
  return context.db.transaction(async (transaction) => {
    const nowMs = context.clock.now();
    const row = await lockCampaign(transaction, campaignId);
    if (row?.status !== 'running') return [];
    const agent = await findAgentOf(transaction, row, 'read');
    const reason = agent === undefined ? 'agent_deleted' : isSpent(row) ? 'cost_limit' : undefined;
    if (agent === undefined || reason !== undefined) {
      await saveCampaign(transaction, await halt(transaction, row, reason ?? 'agent_deleted'), new Date(nowMs));
      return [];
    }
    const { timezone } = agent.definition;
    const room = isClosed(row.calling_hours, timezone, nowMs) ? 0 : await roomFor(transaction, row, most, nowMs);
    if (room <= 0) return [];
    const claim = { node, claim: newId(nowMs), until: leaseUntil, now: new Date(nowMs) };
    const { claimed, skipped } = await takeDue(transaction, row, timezone, room, claim);
    if (claimed.length + skipped === 0) return [];
    const pending = row.pending - claimed.length - skipped;
    await saveProgress(context, transaction, { ...row, pending, in_flight: row.in_flight + claimed.length, skipped: row.skipped + skipped });
    return claimed.map(({ lead_id, phone_number, attempts }) => (
      { lease: { campaignId, leadId: lead_id, node, claim: claim.claim }, leadId: lead_id, phoneNumber: phone_number, attempt: attempts + 1 }
    ));
  });
}

/**
 * Just before the call is placed: from now on the lead's call is this one. False: it must not be placed, for the lease is no longer
 * held, the campaign no longer runs or its hours have ended (the lead is pending again), or the lead must not be called any more.
 */
export function noteCall(context: QueueContext, lease: Lease, callId: string): Promise<boolean> {
  return context.db.transaction(async (transaction) => {
    const row = await lockCampaign(transaction, lease.campaignId);
    const lead = row && (await findHeld(transaction, lease));
    if (!lead) return false;
    const never = neverBecause(lead);
    if (never !== undefined) {
      await skipHeld(transaction, lease, never);
      await saveProgress(context, transaction, { ...row, in_flight: row.in_flight - 1, skipped: row.skipped + 1 });
      return false;
    }
    const agent = await findAgentOf(transaction, row, 'read');
    const may = row.status === 'running' && agent !== undefined && mayCall(row, lead, agent.definition, context.clock.now());
    if (may) await setCall(transaction, lease, callId);
    else await saveCampaign(transaction, released(row, await releaseHeld(transaction, row.id, [lease])), new Date(context.clock.now()));
    return may;
  });
}

/** While the call goes on. False: the lease is no longer held, and what becomes of the lead is decided. */
export function renewLease(db: Database, lease: Lease, until: Date): Promise<boolean> {
  return renewHeld(db, lease, until);
}

/**
 * The call has ended: the lead is done, or waits for another attempt; the last lead completes the campaign. False: the lease is no
 * longer held, and nothing changes. Calls that a pause cut short are `releaseLeads`'s.
 */
export function settleLead(context: QueueContext, lease: Lease, { result, costMicros = 0 }: { result: AttemptResult; costMicros?: number }): Promise<boolean> {
  return context.db.transaction(async (transaction) => {
    const nowMs = context.clock.now();
    const row = await lockCampaign(transaction, lease.campaignId);
    const held = row && (await findHeld(transaction, lease));
    if (!held) return false;
    const { status, nextAttemptAt } = afterAttempt(result, held.attempts, row.retry, nowMs);
    await settleHeld(transaction, lease, { status, outcome: result, nextAttemptAt });
    const { recent, tripped } = watchFailures(row.recent_calls, result, row.failure_breaker);
    const settled = { ...row, in_flight: row.in_flight - 1, cost_micros: row.cost_micros + costMicros, recent_calls: recent };
    settled[status]++;
    const reason = tripped ? 'failure_breaker' : isSpent(settled) ? 'cost_limit' : undefined;
    await saveProgress(context, transaction, reason === undefined || isListDone(settled) ? settled : await halt(transaction, settled, reason));
    return true;
  });
}

/**
 * Leads whose lease ran out, because the process that called them died: `failed` with outcome `unknown`, and never called again by
 * themselves. Answers how many.
 */
export async function settleLapsed(context: QueueContext): Promise<number> {
  const now = new Date(context.clock.now());
  let lapsed = 0;
  for (const id of await campaignsWithLapsed(context.db, now)) {
    lapsed += await context.db.transaction(async (transaction) => {
      const row = await lockCampaign(transaction, id);
      const count = row ? await failLapsed(transaction, id, now) : 0;
      if (row && count > 0) await saveProgress(context, transaction, { ...row, in_flight: row.in_flight - count, failed: row.failed + count });
      return count;
    });
  }
  return lapsed;
}

async function roomFor(transaction: Transaction, row: CampaignRow, most: number, nowMs: number): Promise<number> {
  const room = Math.min(most, row.max_concurrent_calls - row.in_flight);
  if (room <= 0 || row.calls_per_minute === null) return room;
  return Math.min(room, row.calls_per_minute - (await countClaimedSince(transaction, row.id, new Date(nowMs - MINUTE_MS))));
}

/** Those whose wait is over come before those never tried. */
async function takeDue(transaction: Transaction, row: CampaignRow, agentZone: string, room: number, claim: { node: string; claim: string; until: Date; now: Date }): Promise<{ claimed: DueLeadRow[]; skipped: number }> {
  const claimed: DueLeadRow[] = [];
  let skipped = 0;
  let size = room;
  for (const which of ['again', 'first'] as const) {
    for (let batch = 0; batch < BATCHES && claimed.length < room; batch++) {
      const due = await lockDue(transaction, row.id, which, claim.now, size);
      const sorted = sortDue(due, row.calling_hours, agentZone, claim.now.getTime());
      const callable = sorted.callable.slice(0, room - claimed.length);
      await markClaimed(transaction, row.id, callable.map(({ position }) => position), claim);
      await markSkipped(transaction, row.id, sorted.never);
      await postpone(transaction, row.id, sorted.later);
      claimed.push(...callable);
      skipped += sorted.never.length;
      if (due.length < size) break;
      size = BATCH;
    }
  }
  return { claimed, skipped };
}

interface Sorted { callable: DueLeadRow[]; never: { position: number; outcome: string }[]; later: { position: number; until: Date }[] }

function sortDue(due: readonly DueLeadRow[], hours: CallingHours | null, agentZone: string, nowMs: number): Sorted {
  const sorted: Sorted = { callable: [], never: [], later: [] };
  const openings = new Map<string, Date | undefined>();
  for (const lead of due) {
    const { position } = lead;
    const outcome = neverBecause(lead);
    if (outcome !== undefined) {
      sorted.never.push({ position, outcome });
      continue;
    }
    const until = hours && waitFor(hours, zoneOf(hours, lead, { timezone: agentZone }), nowMs, openings);
    if (until) sorted.later.push({ position, until });
    else sorted.callable.push(lead);
  }
  return sorted;
}

/** Why it must not be called at all. */
function neverBecause({ deleted, do_not_call }: DueLeadRow): 'lead_deleted' | 'do_not_call' | undefined {
  if (deleted) return 'lead_deleted';
  return do_not_call ? 'do_not_call' : undefined;
}

/** Undefined: the zone is inside its hours. Each zone is worked out once. */
function waitFor(hours: CallingHours, zone: string, nowMs: number, known: Map<string, Date | undefined>): Date | undefined {
  if (!known.has(zone)) known.set(zone, isOpen(hours, zone, nowMs) ? undefined : new Date(nextOpening(hours, zone, nowMs)));
  return known.get(zone);
}

/** Nobody can be called now, whatever the lead's own zone. */
function isClosed(hours: CallingHours | null, agentZone: string, nowMs: number): boolean {
  if (hours === null || hours.timezone === 'lead') return false;
  return !isOpen(hours, zoneOf(hours, { timezone: null }, { timezone: agentZone }), nowMs);
}

function isSpent({ max_cost_micros, cost_micros }: CampaignRow): boolean {
  return max_cost_micros !== null && cost_micros >= max_cost_micros;
}
