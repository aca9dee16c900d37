import { FRAME_MS, FRAME_SAMPLES, SAMPLE_RATE, SILENCE, type AudioFrame } from './audio-frame.ts';
import type { Speech } from './heard-text.ts';
import { PlayoutItem } from './playout-item.ts';

/** What the far end heard of one thing said. `failure` is what the speech threw, if it did; everything before it was played. */
export interface Heard { text: string; complete: boolean; failure?: unknown }

/** Called from `next()`, before the frame in question is handed out. */
export interface PlayoutHooks {
  /** The first frame of this item. */
  onFirstAudio?: () => void;
  /** The first frame with a sound in it that an ear could notice. */
  onFirstVoiced?: () => void;
}

export interface PlayoutOptions {
  /** What the far end buffers of what `next()` handed out, and drops when told to clear. 0 for a phone. */
  latencyMs?: number;
  /** Speech is pulled until this much waits and one piece lies ready behind the one being played. */
  highWaterMs?: number;
}

interface Playing {
  item: PlayoutItem;
  hooks: PlayoutHooks;
  /** The speech has ended, or failed. */
  ended: boolean;
  failure: unknown;
  /** Lets the pulling of speech go on. */
  release: (() => void) | undefined;
  finish: (heard: Heard) => void;
}

const DEFAULT_HIGH_WATER_MS = 400;
const FADE_SAMPLES = (SAMPLE_RATE / 1000) * 5;
/** After a longer hold the cut word is said again from its start: half a word after a pause is not understood. */
const REPEAT_WORD_AFTER_MS = 200;
/** About -44 dBFS: quieter is a vocoder's floor or dither, not speech. */
const VOICED_PEAK = 200;

/**
 * The only place that knows what the caller has really heard. Speech goes in as it is synthesised; `next()` hands it
 * out frame by frame, with silence where there is none.
 */
export class Playout {
  readonly #frame: AudioFrame = new Int16Array(FRAME_SAMPLES);
  readonly #latencyMs: number;
  readonly #highWater: number;
  #playing: Playing | undefined;
  #held = false;
  #heldMs = 0;
  /** Speech sounded in the newest frame: going silent now needs a fade. */
  #sounding = false;
  /** `#frame` already holds the faded end of what was cut off. */
  #tailReady = false;
  #fadeIn = false;

  constructor(options: PlayoutOptions = {}) {
    this.#latencyMs = options.latencyMs ?? 0;
    this.#highWater = ((options.highWaterMs ?? DEFAULT_HIGH_WATER_MS) * SAMPLE_RATE) / 1000;
  }

  get held(): boolean {
    return this.#held;
  }

