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
    const { signal } = this.#options;
    const messages = this.#options.messages();
    for (let attempt = 1; ; attempt++) {
      this.failure = undefined;
      let spoken = false;
      for await (const text of this.#attempt(messages)) {
        spoken ||= text.trim() !== '';
        yield text;
      }
      if (!spoken && !this.endsCall) this.failure ??= new EngineError('invalid', `${this.#options.llm.model}: the reply is empty`, { retry: true });
      if (!this.#mayTryAgain(attempt, spoken) || signal.aborted) return;
    }
  }

  async *#attempt(messages: ChatMessage[]): AsyncGenerator<string, void, undefined> {
    const { llm, temperature, maxTokens, signal } = this.#options;
    try {
      for await (const event of llm.reply({ messages, tools: [END_CALL], temperature, maxTokens, signal })) {
        switch (event.kind) {
          case 'text': yield event.text; break;
          case 'toolCall': this.calls.push(event.call); break;
          case 'usage': this.#options.onUsage(event.usage); break;
        }
      }
    } catch (error) {
      this.failure = error instanceof EngineError ? error : new EngineError('internal', `${llm.model}: ${String(error)}`, { retry: false, cause: error });
    }
  }

  #mayTryAgain(attempt: number, spoken: boolean): boolean {
    return attempt === 1 && !spoken && this.failure?.retry === true;
  }
}
