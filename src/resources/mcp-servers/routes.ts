import type { App } from '../../api/app-type.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import type { Recall } from '../../api/recall.ts';
import { Deleted, IdParams, iso, NoBody, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { changeMcpServer, createMcpServer, deleteMcpServer, refreshMcpServer } from './actions.ts';
import { requireMcpServer } from './lookup.ts';
import { CreateMcpServer, ListMcpServers, McpServer, McpServerList, UpdateMcpServer } from './schema.ts';
import { listMcpServerRows, type McpServerRow } from './store.ts';

/** `/v1/mcp-servers`. */
export function mcpServerRoutes(app: App, context: AppContext): void {
  const { db, keyring } = context;
  const read = { scope: 'agents:read' } as const;
  const write = { scope: 'agents:write' } as const;

  const recallNew: Recall = async ({ principal, resourceId }) => present(await requireMcpServer(db, principal, resourceId));
  const recallNamed: Recall = async ({ principal, params: { id = '' } }) => present(await requireMcpServer(db, principal, id));

  app.post('/v1/mcp-servers', {
    config: { ...write, recall: recallNew, errors: ['unsafe_url'] },
    schema: { summary: 'Add an MCP server', description: 'Its tools are read by POST …/refresh.', body: CreateMcpServer, querystring: NoQuery, response: { 201: McpServer } },
  }, async (request, reply) => reply.code(201).send(present(await createMcpServer(context, request.principal, request.body, request.resourceId))));

  app.get('/v1/mcp-servers', {
    config: read,
    schema: { summary: 'List MCP servers', querystring: ListMcpServers, response: { 200: McpServerList } },
  }, async ({ query, principal }) => {
    const page = readPage(keyring, query, 'mcp-servers', principal);
    const rows = await listMcpServerRows(db, principal.accountId, principal.livemode, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), present);
  });

  app.get('/v1/mcp-servers/:id', {
    config: { ...read, errors: ['mcp_server_not_found'] },
    schema: { summary: 'Read an MCP server', params: IdParams, querystring: NoQuery, response: { 200: McpServer } },
  }, async ({ params, principal }) => present(await requireMcpServer(db, principal, params.id)));

  app.patch('/v1/mcp-servers/:id', {
    config: { ...write, errors: ['mcp_server_not_found', 'unsafe_url'] },
    schema: { summary: 'Change an MCP server', description: 'Only the fields that are sent change. A url with another scheme, host or port needs its headers sent again, or null.', params: IdParams, querystring: NoQuery, body: UpdateMcpServer, response: { 200: McpServer } },
  }, async ({ params, principal, body }) => present(await changeMcpServer(context, principal, params.id, body)));

  app.delete('/v1/mcp-servers/:id', {
    config: { ...write, errors: ['mcp_server_not_found', 'mcp_server_in_use'] },
    schema: { summary: 'Delete an MCP server', description: 'Refused while an agent lists it.', params: IdParams, querystring: NoQuery, response: { 200: Deleted } },
  }, async ({ params, principal }) => {
    await deleteMcpServer(context, principal, params.id);
    return { id: params.id, object: 'mcp_server', deleted: true as const };
  });

  app.post('/v1/mcp-servers/:id/refresh', {
    config: { ...write, recall: recallNamed, errors: ['mcp_server_not_found'] },
    schema: {
      summary: 'Read an MCP server\'s tools', description: 'Connects now, for at most 10 s; how it went is in status and last_error.',
      params: IdParams, querystring: NoQuery, body: NoBody, response: { 200: McpServer },
    },
  }, async ({ params, principal }) => present(await refreshMcpServer(context, principal, params.id)));
}

function present(row: McpServerRow): McpServer {
  return {
    id: row.id, object: 'mcp_server', livemode: row.livemode, name: row.name, url: row.url, transport: row.transport, headers_set: row.headers_set, enabled: row.enabled,
    tools: row.tools, tool_timeout_ms: row.tool_timeout_ms, status: row.status, last_error: row.last_error, refreshed_at: iso(row.refreshed_at),
    created_at: iso(row.created_at), updated_at: iso(row.updated_at),
  };
}
