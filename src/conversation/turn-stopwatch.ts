import type { TurnLatency } from '../calls/worker-protocol.ts';

type Mark = 'waited' | 'text' | 'clause';

/** Times one turn, from the caller's last voice to the agent's first; its stages add up to the whole. Milliseconds of the given clock. */
export class TurnStopwatch {
  readonly #now: () => number;
  readonly #voiceAt: number;
  readonly #marks: Partial<Record<Mark, number>> = {};

  /** `voiceAt`: when the caller's last voiced audio arrived. */
  constructor(now: () => number, voiceAt: number) {
    this.#now = now;
    this.#voiceAt = voiceAt;
  }

  /** `waited`: silence has lasted long enough. `text`: the caller's words are known. `clause`: the reply's first clause is. The first of each counts. */
  mark(mark: Mark, at: number = this.#now()): void {
    this.#marks[mark] ??= at;
  }

  /** The agent's first voiced frame leaves now. */
  stop(): TurnLatency {
    const end = this.#now();
    const text = this.#marks.text ?? end;
    const waited = this.#marks.waited ?? text;
    const clause = this.#marks.clause ?? text;
    return {
      voiceToVoiceMs: end - this.#voiceAt,
      endpointingMs: waited - this.#voiceAt,
      sttMs: text - waited,
      llmMs: clause - text,
      ttsMs: end - clause,
    };
  }
}
