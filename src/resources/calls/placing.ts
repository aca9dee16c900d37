import { ApiError } from '../../api/errors.ts';
import type { Principal } from '../../api/principal.ts';
import type { AppContext } from '../../context.ts';
import type { Queryable } from '../../db/database.ts';
import { lockAccount } from '../accounts/actions.ts';
import { requireAgent, type AgentRow } from '../agents/actions.ts';
import type { AgentForCall } from '../agents/spec.ts';
import { modelsOf } from '../agents/voice.ts';
import { requireLead, touchLastCall } from '../leads/actions.ts';
import { requirePhoneNumber } from '../phone-numbers/lookup.ts';
import { dialTrunkOf, requireTrunk } from '../sip-trunks/actions.ts';
import { admitCall, endCall, requireCall, tellOnCommit } from './actions.ts';
import { requireAllowedDestination } from './destinations.ts';
import type { DialTrunk } from './live-calls.ts';
import { resolveForCall } from './overrides.ts';
import type { PlaceCall } from './schema.ts';
import { insertCall, insertLogEntry, type CallRow } from './store.ts';

const RING_TIMEOUT_MS = 30_000;
const NOT_MEASURED = { turns: [], interruptions: { byCaller: 0, falseAlarms: 0 } };

export interface Placer { accountId: string; livemode: boolean; apiKeyId?: string | undefined }

export interface PlaceOptions {
  /** The call's id: the same again in a retry. */
  id: string;
  /** A call of POST /v1/agents/{id}/test-call. */
  test?: boolean;
  campaignId?: string;
  /** What names the agent in the request, for errors. */
  agentParam?: string;
}

/** The number a call shows, and the trunk that carries it; neither is needed in test mode. */
interface Line { phoneNumberId?: string; from?: string; sipTrunkId?: string; trunk?: DialTrunk }

/** Whoever asks with an API key. */
export function placerOf({ accountId, livemode, apiKeyId }: Principal): Placer {
  return { accountId, livemode, apiKeyId };
}

/**
 * Writes a call down as `queued`, tells of it (`outboundCall`) and has it dialled, once. Throws ApiError, nothing having
 * happened then: `destination_not_allowed`, `<x>_not_found`, `key_mode_mismatch`, `no_outbound_number`, `unsupported_language`,
 * `conflicting_voice`, `unknown_model`, `no_trunk`, `concurrency_limit`, `insufficient_credits`, `dialling_unavailable`.
 */
export async function placeCall(context: AppContext, placer: Placer, body: PlaceCall, options: PlaceOptions): Promise<CallRow> {
  requireAllowedDestination(context.options.blockedDestinations, body.to);
  const { resolved, line, row } = await context.db.transaction(async (transaction) => {
    // Before the agent's row: whoever takes both takes them in this order.
    await lockAccount(transaction, placer.accountId);
    const agent = await requireAgent(transaction, placer, body.agent_id, options.agentParam ?? 'agent_id', 'keep');
    const lead = body.lead_id === undefined ? undefined : await requireLead(transaction, placer, body.lead_id, 'lead_id');
    const line = await lineFor(context, transaction, placer, agent, body.from_phone_number_id);
    const { variables = {}, overrides } = body;
    const resolved = resolveForCall(context.engines, agent, {
      variables, overrides, lead, maxDurationSeconds: body.max_duration_seconds, now: new Date(context.clock.now()), phoneNumber: body.to,
    }, options.agentParam);
    await admitCall(context, transaction, {
      callId: options.id, accountId: placer.accountId, livemode: placer.livemode, direction: 'outbound', agentId: agent.id, models: modelsOf(resolved.agent), maxCostMicros: body.max_cost_micros,
    });
    context.liveCalls.mayPlace(placer);
    await write(context, transaction, { placer, body, options, agent, resolved, line });
    if (lead) await touchLastCall(transaction, placer, lead.id, new Date(context.clock.now()));
    await tellOnCommit(context, transaction, options.id, 'outboundCall');
    return { resolved, line, row: await requireCall(transaction, placer, options.id) };
  });
  return dial(context, placer, row, resolved, line);
}

