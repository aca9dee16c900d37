import { EngineError, type LlmEvent, type ToolCall, type Usage } from '../engine.ts';

/** Reads the chunks of a streaming chat completion. What comes over the wire is checked; nothing of it is believed. */

const MAX_TOOL_CALLS = 16;
const MAX_ARGUMENT_CHARS = 64 * 1024;
const MAX_REPLY_CHARS = 256 * 1024;

interface PartialCall { id: string; name: string; arguments: string }

/** One reply being received: text as it comes, tool calls when they are whole, usage when the server says it. */
export class ChatReply {
  readonly #model: string;
  readonly #calls = new Map<number, PartialCall>();
  #characters = 0;
  #finished = false;
  #ended = false;
  #usageReported = false;

  /** `model`: the id that usage is reported under. */
  constructor(model: string) {
    this.#model = model;
  }

  /** Text and tool arguments received, in characters. */
  get characters(): number {
    return this.#characters;
  }

  /** The server named a reason to stop. */
  get finished(): boolean {
    return this.#finished;
  }

  /** The server said that nothing follows. */
  get ended(): boolean {
    return this.#ended;
  }

  get usageReported(): boolean {
    return this.#usageReported;
  }

  /** The events of one chunk's JSON. Throws EngineError for what is no chunk, for an error sent inside the stream, and past the limits. */
  read(data: string): LlmEvent[] {
    const chunk = parseObject(data);
    if ('error' in chunk && chunk['error']) throw streamError(chunk['error']);
    const events: LlmEvent[] = [];
    const choice = asObject(asArray(chunk['choices'])[0]);
    const delta = asObject(choice?.['delta']);
    if (delta) this.#readDelta(delta, events);
    if (typeof choice?.['finish_reason'] === 'string') events.push(...this.#finish());
    for (const usage of this.#readUsage(asObject(chunk['usage']))) events.push({ kind: 'usage', usage });
    return events;
  }

  /** `[DONE]`: not every server names a reason before it. */
  end(): LlmEvent[] {
    this.#ended = true;
    return this.#finish();
  }

  #finish(): LlmEvent[] {
    const calls = this.#wholeCalls();
    this.#finished = true;
    return calls.map((call) => ({ kind: 'toolCall', call }));
  }

  #readDelta(delta: Record<string, unknown>, events: LlmEvent[]): void {
    const text = delta['content'];
    if (typeof text === 'string' && text !== '') {
      this.#count(text.length);
      events.push({ kind: 'text', text });
    }
    for (const item of asArray(delta['tool_calls'])) this.#readCall(asObject(item));
  }

  /** Calls come in pieces, told apart by `index`; the name and the id usually whole, the arguments in many. */
  #readCall(item: Record<string, unknown> | undefined): void {
    const index = item?.['index'] ?? 0;
    if (!item || typeof index !== 'number') throw malformed('a tool call without an index');
    const call = this.#callAt(index);
    const named = asObject(item['function']);
    call.id = asText(item['id']) || call.id;
    call.name += asText(named?.['name']);
    const piece = asText(named?.['arguments']);
    this.#count(piece.length);
    call.arguments += piece;
    if (call.arguments.length > MAX_ARGUMENT_CHARS) throw malformed('tool arguments longer than 64 KiB');
  }

  #callAt(index: number): PartialCall {
    const known = this.#calls.get(index);
    if (known) return known;
    if (this.#calls.size >= MAX_TOOL_CALLS) throw malformed(`more than ${MAX_TOOL_CALLS} tool calls in one reply`);
    const call: PartialCall = { id: '', name: '', arguments: '' };
    this.#calls.set(index, call);
    return call;
  }

  #wholeCalls(): ToolCall[] {
    const calls = [...this.#calls.values()].map((call, index): ToolCall => {
      if (call.name === '') throw malformed('a tool call without a name');
      return { id: call.id || `call_${index}`, name: call.name, arguments: call.arguments.trim() === '' ? {} : parseObject(call.arguments) };
    });
    this.#calls.clear();
    return calls;
  }

  #readUsage(usage: Record<string, unknown> | undefined): Usage[] {
    if (!usage || this.#usageReported) return [];
    const input = count(usage['prompt_tokens']);
    const cached = Math.min(input, count(asObject(usage['prompt_tokens_details'])?.['cached_tokens']));
    this.#usageReported = true;
    return usageOf(this.#model, { input: input - cached, cached, output: count(usage['completion_tokens']) }, 'vendor');
  }

  #count(characters: number): void {
    this.#characters += characters;
    if (this.#characters > MAX_REPLY_CHARS) throw malformed('a reply longer than 256 KiB');
  }
}

/** Usage events' contents for the measures that are not zero; `input` is without the cached ones. */
export function usageOf(model: string, tokens: { input: number; cached: number; output: number }, source: Usage['source']): Usage[] {
  const measures = [['input_token', tokens.input], ['cached_input_token', tokens.cached], ['output_token', tokens.output]] as const;
  return measures.filter(([, quantity]) => quantity > 0).map(([measure, quantity]) => ({ component: 'llm', model, measure, quantity, source }));
}

function malformed(what: string): EngineError {
  return new EngineError('invalid', `The language model's server sent ${what}`, { retry: true });
}

/** Some servers answer 200 and report their failure as a chunk. */
function streamError(error: unknown): EngineError {
  const fields = asObject(error);
  const message = typeof fields?.['message'] === 'string' ? fields['message'].slice(0, 300) : 'no reason given';
  return new EngineError('internal', `The language model's server failed in mid-reply: ${message}`, { retry: true });
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed('something that is not JSON');
  }
  const fields = asObject(value);
  if (!fields) throw malformed('JSON that is not an object');
  return fields;
}

function asObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
