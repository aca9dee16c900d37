import type { ChatMessage, ToolSpec } from '../engine.ts';

/** The body of a streaming chat completion (OpenAI's `POST /chat/completions`, as other servers understand it too). */

export interface ChatRequestBody {
  model: string;
  messages: ChatRequestMessage[];
  temperature: number;
  max_tokens: number;
  stream: true;
  stream_options: { include_usage: true };
  tools?: { type: 'function'; function: ToolSpec }[];
}

export type ChatRequestMessage =
  | { role: 'system' | 'user' | 'assistant'; content: string }
  | { role: 'assistant'; content: string | null; tool_calls: { id: string; type: 'function'; function: { name: string; arguments: string } }[] }
  | { role: 'tool'; tool_call_id: string; content: string };

export function chatRequest(options: { model: string; messages: ChatMessage[]; tools: ToolSpec[]; temperature: number; maxTokens: number }): ChatRequestBody {
  const body: ChatRequestBody = {
    model: options.model,
    messages: options.messages.map(toRequestMessage),
    temperature: options.temperature,
    // Not `max_completion_tokens`: only OpenAI's own newer models want that, every server knows this one.
    max_tokens: options.maxTokens,
    stream: true,
    stream_options: { include_usage: true },
  };
  // Servers refuse an empty list.
  if (options.tools.length > 0) body.tools = options.tools.map((tool) => ({ type: 'function', function: tool }));
  return body;
}

function toRequestMessage(message: ChatMessage): ChatRequestMessage {
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
  if (message.role !== 'assistant' || !message.toolCalls?.length) return { role: message.role, content: message.content };
  return {
    role: 'assistant',
    content: message.content === '' ? null : message.content,
    tool_calls: message.toolCalls.map((call) => ({ id: call.id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.arguments) } })),
  };
}

/** About four characters a token: what is billed when the server did not say (an aborted reply). */
export function estimateTokens(characters: number): number {
  return Math.ceil(characters / 4);
}
