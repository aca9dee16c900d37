import { newId } from '../../../src/db/id.ts';
import type { AccountEvent } from '../../../src/events/event.ts';
import type { AttemptResult } from '../../../src/resources/campaigns/attempt.ts';
import { handleCampaignJobs } from '../../../src/resources/campaigns/jobs.ts';
import { claimLeads, noteCall, settleLead, type ClaimedLead } from '../../../src/resources/campaigns/queue.ts';
import { insertNewLeads } from '../../../src/resources/leads/store.ts';
import { startApiHarness, type ApiHarness } from '../../support/api-harness.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
const BATCH = 20_000;
export const COUNTS = { pending: 0, in_flight: 0, completed: 0, failed: 0, skipped: 0 };

/** The API with an agent, and ways to make leads and campaigns quickly. */
export interface CampaignRig {
  api: ApiHarness;
  agentId: string;
  /** Ids of new leads, in order. */
  leads(count: number, set?: { tags?: string[]; timezone?: string; doNotCall?: boolean; livemode?: boolean }): Promise<string[]>;
  /** Creates a campaign, of one new lead unless `fields` says. */
  campaign(fields?: Record<string, unknown>): Promise<{ id: string }>;
  started(fields?: Record<string, unknown>): Promise<string>;
  move(id: string, move: 'start' | 'pause' | 'resume' | 'stop'): ReturnType<ApiHarness['call']>;
  get(id: string): Promise<Record<string, unknown>>;
  rows(id: string, query?: string): Promise<Record<string, unknown>[]>;
  claim(id: string, most?: number, node?: string): Promise<ClaimedLead[]>;
  /** Claims a lead and says that it is being called. */
  dial(id: string, node?: string): Promise<ClaimedLead & { callId: string }>;
  settle(claimed: ClaimedLead, result: AttemptResult, costMicros?: number): Promise<boolean>;
  /** The events that said it was completed. */
  completions(id: string): AccountEvent[];
}

export async function campaignRig(): Promise<CampaignRig> {
  const api = await startApiHarness();
  handleCampaignJobs(api.context);
  // Making leads is not what is looked at, and most of its time is this index.
  await api.context.db.query('DROP INDEX IF EXISTS lead_search');
  const agentId = String((await api.call('POST', '/v1/agents', { body: { name: 'A', system_prompt: 'P', opening_message: 'O', timezone: 'Europe/Berlin' } })).body.id);
  let line = 0;
  const rig: CampaignRig = {
    api, agentId,
    async leads(count, { tags = [], timezone, doNotCall = false, livemode = true } = {}) {
      const ids = Array.from({ length: count }, () => newId(api.clock.now()));
      const all = ids.map((id) => ({
        id, name: 'Lead', phone_number: `+1415${String(5_000_000 + line++).padStart(7, '0')}`, tags, do_not_call: doNotCall, ...(timezone === undefined ? {} : { timezone }),
      }));
      for (let from = 0; from < count; from += BATCH) await insertNewLeads(api.context.db, { accountId: api.account.id, livemode }, all.slice(from, from + BATCH), new Date(api.clock.now()));
      return ids;
    },
    async campaign(fields = {}) {
      const body = { name: 'C', agent_id: agentId, ...('lead_ids' in fields || 'lead_filter' in fields ? {} : { lead_ids: await rig.leads(1) }), ...fields };
      const made = await api.call('POST', '/v1/campaigns', { body });
      if (made.status !== 201) throw new Error(JSON.stringify(made.body));
      return made.body;
    },
    async started(fields) {
      const { id } = await rig.campaign(fields);
      await rig.move(id, 'start');
      return id;
    },
    move: (id, move) => api.call('POST', `/v1/campaigns/${id}/${move}`),
    get: async (id) => (await api.call('GET', `/v1/campaigns/${id}`)).body,
    rows: async (id, query = '') => (await api.call('GET', `/v1/campaigns/${id}/leads${query}`)).body.data,
    claim: (id, most = 1, node = 'node_a') => claimLeads(api.context, id, { most, node, leaseUntil: new Date(api.clock.now() + 5 * MINUTE_MS) }),
    async dial(id, node) {
      const [claimed] = await rig.claim(id, 1, node);
      if (!claimed) throw new Error('no lead could be claimed');
      const callId = newId(api.clock.now());
      if (!(await noteCall(api.context, claimed.lease, callId))) throw new Error('the call may not be placed');
      return { ...claimed, callId };
    },
    settle: ({ lease }, result, costMicros = 0) => settleLead(api.context, lease, { result, costMicros }),
    completions: (id) => api.events.filter(({ event, data }) => event === 'campaignCompleted' && data['id'] === id),
  };
  return rig;
}
