/** What each turn of a call cost in time, milliseconds. */
export interface TurnLatency { voiceToVoiceMs: number; endpointingMs: number; sttMs: number; llmMs: number; ttsMs: number }

interface Percentiles { p50: number; p95: number; max: number; count: number }

/** The call's `latency` field; null when no turn was measured and the agent was never heard. */
export function latencyOf(turns: readonly TurnLatency[], answerToFirstAudioMs: number | undefined): object | null {
  if (turns.length === 0 && answerToFirstAudioMs === undefined) return null;
  const of = (pick: (turn: TurnLatency) => number): Percentiles => percentiles(turns.map(pick));
  return {
    voice_to_voice: of((turn) => turn.voiceToVoiceMs),
    endpointing: of((turn) => turn.endpointingMs),
    stt: of((turn) => turn.sttMs),
    llm: of((turn) => turn.llmMs),
    tts: of((turn) => turn.ttsMs),
    answer_to_first_audio_ms: answerToFirstAudioMs === undefined ? null : Math.round(answerToFirstAudioMs),
  };
}

/** Nearest-rank percentiles of milliseconds, rounded. */
function percentiles(values: number[]): Percentiles {
  const sorted = values.map(Math.round).sort((a, b) => a - b);
  const rank = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return { p50: rank(0.5), p95: rank(0.95), max: sorted.at(-1) ?? 0, count: sorted.length };
}
