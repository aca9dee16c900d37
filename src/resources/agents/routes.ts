import type { App } from '../../api/app-type.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import type { Recall } from '../../api/recall.ts';
import { Deleted, IdParams, iso, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { changeAgent, createAgent, deleteAgent, requireAgent } from './actions.ts';
import { engineOf } from '../engines/engine-of.ts';
import type { EngineOffer } from '../engines/engine-offer.ts';
import type { EngineCatalogue } from './engine-catalogue.ts';
import { Agent, AgentList, AgentVersionList, CreateAgent, ListAgents, UpdateAgent, type AgentVersion } from './schema.ts';
import { listAgentRows, listAgentVersions, positionOfVersion, type AgentRow, type AgentVersionRow } from './store.ts';
import { voiceWarnings } from './voice.ts';

const BODY_ERRORS = ['unknown_model', 'conflicting_voice', 'unsafe_url', 'knowledge_base_not_found', 'mcp_server_not_found', 'phone_number_not_found', 'key_mode_mismatch'] as const;

/** `/v1/agents`. */
export function agentRoutes(app: App, context: AppContext): void {
  const { db, keyring, engines } = context;
  const read = { scope: 'agents:read' } as const;
  const write = { scope: 'agents:write' } as const;

  const recall: Recall = async ({ principal, resourceId }) => present(await requireAgent(db, principal, resourceId), engines);

  app.post('/v1/agents', {
    config: { ...write, recall, errors: BODY_ERRORS },
    schema: { summary: 'Create an agent', description: 'What is left open gets the installation\'s defaults.', body: CreateAgent, querystring: NoQuery, response: { 201: Agent } },
  }, async (request, reply) =>
    reply.code(201).send(present(await createAgent(context, request.principal, request.body, request.resourceId), engines)));

  app.get('/v1/agents', { config: read, schema: { summary: 'List agents', querystring: ListAgents, response: { 200: AgentList } } }, async (request) => {
    const page = readPage(keyring, request.query, 'agents', request.principal);
    const rows = await listAgentRows(db, request.principal.accountId, request.principal.livemode, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), (row) => present(row, engines));
  });

  app.get('/v1/agents/:id', {
    config: { ...read, errors: ['agent_not_found', 'key_mode_mismatch'] },
    schema: { summary: 'Read an agent', params: IdParams, querystring: NoQuery, response: { 200: Agent } },
  }, async (request) => present(await requireAgent(db, request.principal, request.params.id), engines));

  app.patch('/v1/agents/:id', {
    config: { ...write, errors: ['agent_not_found', ...BODY_ERRORS] },
    schema: {
      summary: 'Change an agent', description: 'Only the fields that are sent change; objects and arrays are replaced whole, null goes back to the default. Each change makes a new version; calls already running keep theirs.',
      params: IdParams, querystring: NoQuery, body: UpdateAgent, response: { 200: Agent },
    },
  }, async (request) => present(await changeAgent(context, request.principal, request.params.id, request.body), engines));

  app.delete('/v1/agents/:id', {
    config: { ...write, errors: ['agent_not_found', 'key_mode_mismatch', 'agent_in_use'] },
    schema: { summary: 'Delete an agent', params: IdParams, querystring: NoQuery, response: { 200: Deleted } },
  }, async (request) => {
    await deleteAgent(context, request.principal, request.params.id);
    return { id: request.params.id, object: 'agent', deleted: true as const };
  });

  app.get('/v1/agents/:id/versions', {
    config: { ...read, errors: ['agent_not_found', 'key_mode_mismatch'] },
    schema: { summary: 'List an agent\'s versions', params: IdParams, querystring: ListAgents, response: { 200: AgentVersionList } },
  }, async (request) => {
    const { id } = await requireAgent(db, request.principal, request.params.id);
    const page = readPage(keyring, request.query, `agents/${id}/versions`, request.principal);
    const rows = await listAgentVersions(db, id, page);
    return toPage(keyring, page, rows, positionOfVersion, (row) => presentVersion(id, row));
  });
}

function present(row: AgentRow, engines: EngineCatalogue & EngineOffer): Agent {
  const { definition } = row;
  const warnings = voiceWarnings(definition.voice, definition.language, engines);
  return {
    id: row.id, object: 'agent', livemode: row.livemode, version: row.version, ...definition, engine: engineOf(definition.voice, engines),
    ...(warnings.length === 0 ? {} : { warnings }), created_at: iso(row.created_at), updated_at: iso(row.updated_at),
  };
}

function presentVersion(agentId: string, { version, definition, created_at }: AgentVersionRow): AgentVersion {
  return { object: 'agent_version', agent_id: agentId, version, ...definition, created_at: iso(created_at) };
}
