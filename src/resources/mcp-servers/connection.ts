import type { Client, Transport } from '@modelcontextprotocol/client';
import type { AddressGuard } from '../../events/address-guard.ts';
import { AnswerTooLargeError, faultCodeOf, openSafeFetch, type SafeFetch } from '../../events/safe-fetch.ts';
import { withoutSecrets } from './header-secrets.ts';

/** Where an MCP server is and how to talk to it. */
export interface McpAddress { url: string; transport: 'streamable_http' | 'sse'; headers: Readonly<Record<string, string>> }

/** A tool as its server describes it. */
export interface OfferedTool { name: string; description: string; input_schema: Record<string, unknown> }

/** Why a server cannot be used, in words; never with anything that it sent. */
export class McpFault extends Error {
  override readonly name = 'McpFault';
}

const CLIENT = { name: 'Wirevoice', version: '1.0.0' };
const CONNECT_TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const MAX_TOOLS = 100;
const MAX_TOOLS_BYTES = 256 * 1024;
const MAX_PAGES = 20;
const MAX_TOOL_NAME = 200;

type Sdk = Awaited<ReturnType<typeof loadSdk>>;

/** Loaded when it is first needed: most of the time and memory that it takes would be the start's. */
function loadSdk() {
  return import('@modelcontextprotocol/client');
}

/** Connects, reads the list of tools, and closes. Throws McpFault. */
export function readTools(guard: AddressGuard, address: McpAddress, timeoutMs = CONNECT_TIMEOUT_MS): Promise<OfferedTool[]> {
  return withMcpClient(guard, address, timeoutMs, async (client, signal) => {
    const { tools } = await client.listTools(undefined, { signal, timeout: timeoutMs });
    // Not before it is known to be of a size that can be gone through.
    const offered = checked(tools.map(({ name, description, inputSchema }) => ({ name, description: description ?? '', input_schema: inputSchema })));
    return offered.map((tool) => withoutSecrets(tool, address.headers));
  });
}

/**
 * Connects to a checked address and hands the client to `work`; whatever is still open after it, or after `timeoutMs`
 * altogether, is closed. Throws McpFault.
 */
export async function withMcpClient<Result>(guard: AddressGuard, address: McpAddress, timeoutMs: number, work: (client: Client, signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const connection = openSafeFetch(guard, { maxAnswerBytes: MAX_ANSWER_BYTES, connectTimeoutMs: timeoutMs });
  let connectionError: unknown;
  // The SDK does not always say what became of the connection.
  const fetch: SafeFetch['fetch'] = (url, init) => connection.fetch(url, init).catch((error: unknown) => {
    connectionError = error;
    throw error;
  });
  const sdk = await loadSdk();
  const client = new sdk.Client(CLIENT, { versionNegotiation: { mode: 'auto' }, listMaxPages: MAX_PAGES });
  const deadline = AbortSignal.timeout(timeoutMs);
  const expired = new Promise<never>((_resolve, reject) => { deadline.addEventListener('abort', () => reject(deadline.reason as Error)); });
  const run = async (): Promise<Result> => {
    await client.connect(transportFor(sdk, address, fetch), { signal: deadline, timeout: timeoutMs });
    return work(client, deadline);
  };
  try {
    return await Promise.race([run(), expired]);
  } catch (error) {
    throw error instanceof McpFault ? error : new McpFault(deadline.aborted ? `no answer within ${timeoutMs / 1000} s` : inWords(error, connectionError));
  } finally {
    expired.catch(() => undefined);
    await client.close().catch(() => undefined);
    await connection.close();
  }
}

function transportFor({ SSEClientTransport, StreamableHTTPClientTransport }: Sdk, { url, transport, headers }: McpAddress, fetch: SafeFetch['fetch']): Transport {
  const options = { fetch, requestInit: { headers: { ...headers } } };
  return transport === 'sse' ? new SSEClientTransport(new URL(url), options) : new StreamableHTTPClientTransport(new URL(url), options);
}

function checked(tools: OfferedTool[]): OfferedTool[] {
  const named = [...new Map(tools.filter(({ name }) => name !== '' && name.length <= MAX_TOOL_NAME).map((tool) => [tool.name, tool])).values()];
  if (named.length > MAX_TOOLS) throw new McpFault(`the server offers ${named.length} tools; at most ${MAX_TOOLS} are taken`);
  if (Buffer.byteLength(JSON.stringify(named)) > MAX_TOOLS_BYTES) throw new McpFault(`the descriptions of the server's tools are larger than ${MAX_TOOLS_BYTES / 1024} KiB`);
  return named;
}

const REFUSED = ': the server refused our headers';
const REDIRECTED = ': the server redirects; enter the address it redirects to';
const HINTS: Readonly<Record<number, string>> = { 401: REFUSED, 403: REFUSED };

function inWords(error: unknown, connectionError: unknown): string {
  if (causedBy(error, AnswerTooLargeError)) return `the server's answer is larger than ${MAX_ANSWER_BYTES / 1024 / 1024} MiB`;
  const status = statusOf(error);
  if (status !== undefined) return `HTTP ${status}${HINTS[status] ?? (status < 400 ? REDIRECTED : '')}`;
  const code = faultCodeOf(connectionError ?? error);
  if (code === 'UNSAFE_ADDRESS') return 'unsafe_url: the address is loopback, link-local, private or reserved';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the host name does not resolve';
  if (/^(E[A-Z]+|UND_ERR_\w+|CERT_\w+|ERR_TLS_\w+|ERR_SSL_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN)$/.test(code)) return `the connection failed (${code})`;
  return 'the server does not speak the Model Context Protocol at this address and transport';
}

function causedBy(error: unknown, kind: typeof AnswerTooLargeError): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof kind) return true;
  return false;
}

/** Of an answer that was no success; the SDK's errors carry it in different places. */
function statusOf(error: unknown): number | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { status, code } = at as { status?: unknown; code?: unknown };
    const found = [status, code].find((value) => typeof value === 'number' && value >= 300 && value < 600);
    if (typeof found === 'number') return found;
  }
  return undefined;
}
