import { EngineError, type ChatMessage, type LlmEngine, type ToolCall, type ToolSpec, type Usage } from '../engines/engine.ts';
import { sentences } from './sentences.ts';

/** The model ends the call by this tool. */
export const END_CALL: ToolSpec = {
  name: 'end_call',
  description: 'Hang up. Call it once the caller wants to end the call or everything is settled, together with your goodbye.',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
};

export interface ReplyOptions {
  llm: LlmEngine;
  temperature: number;
  maxTokens: number;
  /** Asked for when the reply is first pulled: by then the reply before it has its last word in the history. */
  messages: () => ChatMessage[];
  signal: AbortSignal;
  onUsage: (usage: Usage) => void;
  /** Each piece of text as it is handed on to be spoken. */
  onClause: (text: string) => void;
}

/** One answer of the language model, as text to speak. Its failure is kept, not thrown: what was said before it is still spoken. */
export class Reply {
  readonly #options: ReplyOptions;
  readonly calls: ToolCall[] = [];
  failure: EngineError | undefined;

  constructor(options: ReplyOptions) {
    this.#options = options;
  }

  get endsCall(): boolean {
    return this.calls.some((call) => call.name === END_CALL.name);
  }

  /** Pieces to speak, in order. Pulled once; never throws. */
  async *clauses(): AsyncGenerator<string, void, undefined> {
    for await (const clause of sentences(this.#text())) {
      this.#options.onClause(clause);
      yield clause;
    }
  }

  /** The model's text; a failure before its first word is tried again once. */
  async *#text(): AsyncGenerator<string, void, undefined> {
    const { llm, temperature, maxTokens, signal } = this.#options;
    const messages = this.#options.messages();
    for (let attempt = 1; ; attempt++) {
      let spoken = false;
      try {
        for await (const event of llm.reply({ messages, tools: [END_CALL], temperature, maxTokens, signal })) {
          if (event.kind === 'usage') this.#options.onUsage(event.usage);
          else if (event.kind === 'toolCall') this.calls.push(event.call);
          else {
            spoken ||= event.text.trim() !== '';
            yield event.text;
          }
        }
        if (spoken || this.endsCall || signal.aborted) return;
        this.failure = new EngineError('invalid', `${llm.model}: the reply is empty`, { retry: true });
      } catch (error) {
        this.failure = error instanceof EngineError ? error : new EngineError('internal', `${llm.model}: ${String(error)}`, { retry: false, cause: error });
      }
      if (spoken || signal.aborted || attempt === 2 || !this.failure.retry) return;
      this.failure = undefined;
    }
  }
}