/** From here on the call exists: whatever goes wrong ends it, and its row says so. */
async function dial(context: AppContext, placer: Placer, row: CallRow, { agent }: AgentForCall, { phoneNumberId: _number, ...line }: Line): Promise<CallRow> {
  const recordingPath = row.recording_channels === null ? undefined : await context.recordings.prepare(row.id);
  try {
    await context.liveCalls.place({
      callId: row.id, livemode: row.livemode, agent, to: row.to_address ?? '', from: null, sipTrunkId: null, trunk: null, ...line,
      ringTimeoutMs: row.ring_timeout_ms ?? RING_TIMEOUT_MS, maxCostMicros: row.max_cost_micros ?? undefined, ...(recordingPath === undefined ? {} : { recordingPath }),
    });
    return row;
  } catch (error) {
    const full = error instanceof ApiError && error.code === 'concurrency_limit';
    await endCall(context, row.id, {
      status: 'failed', endReason: full ? 'concurrency_limit' : 'internal_error', endDetail: error instanceof ApiError ? error.message : 'The call could not be dialled.',
      outcome: 'not_connected', endedAt: new Date(context.clock.now()), summary: NOT_MEASURED,
    });
    context.log.warn({ call: row.id, error: String(error) }, 'a placed call could not be dialled');
    return requireCall(context.db, placer, row.id);
  }
}

interface Placing { placer: Placer; body: PlaceCall; options: PlaceOptions; agent: AgentRow; resolved: AgentForCall; line: Line }

async function write(context: AppContext, db: Queryable, { placer, body, options, agent, resolved, line }: Placing): Promise<void> {
  const createdAt = new Date(context.clock.now());
  await insertCall(db, {
    id: options.id, accountId: placer.accountId, livemode: placer.livemode, nodeId: context.nodeId, direction: 'outbound', transport: 'sip', status: 'queued',
    agentId: agent.id, agentVersion: agent.version, phoneNumberId: line.phoneNumberId, sipTrunkId: line.sipTrunkId, from: line.from, to: body.to,
    leadId: body.lead_id, campaignId: options.campaignId, apiKeyId: placer.apiKeyId, metadata: body.metadata ?? {}, variables: body.variables ?? {},
    overrides: body.overrides, ringTimeoutMs: body.ring_timeout_ms ?? RING_TIMEOUT_MS, maxDurationSeconds: body.max_duration_seconds, maxCostMicros: body.max_cost_micros,
    test: options.test ?? false, createdAt, ...(resolved.recording.enabled ? { recordingChannels: resolved.recording.channels } : {}),
  });
  if (resolved.unresolved.length === 0) return;
  await insertLogEntry(db, options.id, { at: createdAt, source: 'session', event: 'merge_fields_unresolved', detail: { fields: resolved.unresolved } });
}

async function lineFor(context: AppContext, db: Queryable, placer: Placer, agent: AgentRow, phoneNumberId: string | undefined): Promise<Line> {
  const id = phoneNumberId ?? agent.definition.outbound_phone_number_id;
  if (id === null) {
    if (!placer.livemode) return {};
    throw new ApiError('no_outbound_number', undefined, { param: 'from_phone_number_id' });
  }
  const number = await requirePhoneNumber(db, placer, id, 'from_phone_number_id');
  const line = { phoneNumberId: number.id, from: number.phone_number };
  if (!placer.livemode) return line;
  if (!number.outbound_enabled) throw new ApiError('no_outbound_number', `The phone number ${number.phone_number} is not enabled for outbound calls.`, { param: 'from_phone_number_id' });
  const trunk = number.sip_trunk_id === null ? undefined : await requireTrunk(db, placer, number.sip_trunk_id, 'from_phone_number_id');
  if (!trunk?.enabled || trunk.direction === 'inbound') throw new ApiError('no_trunk', `No SIP trunk can carry calls from ${number.phone_number}: give it one that is enabled and outbound.`, { param: 'from_phone_number_id' });
  return { ...line, sipTrunkId: trunk.id, trunk: await dialTrunkOf(context, db, trunk) };
}
