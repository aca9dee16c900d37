/** The voice detector's view; times are milliseconds of heard audio (media/vad.ts VadGate). */
export interface VoiceActivity {
  speaking: boolean;
  /** Silence since the last voiced window. */
  silentMs: number;
  /** Where the newest run of voice began. */
  speechStartMs: number;
  lastVoicedMs: number;
}

/** Gaps shorter than this lie within words and between them. */
const GAP_MS = 300;

/** Runs of voice that belong together: the detector has no hangover, so that one sentence is many runs. */
export class VoiceBurst {
  #startMs = 0;
  #earlierMs = 0;
  #runStartMs = 0;
  #runEndMs = 0;

  /** Where the newest burst began. */
  get startMs(): number {
    return this.#startMs;
  }

  /** Voice in the newest burst, without its gaps. */
  get voicedMs(): number {
    return this.#earlierMs + this.#runEndMs - this.#runStartMs;
  }

  next(voice: VoiceActivity): void {
    if (voice.speechStartMs !== this.#runStartMs) {
      const joined = voice.speechStartMs - this.#runEndMs < GAP_MS;
      this.#earlierMs = joined ? this.voicedMs : 0;
      if (!joined) this.#startMs = voice.speechStartMs;
      this.#runStartMs = voice.speechStartMs;
    }
    this.#runEndMs = voice.lastVoicedMs;
  }
}