  /**
   * Plays speech as it arrives and resolves once it was heard to its end, was cut off by `signal`, or failed. Never
   * rejects. One at a time: throws RangeError while another is playing.
   */
  play(speech: AsyncIterable<Speech>, signal: AbortSignal, hooks: PlayoutHooks = {}): Promise<Heard> {
    if (this.#playing) throw new RangeError('playout: already playing; abort what plays before playing something else');
    if (signal.aborted) return Promise.resolve({ text: '', complete: false });
    const { promise, resolve } = Promise.withResolvers<Heard>();
    const playing: Playing = { item: new PlayoutItem(this.#latencyMs), hooks: { ...hooks }, ended: false, failure: undefined, release: undefined, finish: resolve };
    this.#playing = playing;
    const onAbort = (): void => this.#cut(playing);
    signal.addEventListener('abort', onAbort, { once: true });
    void this.#fill(playing, speech);
    return promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** Falls silent at once and keeps the position. Nothing to do while nothing is being played. */
  hold(): void {
    if (this.#held || !this.#playing) return;
    this.#held = true;
    this.#heldMs = 0;
    this.#makeTail(this.#playing.item);
    this.#playing.item.rewindToHeard();
  }

  /** Goes on where `hold` stopped. */
  resume(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#fadeIn = true;
    if (this.#heldMs > REPEAT_WORD_AFTER_MS) this.#playing?.item.rewindToWord();
  }

  /** The far end has played this much of the current item, gaps included (a browser's `playback.position`). */
  heardUpTo(playedMs: number): void {
    if (!this.#playing) return;
    this.#playing.item.report(playedMs);
    this.#settle(this.#playing);
  }

  /** The next frame for the far end. Never waits. The frame is reused: copy what you keep. */
  next(): AudioFrame {
    const playing = this.#playing;
    if (this.#held) {
      this.#heldMs += FRAME_MS;
      if (playing && playing.item.timeline.played > 0) playing.item.timeline.silence(FRAME_SAMPLES);
    }
    if (this.#tailReady) {
      this.#tailReady = false;
      return this.#frame;
    }
    if (!playing || this.#held) return SILENCE;
    return this.#read(playing);
  }

  #read(playing: Playing): AudioFrame {
    const { item } = playing;
    const first = item.timeline.played === 0;
    const count = item.read(this.#frame);
    this.#sounding = count > 0;
    if (count === 0) {
      this.#settle(playing);
      return SILENCE;
    }
    if (this.#fadeIn) fade(this.#frame, 'in');
    this.#fadeIn = false;
    if (first) playing.hooks.onFirstAudio?.();
    if (playing.hooks.onFirstVoiced && isVoiced(this.#frame)) {
      playing.hooks.onFirstVoiced();
      delete playing.hooks.onFirstVoiced;
    }
    if (!this.#full(item)) playing.release?.();
    this.#settle(playing);
    return this.#frame;
  }

  #full(item: PlayoutItem): boolean {
    return item.waiting >= this.#highWater && item.pieceAhead;
  }

  async #fill(playing: Playing, speech: AsyncIterable<Speech>): Promise<void> {
    const iterator = speech[Symbol.asyncIterator]();
    let exhausted = false;
    try {
      while (this.#playing === playing) {
        const next = await iterator.next();
        exhausted = next.done === true;
        if (exhausted || this.#playing !== playing) break;
        playing.item.add(next.value);
        while (this.#playing === playing && this.#full(playing.item)) await new Promise<void>((release) => (playing.release = release));
      }
    } catch (failure) {
      exhausted = true;
      playing.failure = failure;
    }
    if (!exhausted) void iterator.return?.()?.catch(() => {}); // its consumer is gone: how it ends interests nobody
    playing.ended = true;
    this.#settle(playing);
  }

  /** Ends the item once everything there will ever be was heard. */
  #settle(playing: Playing): void {
    if (this.#playing !== playing || !playing.ended || !playing.item.heardAll) return;
    this.#playing = undefined;
    this.#held = false;
    const { failure, item } = playing;
    playing.finish(failure === undefined ? { text: item.text(), complete: true } : { text: item.text(), complete: false, failure });
  }

  #cut(playing: Playing): void {
    if (this.#playing !== playing) return;
    const { item } = playing;
    if (!this.#held) this.#makeTail(item);
    this.#playing = undefined;
    this.#held = false;
    this.#fadeIn = false;
    playing.release?.();
    playing.finish({ text: item.heard(), complete: false });
  }

  /** Makes the next frame the start of what would have come, faded out in 5 ms, so that the cut does not click. */
  #makeTail(item: PlayoutItem): void {
    if (!this.#sounding) return;
    item.peek(this.#frame);
    fade(this.#frame, 'out');
    this.#frame.fill(0, FADE_SAMPLES);
    this.#tailReady = true;
    this.#sounding = false;
  }
}

function fade(frame: AudioFrame, direction: 'in' | 'out'): void {
  for (let index = 0; index < FADE_SAMPLES; index++) {
    const gain = direction === 'in' ? index / FADE_SAMPLES : 1 - index / FADE_SAMPLES;
    frame[index] = (frame[index] as number) * gain;
  }
}

function isVoiced(frame: AudioFrame): boolean {
  for (let index = 0; index < FRAME_SAMPLES; index++) if (Math.abs(frame[index] as number) > VOICED_PEAK) return true;
  return false;
}
