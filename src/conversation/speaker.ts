import type { Speech } from '../../media/heard-text.ts';
import type { Heard, Playout } from '../../media/playout.ts';
import type { AgentSpec } from '../calls/worker-protocol.ts';
import { EngineError, type LlmEngine, type TtsEngine } from '../engines/engine.ts';
import { AgentTurn } from './agent-turn.ts';
import type { ConversationEvents } from './conversation-events.ts';
import { preload } from './preloaded-speech.ts';
import { promptMessages } from './prompt.ts';
import { Reply } from './reply.ts';
import { retryingSpeech } from './retrying-speech.ts';
import { sentences } from './sentences.ts';
import type { LineVoice, RenderedLines } from './spoken-lines.ts';
import type { Transcript } from './transcript.ts';
import type { AgentActivity } from './turn-controller.ts';
import type { TurnStopwatch } from './turn-stopwatch.ts';

/** How a turn of the agent ended. */
export type Outcome = { itemId: string } & (
  | { kind: 'said'; source: 'reply' | 'line' }
  /** Heard to its end, and the model wants to hang up. `silent`: it said nothing along with that. */
  | { kind: 'endCall'; silent: boolean }
  /** The caller, the call's end or what the agent says next stopped it. */
  | { kind: 'cut' }
  | { kind: 'failed'; component: 'llm' | 'tts'; error: unknown }
);

export interface SpeakerOptions {
  agent: AgentSpec;
  llm: LlmEngine;
  tts: TtsEngine;
  playout: Playout;
  transcript: Transcript;
  lines: RenderedLines;
  events: ConversationEvents;
  /** The call's lifetime. */
  callSignal: AbortSignal;
  elapsedMs: () => number;
  onOutcome: (outcome: Outcome) => void;
  /** A fault of ours, where the call cannot go on. */
  onBroken: (error: unknown) => void;
}

const MAX_TOLD_CHARS = 20_000;

/** The agent's mouth: one turn at a time, each from its text to what was heard of it. */
export class Speaker {
  readonly #options: SpeakerOptions;
  #current: AgentTurn | undefined;
  /** The newest turn, over or not: the next one begins after its last word stands in the transcript. */
  #newest: AgentTurn | undefined;
  #opening: { turn: AgentTurn; speech: AsyncIterable<Speech> } | undefined;
  /** What it was told during the call. */
  readonly #told: string[] = [];
  #items = 0;
  readonly #activity: AgentActivity = { state: 'silent', held: false, protected: false };

  constructor(options: SpeakerOptions) {
    this.#options = options;
  }

  /** What the agent does now; valid until it is asked again. */
  get activity(): AgentActivity {
    const turn = this.#current;
    this.#activity.state = turn?.phase ?? 'silent';
    this.#activity.held = this.#options.playout.held;
    this.#activity.protected = turn?.protected ?? false;
    return this.#activity;
  }

  /** The turn that has the floor. */
  get turn(): AgentTurn | undefined {
    return this.#current;
  }

