import type { ChatMessage, LlmEngine, LlmEvent, ToolSpec } from '../engine.ts';
import { answerTo } from './offline/dialogue.ts';

export const OFFLINE_MODEL = 'local/offline-agent';
/** The first line of a call's log when this agent answers it: nobody shall take it for more than it is. */
export const OFFLINE_AGENT_NOTICE = 'offline agent: not a language model';
/** The tool it calls when the caller said goodbye. */
const END_CALL = 'end_call';
const CHARACTERS_PER_TOKEN = 4;

/**
 * Answers when no language model is configured: deterministic rules that greet, look a question up in the prompt's facts,
 * take a name and a number, and say so when they do not know. The conversation is all it remembers.
 */
export class OfflineAgent implements LlmEngine {
  readonly model = OFFLINE_MODEL;
  readonly description = OFFLINE_AGENT_NOTICE;

  /** The answer sentence by sentence. On goodbye also calls `end_call`. Says nothing after a tool's result. */
  async *reply(options: { messages: ChatMessage[]; tools: ToolSpec[]; signal: AbortSignal }): AsyncGenerator<LlmEvent> {
    if (options.signal.aborted || options.messages.at(-1)?.role === 'tool') return;
    const answer = answerTo(options.messages);
    for (const sentence of answer.text.match(/[^.!?]+[.!?]+\s*|[^.!?]+$/g) ?? []) {
      yield { kind: 'text', text: sentence };
      // As any engine, it may be stopped between two sentences.
      await Promise.resolve();
      if (options.signal.aborted) return;
    }
    if (answer.endsCall) yield { kind: 'toolCall', call: { id: `offline_${options.messages.length}`, name: END_CALL, arguments: {} } };
    const quantity = Math.ceil(answer.text.length / CHARACTERS_PER_TOKEN);
    yield { kind: 'usage', usage: { component: 'llm', model: this.model, measure: 'output_token', quantity, source: 'estimated' } };
  }
}
