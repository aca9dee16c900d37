import { FRAME_MS, type AudioFrame } from '../../media/audio-frame.ts';
import type { CallLeg } from '../../src/conversation/call-leg.ts';
import type { EndReason } from '../../src/end-reason.ts';

/** A far end that a test holds in its hands: hears what the test queues, and keeps what it was told. */
export class FakeLeg implements CallLeg {
  readonly #life = new AbortController();
  readonly #queued: AudioFrame[] = [];
  /** Loudest sample of each frame written, in order: enough to tell speech from silence. */
  readonly peaks: number[] = [];
  cleared = 0;

  get signal(): AbortSignal {
    return this.#life.signal;
  }

  /** Why it hung up; undefined while it is there. */
  get endReason(): EndReason | undefined {
    return this.#life.signal.aborted ? (this.#life.signal.reason as EndReason) : undefined;
  }

  /** A frame arrives from the far end. */
  arrive(frame: AudioFrame): void {
    this.#queued.push(frame);
  }

  read(): AudioFrame | undefined {
    return this.#queued.shift();
  }

  write(frame: AudioFrame): void {
    let peak = 0;
    for (const sample of frame) peak = Math.max(peak, Math.abs(sample));
    this.peaks.push(peak);
  }

  clear(): void {
    this.cleared++;
  }

  hangUp(reason: EndReason): void {
    this.#life.abort(reason);
  }

  /** Milliseconds of sound among the last `ms` written. */
  soundMs(ms: number): number {
    return this.peaks.slice(-ms / FRAME_MS).filter((peak) => peak > 0).length * FRAME_MS;
  }
}
