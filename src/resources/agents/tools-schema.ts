import Type, { type Static } from 'typebox';
import { Json, Nullable, OneOf } from '../../api/schemas.ts';

const closed = { additionalProperties: false };

/** Tools that change the agent's calendar, or look into it. */
export const BOOKING_TOOLS = ['book_appointment', 'reschedule_appointment', 'check_availability', 'cancel_appointment'] as const;
export const BUILT_IN_TOOLS = ['end_call', 'transfer_call', 'send_dtmf', ...BOOKING_TOOLS, 'qualify_lead', 'update_lead', 'take_message', 'search_knowledge'] as const;
export const TOOL_TYPES = [...BUILT_IN_TOOLS, 'http'] as const;
export const HTTP_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type BuiltInTool = (typeof BUILT_IN_TOOLS)[number];

export const MAX_TOOLS = 50;
const MAX_HEADERS = 20;

const Headers = Type.Unsafe<Record<string, string>>({
  type: 'object', maxProperties: MAX_HEADERS, propertyNames: { pattern: '^[A-Za-z0-9!#$%&\'*+.^_`|~-]{1,100}$' },
  additionalProperties: { type: 'string', maxLength: 4096, pattern: '^[\\t\\x20-\\x7e]*$' },
});

/** A tool as a client sends it. Everything after `enabled` is of `http` tools only. */
export const ToolInput = Type.Object({
  type: OneOf(TOOL_TYPES, { description: 'A built-in tool, or http: a request to your own service.' }),
  enabled: Type.Optional(Type.Boolean({ description: 'true when absent.' })),
  name: Type.Optional(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$', description: 'What the model calls it. Required for http; unlike any other tool\'s.' })),
  description: Type.Optional(Type.String({ minLength: 1, maxLength: 1024, description: 'Tells the model when to use it. Required for http.' })),
  parameters: Type.Optional(Type.Unsafe<Record<string, unknown>>({ ...Json, description: 'JSON Schema of the arguments, an object; at most 8 KiB and 10 levels. None when absent.' })),
  method: Type.Optional(OneOf(HTTP_METHODS, { description: 'POST when absent. GET and DELETE send the arguments in the query, the others as JSON.' })),
  url: Type.Optional(Type.String({ minLength: 1, maxLength: 2048, description: 'http or https, a public address. Required for http.' })),
  headers: Type.Optional(Type.Union([Headers, Type.Null()], {
    description: 'Write-only; `headers_set` lists the names. Absent: those kept for the tool of this name, as long as its url stays with the same origin.',
  })),
  timeout_ms: Type.Optional(Type.Integer({ minimum: 500, maximum: 30_000, description: '5000 when absent.' })),
  filler: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 200, description: 'Said while it runs.' }))),
}, closed);
export type ToolInput = Static<typeof ToolInput>;

export interface BuiltIn { type: BuiltInTool; enabled: boolean }
export interface HttpTool {
  type: 'http';
  enabled: boolean;
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  method: (typeof HTTP_METHODS)[number];
  url: string;
  headers_set: string[];
  timeout_ms: number;
  filler: string | null;
}

/** A tool with everything filled in. */
export const Tool = Type.Unsafe<BuiltIn | HttpTool>(Type.Object({
  type: OneOf(TOOL_TYPES),
  enabled: Type.Boolean(),
  name: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  parameters: Type.Optional(Json),
  method: Type.Optional(OneOf(HTTP_METHODS)),
  url: Type.Optional(Type.String()),
  headers_set: Type.Optional(Type.Array(Type.String(), { description: 'Names of the headers it sends; their values are never shown.' })),
  timeout_ms: Type.Optional(Type.Integer()),
  filler: Type.Optional(Nullable(Type.String())),
}));
export type Tool = Static<typeof Tool>;
