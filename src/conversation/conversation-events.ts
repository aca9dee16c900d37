import type { CallLogEntry, TranscriptItem, TurnLatency } from '../calls/worker-protocol.ts';
import type { Usage } from '../engines/engine.ts';

/** What the agent says, as the far end should know it; `itemId` names one reply or line. */
export type AgentAudioEvent =
  /** The next frame is its first. */
  | { kind: 'start'; itemId: string }
  /** The next part of its text. */
  | { kind: 'text'; itemId: string; text: string }
  /** It was said to its end. */
  | { kind: 'end'; itemId: string; text: string }
  /** It was cut: the caller heard only this. */
  | { kind: 'corrected'; itemId: string; heardText: string };

/** What a conversation reports as it goes. Called on the media thread, synchronously: nothing here may wait or throw. */
export interface ConversationEvents {
  onState(state: 'listening' | 'thinking' | 'speaking'): void;
  onTranscript(item: TranscriptItem): void;
  onPartial(text: string): void;
  onLog(entry: CallLogEntry): void;
  onTurn(latency: TurnLatency): void;
  onUsage(usage: Usage): void;
  /** The caller stopped the agent, or made it pause for a sound that was nothing. */
  onInterruption(kind: 'by_caller' | 'false_alarm'): void;
  onAgentAudio(event: AgentAudioEvent): void;
  /** The far end is to drop the agent's sound that it has buffered (CallLeg.clear). */
  onClear(): void;
}
