import { ApiError } from '../../api/errors.ts';
import type { Principal } from '../../api/principal.ts';
import type { AppContext } from '../../context.ts';
import type { Queryable } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import { isInLiveCall } from '../calls/in-use.ts';
import { detachAgent, requirePhoneNumber } from '../phone-numbers/lookup.ts';
import type { AgentDefinition, CreateAgent, UpdateAgent } from './schema.ts';
import { findAgent, insertAgent, markAgentDeleted, updateAgent, type AgentRow } from './store.ts';
import { fillVoice } from './voice.ts';

const SILENCE = { reminder_after_ms: 10_000, reminder_text: 'Are you still there?', max_reminders: 1, hang_up_after_ms: 30_000 };
const RECORDING = { enabled: true, channels: 'stereo', consent_message: null } as const;
const DEFAULT_LANGUAGE = 'en-US';
const DEFAULTS = {
  description: null, knowledge_base_id: null, outbound_phone_number_id: null, appointment_booking_enabled: false, protect_opening: false,
  max_duration_seconds: 3600, variables: {},
};

export type { AgentRow } from './store.ts';

type AgentContext = Pick<AppContext, 'db' | 'engines' | 'clock'>;

/** Throws ApiError as `toDefinition` does. */
export async function createAgent(context: AgentContext, owner: { accountId: string; livemode: boolean }, body: CreateAgent, id?: string): Promise<AgentRow> {
  const now = context.clock.now();
  const definition = toDefinition(context, body);
  return context.db.transaction(async (transaction) => {
    await checkReferences(transaction, owner, body);
    return insertAgent(transaction, { id: id ?? newId(now), accountId: owner.accountId, livemode: owner.livemode, definition, now: new Date(now) });
  });
}

/** The agent `id` names, for a caller of its own account and mode. Throws ApiError `agent_not_found`, `key_mode_mismatch`. */
export async function requireAgent(db: Queryable, owner: { accountId: string; livemode: boolean }, id: string, param = 'id', lock: 'lock' | 'read' = 'read'): Promise<AgentRow> {
  const row = await findAgent(db, owner.accountId, id, lock);
  if (!row) throw new ApiError('agent_not_found', `No agent ${id} in this account.`, { param });
  if (row.livemode !== owner.livemode) throw new ApiError('key_mode_mismatch', `Agent ${id} belongs to ${row.livemode ? 'live' : 'test'} mode.`, { param });
  return row;
}

/** Changes the fields that were sent; objects are replaced whole. */
export function changeAgent(context: AgentContext, principal: Principal, id: string, body: UpdateAgent): Promise<AgentRow> {
  return context.db.transaction(async (transaction) => {
    const row = await requireAgent(transaction, principal, id, 'id', 'lock');
    if (Object.keys(body).length === 0) return row;
    await checkReferences(transaction, principal, body);
    const definition = toDefinition(context, { ...followLanguage(row.definition, body), ...body });
    return updateAgent(transaction, row.id, definition, new Date(context.clock.now()));
  });
}

/** Throws ApiError `agent_in_use` while a live call has it. */
export function deleteAgent(context: AgentContext, principal: Principal, id: string): Promise<void> {
  return context.db.transaction(async (transaction) => {
    const row = await requireAgent(transaction, principal, id, 'id', 'lock');
    if (await isInLiveCall(transaction, 'agent_id', row.id)) throw new ApiError('agent_in_use', undefined, { param: 'id' });
    const now = new Date(context.clock.now());
    await markAgentDeleted(transaction, row.id, now);
    await detachAgent(transaction, row.id, now);
  });
}

/** A voice that was filled in with the agent's language follows it. */
function followLanguage(definition: AgentDefinition, { language }: UpdateAgent): AgentDefinition {
  const { voice } = definition;
  if (!language || voice.stt?.language !== definition.language) return definition;
  return { ...definition, voice: { ...voice, stt: { ...voice.stt, language } } };
}

/** Fills in what a body leaves open. Throws ApiError `conflicting_voice`, `unknown_model`, `invalid_parameter`. */
function toDefinition({ engines }: AgentContext, body: CreateAgent): AgentDefinition {
  const given = withoutNulls(body);
  const language = given.language ?? DEFAULT_LANGUAGE;
  const timezone = given.timezone ?? 'UTC';
  if (!isTimezone(timezone)) throw new ApiError('invalid_parameter', `timezone must be an IANA name such as Europe/Berlin, not ${timezone}.`, { param: 'timezone' });
  return {
    ...DEFAULTS,
    ...given,
    voice: fillVoice(given.voice, language, engines),
    language,
    timezone,
    silence: { ...SILENCE, ...given.silence },
    recording: { ...RECORDING, ...given.recording },
  };
}

/** Null means the default, as absence does. */
function withoutNulls<Body extends object>(body: Body): { [Key in keyof Body]: Exclude<Body[Key], null> } {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)) as { [Key in keyof Body]: Exclude<Body[Key], null> };
}

/** What the body names must exist, in the same account and mode. */
async function checkReferences(db: Queryable, owner: { accountId: string; livemode: boolean }, body: UpdateAgent): Promise<void> {
  if (body.knowledge_base_id) throw new ApiError('knowledge_base_not_found', `No knowledge base ${body.knowledge_base_id} in this account.`, { param: 'knowledge_base_id' });
  if (body.outbound_phone_number_id) await requirePhoneNumber(db, owner, body.outbound_phone_number_id, 'outbound_phone_number_id');
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
