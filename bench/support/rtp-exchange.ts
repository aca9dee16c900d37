import { SILENT_PAYLOAD } from './speech-pattern.ts';
import { isVoiced } from './ulaw.ts';

const HEADER = 12;
/** The agent has finished once it was quiet for so long: longer than its pauses between sentences. */
const QUIET_MS = { interrupting: 400, polite: 1200 };
/** Frames of the agent's reply that the caller listens to before cutting in. */
const LISTEN_FRAMES = 40;
const REPLY_TIMEOUT_FRAMES = 250;
/** An agent heard this shortly before the caller's end was not cut. */
const CUT_MARGIN_MS = 200;

/** One turn of a measured caller; times in ms on the machine's monotonic clock, absent when it did not happen. */
export interface ExchangeTurn {
  /** First and last voiced packet of the caller sent. */
  startedAt: number;
  endedAt: number;
  /** Last voiced packet of the agent while the caller spoke over it; only for turns that cut in. */
  agentCutAt?: number;
  cutIn: boolean;
  /** First voiced packet of the agent after `endedAt`. */
  repliedAt?: number;
}

/** `interrupting` cuts into every reply, `polite` lets each one end. */
export type Manner = keyof typeof QUIET_MS;

export interface Exchange { openingAt?: number; turns: ExchangeTurn[] }

type State =
  /** The agent speaks, or is about to for the first time. */
  | { kind: 'hearing' }
  | { kind: 'speaking'; turn: ExchangeTurn; payloads: readonly Uint8Array[]; frame: number }
  | { kind: 'waiting'; turn: ExchangeTurn; frames: number }
  | { kind: 'listening'; frames: number }
  | { kind: 'done' };

/** A caller who lets the opening end, speaks, hears the answer, and speaks again, according to its manner. */
export class ExchangeCaller {
  readonly #voice: (turn: number) => readonly Uint8Array[];
  readonly #turnsWanted: number;
  readonly #manner: Manner;
  readonly #now: () => number;
  readonly exchange: Exchange = { turns: [] };
  #state: State = { kind: 'hearing' };
  #agentVoicedAt = Number.NEGATIVE_INFINITY;

  /** `voice` gives the payloads of each turn, counted from 0. */
  constructor(options: { voice: (turn: number) => readonly Uint8Array[]; turns: number; manner: Manner; now: () => number }) {
    this.#voice = options.voice;
    this.#manner = options.manner;
    this.#turnsWanted = options.turns;
    this.#now = options.now;
  }

  get done(): boolean {
    return this.#state.kind === 'done';
  }

  /** A packet of the agent. */
  hear(packet: Uint8Array): void {
    if (!isVoiced(packet, HEADER)) return;
    const now = this.#now();
    this.#agentVoicedAt = now;
    this.exchange.openingAt ??= now;
    if (this.#state.kind !== 'waiting') return;
    this.#state.turn.repliedAt = now;
    this.#state = this.#afterReply();
  }

  /** The payload of the packet that is sent now, every 20 ms. */
  next(): Uint8Array {
    const state = this.#state;
    switch (state.kind) {
      case 'hearing': {
        const quiet = this.exchange.openingAt !== undefined && this.#now() - this.#agentVoicedAt > QUIET_MS[this.#manner];
        return quiet ? this.#speak(false) : SILENT_PAYLOAD;
      }
      case 'listening':
        return ++state.frames > LISTEN_FRAMES ? this.#speak(true) : SILENT_PAYLOAD;
      case 'speaking':
        return this.#speakOn(state);
      case 'waiting':
        if (++state.frames > REPLY_TIMEOUT_FRAMES) this.#state = { kind: 'done' };
        return SILENT_PAYLOAD;
      case 'done':
        return SILENT_PAYLOAD;
    }
  }

  #afterReply(): State {
    if (this.exchange.turns.length >= this.#turnsWanted) return { kind: 'done' };
    return this.#manner === 'polite' ? { kind: 'hearing' } : { kind: 'listening', frames: 0 };
  }

  #speak(cutIn: boolean): Uint8Array {
    const now = this.#now();
    const turn: ExchangeTurn = { startedAt: now, endedAt: now, cutIn };
    const payloads = this.#voice(this.exchange.turns.length);
    this.exchange.turns.push(turn);
    this.#state = { kind: 'speaking', turn, payloads, frame: 1 };
    return payloads[0] ?? SILENT_PAYLOAD;
  }

  #speakOn(state: Extract<State, { kind: 'speaking' }>): Uint8Array {
    const payload = state.payloads[state.frame++];
    if (payload) {
      state.turn.endedAt = this.#now();
      return payload;
    }
    const { turn } = state;
    if (turn.cutIn && this.#agentVoicedAt < turn.endedAt - CUT_MARGIN_MS) turn.agentCutAt = this.#agentVoicedAt;
    this.#state = { kind: 'waiting', turn, frames: 1 };
    return SILENT_PAYLOAD;
  }
}
