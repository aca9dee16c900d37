import { createParser } from 'eventsource-parser';
import { Agent, fetch, type Response } from 'undici';
import { type ChatMessage, EngineError, type LlmEngine, type LlmEvent, type ToolSpec } from '../engine.ts';
import { ChatReply, usageOf } from './chat-chunk.ts';
import { chatRequest, estimateTokens } from './chat-request.ts';
import { networkError, statusError } from './http-errors.ts';
import { Watchdog } from './watchdog.ts';

/** Longest line or event of the stream; real ones are under a kilobyte. */
const MAX_EVENT_CHARS = 128 * 1024;
/** Read of an error's body, at most. */
const MAX_ERROR_BYTES = 8 * 1024;
/** A finished reply waits this long for the usage behind it. */
const USAGE_WAIT_MS = 1000;
const DONE = '[DONE]';
const DEFAULT_LIMITS = { connectMs: 3000, firstTokenMs: 10_000, stallMs: 8000 };

export interface OpenAiCompatibleOptions {
  /** Such as `https://api.example.com/v1`; `/chat/completions` is added. */
  baseUrl: string;
  /** Never logged, never part of an error. */
  apiKey: string;
  /** The server's name for the model. */
  model: string;
  /** Our id for it, as agents and usage name it. */
  id: string;
  /** Milliseconds: to connect, from the request to the first chunk that says something, and between two chunks after it. */
  limits?: { connectMs: number; firstTokenMs: number; stallMs: number };
}

interface ReplyOptions { messages: ChatMessage[]; tools: ToolSpec[]; temperature: number; maxTokens: number; signal: AbortSignal }

/** Streaming chat completions of any server that speaks OpenAI's protocol. Never retries: the caller knows whether it may. */
export class OpenAiCompatibleLlm implements LlmEngine {
  readonly model: string;
  readonly #options: OpenAiCompatibleOptions;
  readonly #limits: typeof DEFAULT_LIMITS;
  readonly #url: string;
  readonly #agent: Agent;

  /** Throws EngineError `invalid` for a base URL that is none. */
  constructor(options: OpenAiCompatibleOptions) {
    this.model = options.id;
    this.#options = options;
    this.#limits = options.limits ?? DEFAULT_LIMITS;
    const base = URL.parse(options.baseUrl);
    if (!base || !/^https?:$/.test(base.protocol)) {
      throw new EngineError('invalid', `"${options.baseUrl}" is not an http(s) base URL of a language model's server`, { retry: false });
    }
    this.#url = `${options.baseUrl.replace(/\/+$/, '')}/chat/completions`;
    // A kept connection saves the handshake of the next turn.
    this.#agent = new Agent({ connect: { timeout: this.#limits.connectMs }, keepAliveTimeout: 60_000, headersTimeout: 0, bodyTimeout: 0 });
  }

  /**
   * One reply. Throws EngineError: `connect`, `auth`, `rate`, `invalid`, `timeout` (nothing said in time), `stalled` (fell
   * silent in mid-reply), `closed` (broke off), `internal`. After an abort it ends quietly, with an estimated usage.
   */
  async *reply(options: ReplyOptions): AsyncGenerator<LlmEvent> {
    if (options.signal.aborted) return;
    const reply = new ChatReply(this.model);
    const watchdog = new Watchdog();
    const body = JSON.stringify(chatRequest({ ...options, model: this.#options.model }));
    let response: Response | undefined;
    let failure: EngineError | undefined;
    try {
      const signal = AbortSignal.any([options.signal, watchdog.signal]);
      watchdog.expect(this.#limits.firstTokenMs);
      response = await this.#ask(body, signal);
      yield* this.#events(response, reply, watchdog);
      if (!reply.finished) failure = networkError(new Error('it ended before it was finished'), 'stream', this.#options.apiKey);
    } catch (error) {
      // Whoever aborted knows; and a finished reply lacks nothing but its usage.
      if (!options.signal.aborted && !reply.finished) failure = this.#explain(error, watchdog, response !== undefined, reply);
    } finally {
      watchdog.stop();
    }
    if (response && !reply.usageReported) yield* this.#estimate(body.length, reply.characters);
    if (failure) throw failure;
  }

  /** Closes the kept connections; replies under way break off. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #ask(body: string, signal: AbortSignal): Promise<Response> {
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#options.apiKey}`, 'content-type': 'application/json', accept: 'text/event-stream' },
      body,
      signal,
      redirect: 'error',
      dispatcher: this.#agent,
    });
    if (response.status === 200) return response;
    throw statusError(response.status, await firstBytes(response), this.#options.apiKey);
  }

  async *#events(response: Response, reply: ChatReply, watchdog: Watchdog): AsyncGenerator<LlmEvent> {
    if (!response.body) throw new EngineError('invalid', "The language model's server answered without a body", { retry: true });
    let events: LlmEvent[] = [];
    const parser = createParser({
      maxBufferSize: MAX_EVENT_CHARS,
      onEvent: (event) => {
        events.push(...(event.data === DONE ? reply.end() : reply.read(event.data)));
      },
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') throw new EngineError('invalid', "The language model's server sent an event that never ends", { retry: true });
      },
    });
    const decoder = new TextDecoder();
    for await (const bytes of response.body) {
      const charactersBefore = reply.characters;
      parser.feed(decoder.decode(bytes as Uint8Array, { stream: true }));
      const ready = events;
      events = [];
      // Only what says something counts: comments and empty chunks must not hold off the watchdog.
      if (ready.length === 0 && reply.characters === charactersBefore) continue;
      // While the consumer is busy with these the server is not to blame.
      watchdog.stop();
      yield* ready;
      if (reply.ended) return;
      watchdog.expect(reply.finished ? USAGE_WAIT_MS : this.#limits.stallMs);
    }
  }

  #explain(error: unknown, watchdog: Watchdog, asked: boolean, reply: ChatReply): EngineError {
    if (watchdog.signal.aborted) {
      if (reply.characters > 0) return new EngineError('stalled', `The language model fell silent for ${this.#limits.stallMs} ms in mid-reply`, { retry: true });
      return new EngineError('timeout', `The language model said nothing within ${this.#limits.firstTokenMs} ms`, { retry: true });
    }
    return error instanceof EngineError ? error : networkError(error, asked ? 'stream' : 'connect', this.#options.apiKey);
  }

  *#estimate(requestChars: number, replyChars: number): Generator<LlmEvent> {
    const tokens = { input: estimateTokens(requestChars), cached: 0, output: estimateTokens(replyChars) };
    for (const usage of usageOf(this.model, tokens, 'estimated')) yield { kind: 'usage', usage };
  }
}

async function firstBytes(response: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  if (!response.body) return text;
  for await (const bytes of response.body) {
    text += decoder.decode(bytes as Uint8Array, { stream: true });
    if (text.length >= MAX_ERROR_BYTES) break;
  }
  return text.slice(0, MAX_ERROR_BYTES);
}
