import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { Json, Nullable, NullableString, NullableTimestamp, OneOf, Timestamp } from '../../api/schemas.ts';

const closed = { additionalProperties: false };
const MAX_TOOLS = 100;
const name = () => Type.String({ minLength: 1, maxLength: 200 });
const TRANSPORTS = ['streamable_http', 'sse'] as const;

export const McpTool = Type.Object({
  name: Type.String(),
  description: Type.String(),
  input_schema: Json,
  enabled: Type.Boolean({ description: 'Whether agents may use it.' }),
});

export const McpServer = Type.Object({
  id: Type.String(),
  object: Type.Literal('mcp_server'),
  livemode: Type.Boolean(),
  name: Type.String(),
  url: Type.String(),
  transport: OneOf(TRANSPORTS),
  headers_set: Type.Array(Type.String(), { description: 'Names of the headers that are sent; their values are never shown.' }),
  enabled: Type.Boolean(),
  tools: Type.Array(McpTool, { description: 'As the server described them at the last refresh.' }),
  tool_timeout_ms: Type.Integer(),
  status: OneOf(['connected', 'error', 'unknown'], { description: 'How the last refresh went; unknown before the first and after a change of the connection.' }),
  last_error: NullableString,
  refreshed_at: NullableTimestamp,
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type McpServer = Static<typeof McpServer>;
export const McpServerList = listOf(McpServer);

const url = () => Type.String({ minLength: 1, maxLength: 2048, errorCode: 'unsafe_url', description: 'https, at a public address.' });
/** Names are tokens of RFC 9110; values are printable. */
const Headers = Type.Unsafe<Record<string, string>>({
  type: 'object', maxProperties: 20, propertyNames: { pattern: '^[!#$%&\'*+.^_`|~0-9A-Za-z-]{1,100}$' },
  additionalProperties: { type: 'string', maxLength: 4096, pattern: '^[\\x20-\\x7e]*$' },
  description: 'Sent with every request, such as Authorization. Write-only.',
});
const OPTIONAL = {
  transport: Type.Optional(Nullable(OneOf(TRANSPORTS, { description: 'streamable_http when absent.' }))),
  headers: Type.Optional(Nullable(Headers)),
  enabled: Type.Optional(Nullable(Type.Boolean({ description: 'A server that is not enabled lends agents no tools.' }))),
  tool_timeout_ms: Type.Optional(Nullable(Type.Integer({ minimum: 500, maximum: 30_000, description: 'How long a tool may take in a call; 10 000 when absent.' }))),
};
export const CreateMcpServer = Type.Object({ name: name(), url: url(), ...OPTIONAL }, closed);
export type CreateMcpServer = Static<typeof CreateMcpServer>;
export const UpdateMcpServer = Type.Object({
  name: Type.Optional(name()),
  url: Type.Optional(url()),
  ...OPTIONAL,
  tools: Type.Optional(Type.Array(Type.Object({ name: Type.String({ minLength: 1, maxLength: 200 }), enabled: Type.Boolean() }, closed), {
    maxItems: MAX_TOOLS, description: 'Switches tools by name; those not named stay as they are.',
  })),
}, closed);
export type UpdateMcpServer = Static<typeof UpdateMcpServer>;
export const ListMcpServers = Type.Object({ ...PAGE_PARAMETERS }, closed);
