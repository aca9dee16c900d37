import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Type from 'typebox';
import Value from 'typebox/value';

/**
 * An OpenAI-compatible server that keeps the API's rules: refuses a wrong key, a body that is not as documented, tool
 * messages without their call. The official SDK is driven against it in a test, so that it stays honest.
 */

const MAX_BODY_BYTES = 1024 * 1024;

export interface FakeReply {
  /** Text pieces, one chunk each. */
  text?: string[];
  toolCalls?: { id: string; name: string; /** Pieces of the JSON, one chunk each. */ arguments: string[] }[];
  usage?: { prompt_tokens: number; completion_tokens: number; prompt_tokens_details?: { cached_tokens: number } };
  fault?:
    | { kind: 'status'; status: number; message: string }
    /** Breaks the connection after so many chunks. */
    | { kind: 'cut'; afterChunks: number }
    /** Says nothing more after so many chunks; the connection stays. */
    | { kind: 'stall'; afterChunks: number }
    /** Sends this as it is instead of a stream of chunks. */
    | { kind: 'raw'; body: string };
}

export interface ChatBody { model: string; messages: Record<string, unknown>[]; tools?: unknown[]; stream?: boolean; stream_options?: { include_usage?: boolean } }

export class FakeOpenAi {
  readonly baseUrl: string;
  /** Bodies of the requests that kept the rules. */
  readonly requests: ChatBody[] = [];
  /** Connections that the client dropped before the reply was over. */
  aborted = 0;
  readonly #server: Server;
  readonly #replies: FakeReply[] = [];

  private constructor(server: Server) {
    this.#server = server;
    this.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  }

  static async start(options: { apiKey: string; models: string[] }): Promise<FakeOpenAi> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const fake = new FakeOpenAi(server);
    server.on('request', (request, response) => void fake.#serve(request, response, options));
    return fake;
  }

  /** The next request that keeps the rules gets this. */
  next(reply: FakeReply): void {
    this.#replies.push(reply);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse, options: { apiKey: string; models: string[] }): Promise<void> {
    if (request.headers.authorization !== `Bearer ${options.apiKey}`) {
      fail(response, 401, 'invalid_api_key', `Incorrect API key provided: ${request.headers.authorization?.slice(7) ?? ''}`);
      return;
    }
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
      fail(response, 404, 'not_found', `Unknown request URL: ${request.method} ${request.url}`);
      return;
    }
    const body = await readJson(request);
    const fault = ruleBroken(body, options.models);
    if (fault !== undefined) {
      fail(response, 400, 'invalid_request_error', fault);
      return;
    }
    this.requests.push(body as ChatBody);
    await this.#answer(body as ChatBody, response);
  }

  async #answer(body: ChatBody, response: ServerResponse): Promise<void> {
    const reply = this.#replies.shift() ?? { text: ['Hello', ' there.'] };
    const fault = reply.fault;
    if (fault?.kind === 'status') {
      fail(response, fault.status, 'error', fault.message);
      return;
    }
    response.on('close', () => {
      if (!response.writableEnded && fault?.kind !== 'cut') this.aborted++;
    });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (fault?.kind === 'raw') {
      response.end(fault.body);
      return;
    }
    for (const [index, chunk] of chunksOf(body, reply).entries()) {
      if (fault && index === fault.afterChunks) {
        if (fault.kind === 'cut') response.destroy();
        return;
      }
      // Each in a packet of its own, as a model thinks.
      await new Promise((resolve) => response.write(`data: ${JSON.stringify(chunk)}\n\n`, resolve));
      await new Promise(setImmediate);
    }
    response.end('data: [DONE]\n\n');
  }
}

function chunksOf(body: ChatBody, reply: FakeReply): object[] {
  const chunk = (choices: object[], usage?: object): object => ({
    id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: body.model, choices, ...(usage ? { usage } : {}),
  });
  const delta = (fields: object): object => chunk([{ index: 0, delta: fields, finish_reason: null }]);
  const chunks = [delta({ role: 'assistant', content: '' })];
  for (const text of reply.text ?? []) chunks.push(delta({ content: text }));
  for (const [index, call] of (reply.toolCalls ?? []).entries()) {
    chunks.push(delta({ tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }] }));
    for (const piece of call.arguments) chunks.push(delta({ tool_calls: [{ index, function: { arguments: piece } }] }));
  }
  chunks.push(chunk([{ index: 0, delta: {}, finish_reason: reply.toolCalls?.length ? 'tool_calls' : 'stop' }]));
  if (body.stream_options?.include_usage && reply.usage) {
    const total = reply.usage.prompt_tokens + reply.usage.completion_tokens;
    chunks.push(chunk([], { ...reply.usage, total_tokens: total }));
  }
  return chunks;
}

const TOOL_CALL = Type.Object({ id: Type.String({ minLength: 1 }), type: Type.Literal('function'), function: Type.Object({ name: Type.String(), arguments: Type.String() }) });
const MESSAGE = Type.Union([
  Type.Object({ role: Type.Union([Type.Literal('system'), Type.Literal('user')]), content: Type.String() }, { additionalProperties: false }),
  Type.Object({ role: Type.Literal('assistant'), content: Type.String() }, { additionalProperties: false }),
  Type.Object({ role: Type.Literal('assistant'), content: Type.Union([Type.String(), Type.Null()]), tool_calls: Type.Array(TOOL_CALL, { minItems: 1 }) }, { additionalProperties: false }),
  Type.Object({ role: Type.Literal('tool'), tool_call_id: Type.String(), content: Type.String() }, { additionalProperties: false }),
]);
const TOOL = Type.Object({
  type: Type.Literal('function'),
  function: Type.Object({ name: Type.String({ pattern: '^[a-zA-Z0-9_-]{1,64}$' }), description: Type.Optional(Type.String()), parameters: Type.Object({ type: Type.Literal('object') }) }),
});
const CHAT_BODY = Type.Object({
  model: Type.String(),
  messages: Type.Array(MESSAGE, { minItems: 1 }),
  stream: Type.Literal(true),
  stream_options: Type.Optional(Type.Object({ include_usage: Type.Boolean() })),
  tools: Type.Optional(Type.Array(TOOL, { minItems: 1, maxItems: 128 })),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  max_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
}, { additionalProperties: false });

/** What is wrong with the request by the API's documentation; undefined when nothing is. */
function ruleBroken(body: unknown, models: string[]): string | undefined {
  if (!Value.Check(CHAT_BODY, body)) {
    const [first] = Value.Errors(CHAT_BODY, body);
    return `Invalid body: ${first?.instancePath ?? ''} ${first?.message ?? ''}`;
  }
  if (!models.includes(body.model)) return `The model '${body.model}' does not exist.`;
  return toolOrderBroken(body.messages);
}

/** Every call is answered, by its id, before anything else is said. */
function toolOrderBroken(messages: Type.Static<typeof MESSAGE>[]): string | undefined {
  const owed = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    if (message.role === 'tool') {
      if (!owed.delete(message.tool_call_id)) return `${at}: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.`;
      continue;
    }
    if (owed.size > 0) return `${at}: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.`;
    if ('tool_calls' in message) for (const call of message.tool_calls) owed.add(call.id);
  }
  return owed.size > 0 ? 'The last tool_calls were not answered.' : undefined;
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const bytes of request) {
    text += String(bytes);
    if (text.length > MAX_BODY_BYTES) return undefined;
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fail(response: ServerResponse, status: number, code: string, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: code, code, param: null } }));
}
