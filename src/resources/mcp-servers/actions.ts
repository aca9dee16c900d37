import { ApiError } from '../../api/errors.ts';
import type { AppContext } from '../../context.ts';
import { isMcpServerInUse } from '../agents/in-use.ts';
import { McpFault, readTools, type OfferedTool } from './connection.ts';
import { openHeaders, sealHeaders } from './header-secrets.ts';
import { requireMcpServer } from './lookup.ts';
import type { CreateMcpServer, UpdateMcpServer } from './schema.ts';
import { deleteMcpServerRow, insertMcpServer, updateMcpServer, type McpServerRow, type McpToolRow } from './store.ts';

interface Owner { accountId: string; livemode: boolean }
type McpContext = Pick<AppContext, 'db' | 'clock' | 'guard' | 'keyring' | 'log'>;

const DEFAULTS: Pick<McpServerRow, 'transport' | 'enabled' | 'tool_timeout_ms'> = { transport: 'streamable_http', enabled: true, tool_timeout_ms: 10_000 };
/** The connection's own: the transport sets them, or they decide where a request ends. */
const FORBIDDEN_HEADERS = new Set([
  'host', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'te', 'trailer', 'expect',
  'accept', 'accept-encoding', 'proxy-authorization', 'mcp-session-id', 'mcp-protocol-version', 'last-event-id',
]);
const UNKNOWN = { status: 'unknown', last_error: null } as const;

/** Throws ApiError `unsafe_url`, `invalid_parameter`. Connects to nothing yet. */
export async function createMcpServer(context: McpContext, owner: Owner, body: CreateMcpServer, id: string): Promise<McpServerRow> {
  await requireSafeUrl(context, body.url);
  const headers = checkedHeaders(body.headers ?? {});
  const now = new Date(context.clock.now());
  return context.db.transaction((transaction) => insertMcpServer(transaction, {
    id, account_id: owner.accountId, livemode: owner.livemode, name: body.name, url: body.url, transport: body.transport ?? DEFAULTS.transport,
    headers: sealHeaders(context.keyring, id, headers), headers_set: Object.keys(headers), enabled: body.enabled ?? DEFAULTS.enabled, tools: [],
    tool_timeout_ms: body.tool_timeout_ms ?? DEFAULTS.tool_timeout_ms, ...UNKNOWN, refreshed_at: null, created_at: now, updated_at: now,
  }));
}

/** Changes the fields that were sent; `headers` are replaced whole, null clears them. Throws as `createMcpServer` does, and `missing_parameter`. */
export async function changeMcpServer(context: McpContext, owner: Owner, id: string, body: UpdateMcpServer): Promise<McpServerRow> {
  if (body.url !== undefined) await requireSafeUrl(context, body.url);
  const headers = body.headers === undefined ? undefined : checkedHeaders(body.headers ?? {});
  return context.db.transaction(async (transaction) => {
    const row = await requireMcpServer(transaction, owner, id, 'id', 'lock');
    if (Object.keys(body).length === 0) return row;
    if (headers === undefined) requireSameOrigin(row, body.url ?? row.url);
    const changed: McpServerRow = {
      ...row, ...settings(row, body), tools: switched(row.tools, body.tools ?? []), updated_at: new Date(context.clock.now()),
      ...(headers === undefined ? {} : { headers: sealHeaders(context.keyring, id, headers), headers_set: Object.keys(headers) }),
    };
    const sameConnection = headers === undefined && changed.url === row.url && changed.transport === row.transport;
    return updateMcpServer(transaction, sameConnection ? changed : { ...changed, ...UNKNOWN });
  });
}

/** Throws ApiError `mcp_server_in_use` while an agent lists it. */
export function deleteMcpServer(context: McpContext, owner: Owner, id: string): Promise<void> {
  return context.db.transaction(async (transaction) => {
    await requireMcpServer(transaction, owner, id, 'id', 'lock');
    if (await isMcpServerInUse(transaction, owner.accountId, id)) {
      throw new ApiError('mcp_server_in_use', 'An agent uses the MCP server. Take it out of the agent\'s mcp_server_ids first.', { param: 'id' });
    }
    await deleteMcpServerRow(transaction, owner.accountId, id);
  });
}

