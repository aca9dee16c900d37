import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

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
    let fake: FakeOpenAi | undefined;
    const server = createServer((request, response) => {
      void fake?.serve(request, response, options);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    fake = new FakeOpenAi(server);
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

  async serve(request: IncomingMessage, response: ServerResponse, options: { apiKey: string; models: string[] }): Promise<void> {
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
      if (fault?.kind === 'cut' && index === fault.afterChunks) {
        response.destroy();
        return;
      }
      if (fault?.kind === 'stall' && index === fault.afterChunks) {
        response.flushHeaders();
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

/** What is wrong with the request by the API's documentation; undefined when nothing is. */
function ruleBroken(body: unknown, models: string[]): string | undefined {
  if (typeof body !== 'object' || body === null) return 'We could not parse the JSON body of your request.';
  const { model, messages, tools, stream } = body as Partial<ChatBody>;
  if (typeof model !== 'string' || !models.includes(model)) return `The model '${String(model)}' does not exist.`;
  if (stream !== true) return 'This fake only streams.';
  if (!Array.isArray(messages) || messages.length === 0) return "[] is too short - 'messages'";
  if (tools !== undefined && (!Array.isArray(tools) || tools.length === 0)) return "[] is too short - 'tools'";
  for (const tool of tools ?? []) {
    const named = (tool as { type?: string; function?: { name?: string; parameters?: unknown } }).function;
    if (!/^[\w-]{1,64}$/.test(named?.name ?? '') || typeof named?.parameters !== 'object') return "Invalid 'tools[0].function'";
  }
  return messagesBroken(messages);
}

function messagesBroken(messages: Record<string, unknown>[]): string | undefined {
  let owed = new Set<unknown>();
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    if (message['role'] === 'tool') {
      if (!owed.delete(message['tool_call_id'])) return `${at}: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.`;
      if (typeof message['content'] !== 'string') return `${at}: content must be a string`;
      continue;
    }
    if (owed.size > 0) return `${at}: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.`;
    const broken = messageBroken(message, at);
    if (broken !== undefined) return broken;
    owed = new Set(((message['tool_calls'] as { id: unknown }[] | undefined) ?? []).map((call) => call.id));
  }
  return owed.size > 0 ? 'The last tool_calls were not answered.' : undefined;
}

function messageBroken(message: Record<string, unknown>, at: string): string | undefined {
  const { role, content, tool_calls: calls } = message;
  if (role !== 'system' && role !== 'user' && role !== 'assistant') return `${at}: invalid role '${String(role)}'`;
  if (typeof content !== 'string' && !(role === 'assistant' && content === null && Array.isArray(calls))) return `${at}: content must be a string`;
  for (const call of (calls as { id?: unknown; type?: unknown; function?: { name?: unknown; arguments?: unknown } }[] | undefined) ?? []) {
    if (typeof call.id !== 'string' || call.type !== 'function' || typeof call.function?.arguments !== 'string') return `${at}: invalid tool call`;
  }
  return undefined;
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
