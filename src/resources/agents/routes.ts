import type { App } from '../../api/app-type.ts';
import { listOf, readPage, toPage } from '../../api/pagination.ts';
import type { Recall } from '../../api/recall.ts';
import { Deleted, IdParams, iso, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { changeAgent, createAgent, deleteAgent, requireAgent } from './actions.ts';
import type { EngineCatalogue } from './engine-catalogue.ts';
import { Agent, AgentList, AgentVersion, CreateAgent, ListAgents, UpdateAgent } from './schema.ts';
import { listAgentRows, listAgentVersions, type AgentRow } from './store.ts';
import { voiceWarnings } from './voice.ts';

/** `/v1/agents`. */
export function agentRoutes(app: App, context: AppContext): void {
  const { db, keyring, engines } = context;
  const read = { scope: 'agents:read' } as const;
  const write = { scope: 'agents:write' } as const;

  const recall: Recall = async ({ principal, resourceId }) => present(await requireAgent(db, principal, resourceId), engines);

  app.post('/v1/agents', { config: { ...write, recall }, schema: { body: CreateAgent, querystring: NoQuery, response: { 201: Agent } } }, async (request, reply) =>
    reply.code(201).send(present(await createAgent(context, request.principal, request.body, request.resourceId), engines)));

  app.get('/v1/agents', { config: read, schema: { querystring: ListAgents, response: { 200: AgentList } } }, async (request) => {
    const page = readPage(keyring, request.query, 'agents', request.principal);
    const rows = await listAgentRows(db, request.principal.accountId, request.principal.livemode, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), (row) => present(row, engines));
  });

  app.get('/v1/agents/:id', { config: read, schema: { params: IdParams, querystring: NoQuery, response: { 200: Agent } } }, async (request) =>
    present(await requireAgent(db, request.principal, request.params.id), engines));

  app.patch('/v1/agents/:id', { config: write, schema: { params: IdParams, querystring: NoQuery, body: UpdateAgent, response: { 200: Agent } } }, async (request) =>
    present(await changeAgent(context, request.principal, request.params.id, request.body), engines));

  app.delete('/v1/agents/:id', { config: write, schema: { params: IdParams, querystring: NoQuery, response: { 200: Deleted } } }, async (request) => {
    await deleteAgent(context, request.principal, request.params.id);
    return { id: request.params.id, object: 'agent', deleted: true as const };
  });

  app.get('/v1/agents/:id/versions', { config: read, schema: { params: IdParams, querystring: NoQuery, response: { 200: listOf(AgentVersion) } } }, async (request) => {
    const { id } = await requireAgent(db, request.principal, request.params.id);
    const rows = await listAgentVersions(db, id);
    const data = rows.map(({ version, definition, created_at }) => ({ object: 'agent_version' as const, agent_id: id, version, ...definition, created_at: iso(created_at) }));
    return { object: 'list' as const, data, has_more: false, next_cursor: null, previous_cursor: null };
  });
}

function present(row: AgentRow, engines: EngineCatalogue): Agent {
  const { definition } = row;
  const warnings = voiceWarnings(definition.voice, definition.language, engines);
  return {
    id: row.id, object: 'agent', livemode: row.livemode, version: row.version, ...definition, engine: 'classic',
    ...(warnings.length === 0 ? {} : { warnings }), created_at: iso(row.created_at), updated_at: iso(row.updated_at),
  };
}
