import { SILENCE } from '../../media/audio-frame.ts';
import type { MediaClock, Tick } from '../../media/clock.ts';
import type { Recorder } from '../../media/recorder.ts';
import type { CallSummary, FromWorker } from '../calls/worker-protocol.ts';
import type { CallLeg } from '../conversation/call-leg.ts';
import type { Conversation } from '../conversation/conversation.ts';
import type { EndReason } from '../end-reason.ts';

/** A leg as a session drives it: closed at the end, and asked now and then whether its far end is still there. */
export interface SessionLeg extends CallLeg {
  /** Sends what was written, for a leg that gathers it until its whole group has spoken. */
  flush?(): void;
  checkPresence(): void;
  /** True while the far end has lost its connection and may come back: the agent waits. */
  readonly waiting: boolean;
  close(): Promise<void>;
}

export interface CallSessionParts {
  callId: string;
  leg: SessionLeg;
  conversation: Conversation;
  recorder: Recorder | undefined;
  clock: MediaClock;
  /** The call's figures, asked for once, when it ends. */
  summary: () => CallSummary;
  post: (message: FromWorker) => void;
}

/** Presence is asked for once a second, not every tick. */
const PRESENCE_EVERY_TICKS = 50;
/** A burst after a stall is heard in slices, so that one call cannot starve the others' ticks. */
const MAX_FRAMES_PER_READ = 25;

/**
 * One live call on the media side: moves frames between its leg and its conversation, and ends everything with the leg.
 * Hearing happens as packets arrive; saying happens on the media clock.
 */
export class CallSession {
  readonly #parts: CallSessionParts;
  #tick: Tick | undefined;
  #ticks = 0;
  #finished: Promise<void> | undefined;

  constructor(parts: CallSessionParts) {
    this.#parts = parts;
    parts.leg.signal.addEventListener('abort', () => void this.#finish(), { once: true });
    if (parts.leg.signal.aborted) void this.#finish();
  }

  get callId(): string {
    return this.#parts.callId;
  }

  /** Answered, and not ended. */
  get inProgress(): boolean {
    return this.#tick !== undefined && this.#finished === undefined;
  }

  /** The far end is connected: start the clock and speak. */
  start(): void {
    if (this.#tick || this.#finished) return;
    this.#parts.conversation.start();
    this.#tick = this.#parts.clock.add(() => this.#onTick(), () => this.#parts.leg.flush?.());
  }

  /** Hears what has arrived. Called on every packet; nothing before the call is answered. */
  hear(): void {
    if (!this.#tick || this.#parts.leg.waiting) return;
    const { leg, conversation, recorder } = this.#parts;
    for (let heard = 0; heard < MAX_FRAMES_PER_READ; heard++) {
      const frame = leg.read();
      if (!frame) return;
      recorder?.caller(frame);
      conversation.hear(frame);
    }
  }

  hangUp(reason: EndReason): void {
    this.#parts.leg.hangUp(reason);
  }

  /** Resolves when the call has ended and everything of it is closed. */
  async ended(): Promise<void> {
    await this.#finished;
  }

  #onTick(): void {
    const { leg, conversation, recorder } = this.#parts;
    if (++this.#ticks % PRESENCE_EVERY_TICKS === 0) leg.checkPresence();
    if (leg.waiting) {
      recorder?.agent(SILENCE);
      return;
    }
    this.hear();
    const frame = conversation.say();
    leg.write(frame);
    recorder?.agent(frame);
  }

  #finish(): Promise<void> {
    this.#finished ??= this.#close();
    return this.#finished;
  }

  async #close(): Promise<void> {
    const { leg, recorder, callId, post } = this.#parts;
    this.#tick?.stop();
    const reason = leg.signal.reason as EndReason;
    const summary = this.#parts.summary();
    const faults: string[] = [];
    const recording = await recorder?.close().catch((error: unknown) => void faults.push(`recording: ${String(error)}`));
    await leg.close().catch((error: unknown) => void faults.push(`leg: ${String(error)}`));
    post({
      type: 'ended',
      callId,
      reason,
      ...(faults.length > 0 ? { detail: faults.join('; ') } : {}),
      summary: recording ? { ...summary, recordingDurationMs: recording.durationMs } : summary,
    });
  }
}