/** Connects and reads the tools; how it went is in the row. A server that was changed meanwhile stays as it was changed. */
export async function refreshMcpServer(context: McpContext, owner: Owner, id: string): Promise<McpServerRow> {
  const row = await requireMcpServer(context.db, owner, id);
  const found = await connect(context, row);
  return context.db.transaction(async (transaction) => {
    const now = await requireMcpServer(transaction, owner, id, 'id', 'lock');
    if (!isSameConnection(row, now)) return now;
    const at = new Date(context.clock.now());
    const outcome = 'fault' in found
      ? { status: 'error' as const, last_error: found.fault }
      : { status: 'connected' as const, last_error: null, tools: merged(found.tools, now.tools) };
    return updateMcpServer(transaction, { ...now, ...outcome, refreshed_at: at, updated_at: at });
  });
}

async function connect({ guard, keyring, log }: McpContext, row: McpServerRow): Promise<{ tools: OfferedTool[] } | { fault: string }> {
  try {
    return { tools: await readTools(guard, { url: row.url, transport: row.transport, headers: openHeaders(keyring, row) }) };
  } catch (error) {
    if (!(error instanceof McpFault)) throw error;
    log.info({ mcp_server: row.id, reason: error.message }, 'an MCP server could not be used');
    return { fault: `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.` };
  }
}

/** What was sent, else what was; null means the default. */
function settings(row: McpServerRow, body: UpdateMcpServer): Pick<McpServerRow, 'name' | 'url' | keyof typeof DEFAULTS> {
  const sent = Object.fromEntries(Object.entries(DEFAULTS).map(([name, otherwise]) => {
    const value = body[name as keyof typeof DEFAULTS];
    return [name, value === undefined ? row[name as keyof typeof DEFAULTS] : (value ?? otherwise)];
  })) as typeof DEFAULTS;
  return { name: body.name ?? row.name, url: body.url ?? row.url, ...sent };
}

function isSameConnection(a: McpServerRow, b: McpServerRow): boolean {
  const sameHeaders = a.headers === null ? b.headers === null : b.headers !== null && a.headers.equals(b.headers);
  return a.url === b.url && a.transport === b.transport && sameHeaders;
}

/** A tool that was switched off stays off. */
function merged(offered: OfferedTool[], before: McpToolRow[]): McpToolRow[] {
  const off = new Set(before.filter(({ enabled }) => !enabled).map(({ name }) => name));
  return offered.map((tool) => ({ ...tool, enabled: !off.has(tool.name) }));
}

/** Whoever may change a server does not get to see where its secrets open. Throws ApiError `missing_parameter`. */
function requireSameOrigin(row: McpServerRow, url: string): void {
  if (row.headers === null || new URL(url).origin === new URL(row.url).origin) return;
  throw new ApiError('missing_parameter', 'The url leads to another host, which the headers kept here are not for: send headers with it, or null for none.', { param: 'headers' });
}

function switched(tools: McpToolRow[], switches: readonly { name: string; enabled: boolean }[]): McpToolRow[] {
  const wanted = new Map(switches.map(({ name, enabled }) => [name, enabled]));
  switches.forEach(({ name }, position) => {
    if (!tools.some((tool) => tool.name === name)) {
      throw new ApiError('invalid_parameter', `The server offered no tool ${name}; POST …/refresh reads its tools again.`, { param: `tools[${position}].name` });
    }
  });
  return tools.map((tool) => ({ ...tool, enabled: wanted.get(tool.name) ?? tool.enabled }));
}

function checkedHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const seen = new Set<string>();
  for (const name of Object.keys(headers)) {
    const lower = name.toLowerCase();
    if (FORBIDDEN_HEADERS.has(lower)) throw new ApiError('invalid_parameter', `The connection sets ${name} itself.`, { param: `headers.${name}` });
    if (seen.has(lower)) throw new ApiError('invalid_parameter', `${name} is there twice.`, { param: `headers.${name}` });
    seen.add(lower);
  }
  return headers;
}

async function requireSafeUrl({ guard }: McpContext, text: string): Promise<void> {
  const url = URL.parse(text);
  const fault = await guard.fault(text) ?? (url?.protocol !== 'https:' && !(url && guard.allows(url)) ? 'must be an https address' : undefined);
  if (fault !== undefined) throw new ApiError('unsafe_url', `url ${fault}.`, { param: 'url' });
}
