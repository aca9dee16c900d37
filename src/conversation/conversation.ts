import type { AudioFrame } from '../../media/audio-frame.ts';

/** Composed pipeline and speech-to-speech model are the same thing to a call: it hears frames and says frames. */
export interface Conversation {
  /** One frame of what the far end says, in order; exactly one per 20 ms. */
  hear(frame: AudioFrame): void;
  /** The next frame for the far end; silence when there is nothing to say. Never waits. */
  say(): AudioFrame;
  /** Has the agent say a text as soon as neither side is speaking; false: too many texts wait already. */
  speak(text: string): boolean;
  /** Lets the agent know something, from its next reply on. */
  inform(text: string): void;
  /** The far end is connected: speak the opening message. Called once. */
  start(): void;
}
