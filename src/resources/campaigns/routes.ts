import type { App } from '../../api/app-type.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import type { Recall } from '../../api/recall.ts';
import { Deleted, IdParams, NoBody, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { changeCampaign, createCampaign, deleteCampaign, requireCampaign } from './actions.ts';
import { pauseCampaign, runCampaign, stopCampaign } from './moves.ts';
import { presentCampaign, presentQueued } from './present.ts';
import { CampaignWatch } from './progress.ts';
import { listQueue } from './queue-store.ts';
import { Campaign, CampaignLeadList, CampaignList, CreateCampaign, ListCampaignLeads, ListCampaigns, UpdateCampaign } from './schema.ts';
import { listCampaignRows } from './store.ts';

/** 100 000 lead ids and the rest. */
const MAX_CREATE_BYTES = 4 * 1024 * 1024;
const NAMED = ['agent_not_found', 'phone_number_not_found', 'lead_not_found', 'key_mode_mismatch'] as const;

/** `/v1/campaigns`. */
export function campaignRoutes(app: App, context: AppContext): void {
  const { db, keyring } = context;
  const read = { scope: 'campaigns:read' } as const;
  const write = { scope: 'campaigns:write' } as const;
  const recall: Recall = async ({ principal, resourceId }) => presentCampaign(await requireCampaign(db, principal, resourceId));

  app.post('/v1/campaigns', {
    bodyLimit: MAX_CREATE_BYTES,
    config: { ...write, recall, errors: NAMED },
    schema: {
      summary: 'Create a campaign', description: 'One agent calls a list of leads. The list is made now, from lead_ids or from the leads that lead_filter finds. It starts when you start it, or at scheduled_at.',
      body: CreateCampaign, querystring: NoQuery, response: { 201: Campaign },
    },
  }, async (request, reply) => reply.code(201).send(presentCampaign(await createCampaign(context, request.principal, request.body, request.resourceId))));

  app.get('/v1/campaigns', { config: read, schema: { summary: 'List campaigns', querystring: ListCampaigns, response: { 200: CampaignList } } }, async ({ query, principal }) => {
    const { limit: _limit, starting_after: _after, ending_before: _before, ...filters } = query;
    const page = readPage(keyring, query, 'campaigns', principal, filters);
    const rows = await listCampaignRows(db, principal.accountId, principal.livemode, filters, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), presentCampaign);
  });

  app.get('/v1/campaigns/:id', { config: read, schema: { summary: 'Retrieve a campaign', params: IdParams, querystring: NoQuery, response: { 200: Campaign } } }, async ({ params, principal }) =>
    presentCampaign(await requireCampaign(db, principal, params.id)));

  app.patch('/v1/campaigns/:id', {
    config: { ...write, errors: [...NAMED, 'campaign_in_progress', 'invalid_campaign_state'] },
    schema: {
      summary: 'Update a campaign', description: 'While it is not running. Its leads can be replaced until it is first started; scheduled_at can change while it is idle or scheduled.',
      params: IdParams, querystring: NoQuery, body: UpdateCampaign, response: { 200: Campaign },
    },
  }, async ({ params, principal, body }) => presentCampaign(await changeCampaign(context, principal, params.id, body)));

  app.delete('/v1/campaigns/:id', {
    config: { ...write, errors: ['campaign_in_progress'] },
    schema: { summary: 'Delete a campaign', description: 'While it is not running. Its calls stay.', params: IdParams, querystring: NoQuery, response: { 200: Deleted } },
  }, async ({ params, principal }) => {
    await deleteCampaign(context, principal, params.id);
    return { id: params.id, object: 'campaign', deleted: true as const };
  });

  moveRoutes(app, context);
  watchRoutes(app, context);
}

const MOVES = {
  start: { summary: 'Start a campaign', description: 'From idle, scheduled, paused or stopped. One that has nobody left to call is completed at once.' },
  resume: { summary: 'Resume a campaign', description: 'From paused.' },
  stop: { summary: 'Stop a campaign', description: 'From any status but completed. No new calls are placed; those in flight go on to their end.' },
  pause: { summary: 'Pause a campaign', description: 'No new calls are placed, and those in flight are hung up: their leads become pending again. A campaign that is neither scheduled nor running keeps its status.' },
} as const;
const MOVE_ERRORS = { start: ['invalid_campaign_state', 'agent_not_found'], resume: ['invalid_campaign_state', 'agent_not_found'], stop: ['invalid_campaign_state'], pause: [] } as const;

function moveRoutes(app: App, context: AppContext): void {
  const recall: Recall = async ({ principal, params: { id = '' } }) => presentCampaign(await requireCampaign(context.db, principal, id));
  for (const move of ['start', 'resume', 'stop', 'pause'] as const) {
    app.post(`/v1/campaigns/:id/${move}`, {
      config: { scope: 'campaigns:write', recall, errors: MOVE_ERRORS[move] },
      schema: { ...MOVES[move], params: IdParams, querystring: NoQuery, body: NoBody, response: { 200: Campaign } },
    }, async ({ params: { id }, principal }) => {
      if (move === 'pause') return presentCampaign(await pauseCampaign(context, principal, id));
      return presentCampaign(await (move === 'stop' ? stopCampaign(context, principal, id) : runCampaign(context, principal, id, move)));
    });
  }
}

function watchRoutes(app: App, context: AppContext): void {
  const { db, keyring } = context;
  const watch = new CampaignWatch(context);
  app.addHook('preClose', () => watch.close());

  app.get('/v1/campaigns/:id/leads', {
    config: { scope: 'campaigns:read' },
    schema: { summary: 'List a campaign\'s leads', description: 'In the order of the list.', params: IdParams, querystring: ListCampaignLeads, response: { 200: CampaignLeadList } },
  }, async ({ params, query, principal }) => {
    const campaign = await requireCampaign(db, principal, params.id);
    const page = readPage(keyring, query, `campaigns/${campaign.id}/leads`, principal, { status: query.status });
    const rows = await listQueue(db, campaign.id, query.status, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.position, id: row.lead_id }), presentQueued);
  });

  app.get('/v1/campaigns/:id/events', {
    exposeHeadRoute: false,
    config: { scope: 'campaigns:read', produces: ['text/event-stream'] },
    schema: {
      summary: 'Watch a campaign\'s progress',
      description: 'Server-sent events: `progress` with campaign_id, status, paused_reason, lead_count and counts at once and with every change (at most four a second), a comment every 15 s, and `completed` at the end.',
      params: IdParams, querystring: NoQuery,
    },
  }, async ({ params, principal }, reply) => {
    const campaign = await requireCampaign(db, principal, params.id);
    return reply.type('text/event-stream; charset=utf-8').header('X-Accel-Buffering', 'no').send(watch.open(campaign));
  });
}
