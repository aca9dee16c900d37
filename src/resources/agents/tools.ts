import { ApiError } from '../../api/errors.ts';
import type { AddressGuard } from '../../events/address-guard.ts';
import { requireObjectSchema } from './json-schema.ts';
import type { AgentDefinition } from './schema.ts';
import { BOOKING_TOOLS, BUILT_IN_TOOLS, type BuiltInTool, type HttpTool, type Tool, type ToolInput } from './tools-schema.ts';

/** Values of the headers of each http tool, by its name. */
export type ToolHeaders = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A list of tools with everything filled in, and what has to be kept apart from it. */
export interface FilledTools { tools: Tool[]; headers: ToolHeaders }

const DEFAULT_TIMEOUT_MS = 5000;
const NO_ARGUMENTS = { type: 'object', properties: {} };
/** What a call has without being asked, as far as it makes sense there. */
const ON_BY_DEFAULT: ReadonlySet<BuiltInTool> = new Set(['end_call', 'transfer_call', ...BOOKING_TOOLS, 'search_knowledge']);
const HTTP_ONLY = ['name', 'description', 'parameters', 'method', 'url', 'headers', 'timeout_ms', 'filler'] as const;
/** Headers that belong to the connection or to the body, not to the tool. */
const RESERVED_HEADERS = /^(host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|proxy-.*)$/i;

/** Throws ApiError `missing_parameter`, `unknown_parameter`, `invalid_parameter`, `unsafe_url`. Asks the resolver for the addresses. */
export async function checkTools(inputs: readonly ToolInput[], guard: Pick<AddressGuard, 'fault'>): Promise<void> {
  const seen = new Set<string>();
  for (const [index, input] of inputs.entries()) {
    const param = `tools[${index}]`;
    if (input.type === 'http') checkHttpTool(input, param);
    else checkBuiltIn(input, param);
    const name = input.name ?? input.type;
    if (seen.has(name)) throw new ApiError('invalid_parameter', `${param}: there is another tool ${name}.`, { param: input.type === 'http' ? `${param}.name` : `${param}.type` });
    seen.add(name);
  }
  await Promise.all(inputs.map(async ({ url }, index) => {
    const fault = url === undefined ? undefined : await guard.fault(url);
    if (fault !== undefined) throw new ApiError('unsafe_url', `tools[${index}].url ${fault}.`, { param: `tools[${index}].url` });
  }));
}

function checkBuiltIn(input: ToolInput, param: string): void {
  const extra = HTTP_ONLY.find((field) => input[field] !== undefined);
  if (extra) throw new ApiError('unknown_parameter', `${param}.${extra} is a parameter of http tools only.`, { param: `${param}.${extra}` });
}

function checkHttpTool(input: ToolInput, param: string): void {
  const missing = (['name', 'description', 'url'] as const).find((field) => input[field] === undefined);
  if (missing) throw new ApiError('missing_parameter', `${param}.${missing} is required for an http tool.`, { param: `${param}.${missing}` });
  if ((BUILT_IN_TOOLS as readonly string[]).includes(input.name ?? '')) {
    throw new ApiError('invalid_parameter', `${param}.name is the name of a built-in tool.`, { param: `${param}.name` });
  }
  if (input.parameters) requireObjectSchema(input.parameters, `${param}.parameters`);
  const reserved = Object.keys(input.headers ?? {}).find((name) => RESERVED_HEADERS.test(name));
  if (reserved !== undefined) throw new ApiError('invalid_parameter', `${param}.headers must not have ${reserved}.`, { param: `${param}.headers` });
}

/**
 * Fills checked tools in. Headers that were not sent stay as they were for the tool of the same name, unless its url
 * moved to another origin: whoever may change an agent does not get to see where its secrets open.
 */
export function fillTools(inputs: readonly ToolInput[], before: FilledTools): FilledTools {
  const headers: Record<string, Readonly<Record<string, string>>> = {};
  const tools = inputs.map((input): Tool => {
    if (input.type !== 'http') return { type: input.type, enabled: input.enabled ?? true };
    const { name = '', url = '' } = input;
    const values = input.headers === undefined ? headersBefore(before, name, url) : (input.headers ?? {});
    const headers_set = Object.keys(values);
    if (headers_set.length > 0) headers[name] = values;
    return fillHttpTool(input, headers_set);
  });
  return { tools, headers };
}

function fillHttpTool(input: ToolInput, headers_set: string[]): HttpTool {
  const { enabled = true, name = '', description = '', parameters = NO_ARGUMENTS, method = 'POST', url = '', timeout_ms = DEFAULT_TIMEOUT_MS, filler = null } = input;
  return { type: 'http', enabled, name, description, parameters, method, url, headers_set, timeout_ms, filler };
}

function headersBefore({ tools, headers }: FilledTools, name: string, url: string): Readonly<Record<string, string>> {
  const same = tools.some((tool) => tool.type === 'http' && tool.name === name && new URL(tool.url).origin === new URL(url).origin);
  return same && Object.hasOwn(headers, name) ? (headers[name] ?? {}) : {};
}

/** What a call with the agent gets: the built-in tools that are on and make sense, and the http tools that are enabled. */
export function toolsOf(definition: AgentDefinition): Tool[] {
  const listed = new Map<string, boolean>(definition.tools.map(({ type, enabled }) => [type, enabled]));
  const builtIn = BUILT_IN_TOOLS.filter((type) => (listed.get(type) ?? ON_BY_DEFAULT.has(type)) && makesSense(type, definition));
  const http = definition.tools.filter((tool): tool is HttpTool => tool.type === 'http' && tool.enabled);
  return [...builtIn.map((type) => ({ type, enabled: true })), ...http];
}

function makesSense(type: BuiltInTool, definition: AgentDefinition): boolean {
  if ((BOOKING_TOOLS as readonly string[]).includes(type)) return definition.appointment_booking_enabled;
  if (type === 'transfer_call') return definition.transfer.destinations.length > 0;
  return type !== 'search_knowledge' || definition.knowledge_base_id !== null;
}