  /** Synthesises the opening before the call is answered; resolves once its first piece is there, or it has failed. */
  prepareOpening(): Promise<void> {
    const { agent } = this.#options;
    if (this.#opening || !agent.openingMessage.trim()) return Promise.resolve();
    const turn = this.#newTurn({ protected: agent.protectOpening });
    const { ready, speech } = preload(this.#lineSpeech(turn, agent.openingMessage));
    this.#opening = { turn, speech };
    return ready;
  }

  open(): void {
    void this.prepareOpening();
    const opening = this.#opening;
    if (opening) this.#begin(opening.turn, opening.speech, (heard) => judgeLine(opening.turn, heard));
  }

  /** Answers what stands in the transcript. `note` tells the model why, where the caller did not. */
  reply(options: { stopwatch?: TurnStopwatch | undefined; note?: string }): void {
    const { agent, llm, events, transcript } = this.#options;
    const turn = this.#newTurn({ protected: false, stopwatch: options.stopwatch });
    const { note } = options;
    const reply = new Reply({
      llm,
      temperature: agent.llm.temperature,
      maxTokens: agent.llm.maxTokens,
      messages: () => promptMessages({ systemPrompt: agent.systemPrompt, language: agent.language, told: this.#told, items: transcript.items, ...(note ? { note } : {}) }),
      signal: turn.signal,
      onUsage: (usage) => events.onUsage(usage),
      onClause: (clause) => turn.addText(clause),
    });
    this.#begin(turn, this.#speak(untilEnd(reply.clauses(), turn), turn.signal), (heard) => judgeReply(turn, heard, reply));
  }

  /** Tells the model something, from its next reply on; of more than it can keep, the newest. */
  inform(text: string): void {
    this.#told.push(text);
    while (this.#told.length > 1 && this.#told.join('').length > MAX_TOLD_CHARS) this.#told.shift();
  }

  /** Says a fixed text; answers its item. */
  line(text: string, options: { protected: boolean }): string {
    const turn = this.#newTurn(options);
    this.#begin(turn, this.#lineSpeech(turn, text), (heard) => judgeLine(turn, heard));
    return turn.itemId;
  }

  /** Whether this line can be spoken without the voice engine. */
  isRendered(text: string): boolean {
    return this.#options.lines.get(this.#voice(), text) !== undefined;
  }

  /** Keeps these lines ready for the time the voice engine fails. Never rejects. */
  async render(texts: string[]): Promise<void> {
    const { lines, callSignal } = this.#options;
    for (const text of texts) await lines.render(this.#voice(), text, (line) => this.#speak(once(line), callSignal), callSignal);
  }

  hold(): void {
    this.#options.playout.hold();
  }

  resume(): void {
    this.#options.playout.resume();
  }

  /** Ends the agent's turn at once. */
  interrupt(): void {
    const turn = this.#current;
    this.#current = undefined;
    turn?.abort();
    if (turn) this.#options.events.onState('listening');
  }

  #newTurn(options: { protected: boolean; stopwatch?: TurnStopwatch | undefined }): AgentTurn {
    const { callSignal, playout, transcript, events, elapsedMs } = this.#options;
    return new AgentTurn({ itemId: `item_${++this.#items}`, callSignal, playout, transcript, events, elapsedMs, ...options });
  }

  #begin(turn: AgentTurn, speech: AsyncIterable<Speech>, judge: (heard: Heard) => Outcome): void {
    const before = this.#newest;
    this.#current?.abort();
    this.#current = turn;
    this.#newest = turn;
    this.#options.events.onState('thinking');
    // The one place where a turn's promise is let go of: engines' failures are outcomes, aborts are none, the rest is a fault.
    this.#run(turn, speech, before, judge).catch((error: unknown) => this.#options.onBroken(error));
  }

  async #run(turn: AgentTurn, speech: AsyncIterable<Speech>, before: AgentTurn | undefined, judge: (heard: Heard) => Outcome): Promise<void> {
    await before?.done;
    const heard = await turn.play(speech);
    if (this.#current === turn) {
      this.#current = undefined;
      if (!this.#options.callSignal.aborted) this.#options.events.onState('listening');
    }
    this.#options.onOutcome(judge(heard));
  }

  #lineSpeech(turn: AgentTurn, text: string): AsyncIterable<Speech> {
    const rendered = this.#options.lines.get(this.#voice(), text);
    if (!rendered) return this.#speak(untilEnd(announced(sentences(once(text)), turn), turn), turn.signal);
    turn.addText(text);
    turn.endText();
    return fromArray(rendered);
  }

  #speak(text: AsyncIterable<string>, signal: AbortSignal): AsyncIterable<Speech> {
    const { tts, events } = this.#options;
    const { voice, speed, language } = this.#voice();
    return retryingSpeech(tts, text, { voice, speed, language, signal, onUsage: (usage) => events.onUsage(usage) });
  }

  #voice(): LineVoice {
    const { agent } = this.#options;
    return { model: agent.tts.model, voice: agent.tts.voice, speed: agent.tts.speed, language: agent.language };
  }
}

function judgeLine(turn: AgentTurn, heard: Heard): Outcome {
  const { itemId } = turn;
  if (heard.complete) return { kind: 'said', itemId, source: 'line' };
  return heard.failure === undefined ? { kind: 'cut', itemId } : { kind: 'failed', itemId, component: 'tts', error: heard.failure };
}

function judgeReply(turn: AgentTurn, heard: Heard, reply: Reply): Outcome {
  const { itemId } = turn;
  if (heard.failure !== undefined) return { kind: 'failed', itemId, component: 'tts', error: heard.failure };
  const timeout: unknown = turn.signal.reason;
  const error = timeout instanceof EngineError ? timeout : reply.failure;
  if (error && (heard.complete || error === timeout)) return { kind: 'failed', itemId, component: 'llm', error };
  if (!heard.complete) return { kind: 'cut', itemId };
  return reply.endsCall ? { kind: 'endCall', itemId, silent: heard.text === '' } : { kind: 'said', itemId, source: 'reply' };
}

async function* untilEnd(text: AsyncIterable<string>, turn: AgentTurn): AsyncGenerator<string, void, undefined> {
  yield* text;
  turn.endText();
}

async function* announced(text: AsyncIterable<string>, turn: AgentTurn): AsyncGenerator<string, void, undefined> {
  for await (const piece of text) {
    turn.addText(piece);
    yield piece;
  }
}

async function* once(text: string): AsyncGenerator<string, void, undefined> {
  yield text;
}

async function* fromArray<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items;
}
