import type { AudioFrame } from '../../media/audio-frame.ts';
import type { EndReason } from '../end-reason.ts';

/** The far end of a conversation: a phone call, a browser session or a test fake. */
export interface CallLeg {
  /** Aborted, with its EndReason as `signal.reason`, once the far end is gone. */
  readonly signal: AbortSignal;
  /** The next 20 ms heard, in order, as soon as it is there; concealment or silence once its time has run out; undefined before. Never waits. */
  read(): AudioFrame | undefined;
  /** The next 20 ms for the far end to hear. Never waits. */
  write(frame: AudioFrame): void;
  /** Drops what was written but not yet heard (a browser buffers a little). */
  clear(): void;
  hangUp(reason: EndReason): void;
}
