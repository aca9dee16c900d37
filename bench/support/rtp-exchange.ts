import { SILENT_PAYLOAD } from './speech-pattern.ts';
import { isVoiced } from './ulaw.ts';

const HEADER = 12;
/** Frames of quiet after the opening before the caller speaks first. */
const PAUSE_FRAMES = 20;
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

export interface Exchange { openingAt?: number; turns: ExchangeTurn[] }

type State =
  | { kind: 'opening' }
  | { kind: 'speaking'; turn: ExchangeTurn; frame: number }
  | { kind: 'waiting'; turn: ExchangeTurn; frames: number }
  | { kind: 'listening'; frames: number }
  | { kind: 'done' };

/** A caller who lets the opening end, speaks, hears the answer begin, and cuts into it with the next turn. */
export class ExchangeCaller {
  readonly #voice: readonly Uint8Array[];
  readonly #turnsWanted: number;
  readonly #now: () => number;
  readonly exchange: Exchange = { turns: [] };
  #state: State = { kind: 'opening' };
  #agentVoicedAt = Number.NEGATIVE_INFINITY;

  constructor(options: { voice: readonly Uint8Array[]; turns: number; now: () => number }) {
    this.#voice = options.voice;
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
    this.#state = this.exchange.turns.length >= this.#turnsWanted ? { kind: 'done' } : { kind: 'listening', frames: 0 };
  }

  /** The payload of the packet that is sent now, every 20 ms. */
  next(): Uint8Array {
    const state = this.#state;
    switch (state.kind) {
      case 'opening': {
        const quiet = this.exchange.openingAt !== undefined && this.#now() - this.#agentVoicedAt > PAUSE_FRAMES * 20;
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

  #speak(cutIn: boolean): Uint8Array {
    const now = this.#now();
    const turn: ExchangeTurn = { startedAt: now, endedAt: now, cutIn };
    this.exchange.turns.push(turn);
    this.#state = { kind: 'speaking', turn, frame: 1 };
    return this.#voice[0] ?? SILENT_PAYLOAD;
  }

  #speakOn(state: Extract<State, { kind: 'speaking' }>): Uint8Array {
    const payload = this.#voice[state.frame++];
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
