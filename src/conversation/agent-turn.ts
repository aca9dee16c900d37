import type { Speech } from '../../media/heard-text.ts';
import type { Heard, Playout } from '../../media/playout.ts';
import type { ConversationEvents } from './conversation-events.ts';
import type { Transcript } from './transcript.ts';
import type { TurnStopwatch } from './turn-stopwatch.ts';

export interface AgentTurnOptions {
  itemId: string;
  /** The call's lifetime: the turn ends with it. */
  callSignal: AbortSignal;
  /** Nothing the caller says stops it. */
  protected: boolean;
  playout: Playout;
  transcript: Transcript;
  events: ConversationEvents;
  /** Milliseconds since the call was answered. */
  elapsedMs: () => number;
  /** Times the answer to the caller; absent for what the agent says of its own accord. */
  stopwatch?: TurnStopwatch | undefined;
}

/** One thing the agent says, from the decision to say it to its end; its signal is the only way to stop it. */
export class AgentTurn {
  readonly itemId: string;
  readonly protected: boolean;
  readonly signal: AbortSignal;
  /** Milliseconds since the call was answered. */
  readonly begunMs: number;
  /** Resolves once it is over and the transcript says what was heard. Never rejects. */
  readonly done: Promise<void>;
  readonly #options: AgentTurnOptions;
  readonly #abort = new AbortController();
  readonly #finish: () => void;
  #phase: 'thinking' | 'speaking' = 'thinking';
  #text = '';
  #textWhole = false;
  #position: number | undefined;
  #startedMs = 0;

  constructor(options: AgentTurnOptions) {
    this.#options = options;
    this.itemId = options.itemId;
    this.protected = options.protected;
    this.begunMs = options.elapsedMs();
    this.signal = AbortSignal.any([this.#abort.signal, options.callSignal]);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.done = promise;
    this.#finish = resolve;
  }

  get phase(): 'thinking' | 'speaking' {
    return this.#phase;
  }

  abort(reason?: unknown): void {
    this.#abort.abort(reason);
  }

  /** A part of its text is on its way to be spoken. */
  addText(text: string): void {
    this.#options.stopwatch?.mark('clause');
    this.#text = this.#text ? `${this.#text} ${text}` : text;
    this.#options.events.onAgentAudio({ kind: 'text', itemId: this.itemId, text });
  }

  /** No more text will come: the transcript can show it while it is still being spoken. */
  endText(): void {
    this.#textWhole = true;
    this.#show();
  }

  /** Plays it and writes what was heard of it into the transcript. */
  async play(speech: AsyncIterable<Speech>): Promise<Heard> {
    const { playout, events, elapsedMs, stopwatch } = this.#options;
    const heard = await playout.play(speech, this.signal, {
      onFirstAudio: () => {
        this.#phase = 'speaking';
        this.#startedMs = elapsedMs();
        events.onAgentAudio({ kind: 'start', itemId: this.itemId });
        events.onState('speaking');
        this.#show();
      },
      onFirstVoiced: () => {
        if (stopwatch) events.onTurn(stopwatch.stop());
      },
    });
    this.#abort.abort(); // engines still at work for it stop here
    if (this.#phase === 'speaking') this.#conclude(heard);
    this.#finish();
    return heard;
  }

  #show(): void {
    if (!this.#textWhole || this.#phase !== 'speaking' || this.#position !== undefined) return;
    const { transcript, elapsedMs } = this.#options;
    this.#position = transcript.add({ role: 'agent', text: this.#text, startedMs: this.#startedMs, endedMs: elapsedMs() });
  }

  #conclude(heard: Heard): void {
    const { transcript, events, elapsedMs } = this.#options;
    const item = {
      role: 'agent' as const, text: this.#text, heardText: heard.text, startedMs: this.#startedMs, endedMs: elapsedMs(),
      ...(heard.complete ? {} : { interrupted: true }),
    };
    if (this.#position === undefined) this.#position = transcript.add(item);
    else transcript.correct(this.#position, item);
    if (heard.complete) events.onAgentAudio({ kind: 'end', itemId: this.itemId, text: this.#text });
    else events.onAgentAudio({ kind: 'corrected', itemId: this.itemId, heardText: heard.text });
  }
}
