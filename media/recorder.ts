/**
 * A call's recording: stereo PCM16 at 16 kHz, the caller left and the agent right, written to disk about once a second while
 * the call goes on. The agent's frame, one per 20 ms tick, is the clock; the caller's frames are taken in step with it.
 */
import { close, ftruncate, open, write } from 'node:fs';
import { promisify } from 'node:util';
import { FRAME_MS, FRAME_SAMPLES, SAMPLE_RATE, SILENCE, type AudioFrame } from './audio-frame.ts';
import { WAV_HEADER_BYTES, wavHeader } from './wav.ts';

const CHANNELS = 2;
/** Bytes of one stereo frame. */
const FRAME_BYTES = FRAME_SAMPLES * CHANNELS * 2;
const FRAMES_PER_BLOCK = 50;
/** Blocks of a second each that may wait for a slow disk: half a megabyte. */
const MAX_BLOCKS = 8;
/** Caller frames that may wait for their tick before the quietest is left out. */
const MAX_BEHIND = 5;

export interface RecorderOptions {
  /** The disk failed: the recording ends here, the call goes on. Called once. */
  onError?: (error: Error) => void;
}

/** Writes that a recorder makes; a test gives a slow or a full disk. */
export interface RecorderDisk {
  write(fd: number, bytes: Uint8Array, length: number, position: number): Promise<void>;
}

const disk: RecorderDisk = {
  write: async (fd, bytes, length, position) => {
    let done = 0;
    while (done < length) done += await writeOnce(fd, bytes, done, length - done, position + done);
  },
};

export class Recorder {
  readonly #fd: number;
  readonly #disk: RecorderDisk;
  readonly #onError: ((error: Error) => void) | undefined;
  readonly #callerFrames: AudioFrame[] = Array.from({ length: MAX_BEHIND + 1 }, () => new Int16Array(FRAME_SAMPLES));
  #callerWaiting = 0;
  #free: Int16Array[] = [];
  #blocks = 0;
  #full: { block: Int16Array; firstFrame: number; frames: number }[] = [];
  /** The block being filled; undefined while the disk is so slow that a gap is being left. */
  #block: Int16Array | undefined;
  #frames = 0;
  #gapFrames = 0;
  #writing: Promise<void> | undefined;
  #failed = false;
  #closed: Promise<{ durationMs: number }> | undefined;

  /** Creates the file (an existing one is replaced) with a header that `repairWav` makes right after a crash. Throws when it cannot. */
  static async open(path: string, options: RecorderOptions & { disk?: RecorderDisk } = {}): Promise<Recorder> {
    const fd = await promisify(open)(path, 'w', 0o600);
    const recorder = new Recorder(fd, options);
    try {
      await disk.write(fd, wavHeader({ sampleRate: SAMPLE_RATE, channels: CHANNELS, dataBytes: 0 }), WAV_HEADER_BYTES, 0);
    } catch (error) {
      await promisify(close)(fd);
      throw error;
    }
    return recorder;
  }

  private constructor(fd: number, options: RecorderOptions & { disk?: RecorderDisk }) {
    this.#fd = fd;
    this.#disk = options.disk ?? disk;
    this.#onError = options.onError;
  }

  /** Milliseconds left silent because the disk was too slow for them. */
  get gapMs(): number {
    return this.#gapFrames * FRAME_MS;
  }

  /** The next 20 ms of the caller; copied. When more than five wait, the quietest is left out. */
  caller(frame: AudioFrame): void {
    this.#callerFrames[this.#callerWaiting]!.set(frame);
    this.#callerWaiting++;
    if (this.#callerWaiting > MAX_BEHIND) this.#removeCaller(this.#quietest());
  }

  /** The next 20 ms of the agent, called once each tick: writes both sides; the caller's is silence when none waits. */
  agent(frame: AudioFrame): void {
    if (this.#closed) return;
    const at = this.#frames % FRAMES_PER_BLOCK;
    if (at === 0) this.#block = this.#takeBlock();
    const block = this.#block;
    if (block === undefined) this.#gapFrames++;
    else interleave(block, at * FRAME_SAMPLES * CHANNELS, this.#callerWaiting > 0 ? this.#callerFrames[0]! : SILENCE, frame);
    if (this.#callerWaiting > 0) this.#removeCaller(0);
    this.#frames++;
    if (at + 1 === FRAMES_PER_BLOCK) this.#finishBlock();
  }

  /** Writes the rest and the final header. The length is that of the call even where a gap was left. */
  close(): Promise<{ durationMs: number }> {
    this.#closed ??= this.#finish();
    return this.#closed;
  }

  #quietest(): number {
    let quietest = 0;
    let least = Infinity;
    for (let i = 0; i < this.#callerWaiting; i++) {
      const frame = this.#callerFrames[i]!;
      let loudness = 0;
      for (let s = 0; s < FRAME_SAMPLES; s++) loudness += Math.abs(frame[s]!);
      if (loudness < least) [least, quietest] = [loudness, i];
    }
    return quietest;
  }

  /** Takes a frame out of the queue and puts its buffer behind the others. */
  #removeCaller(index: number): void {
    const frames = this.#callerFrames;
    const removed = frames[index]!;
    for (let i = index + 1; i < frames.length; i++) frames[i - 1] = frames[i]!;
    frames[frames.length - 1] = removed;
    this.#callerWaiting--;
  }

  #takeBlock(): Int16Array | undefined {
    if (this.#failed) return undefined;
    const free = this.#free.pop();
    if (free !== undefined || this.#blocks === MAX_BLOCKS) return free;
    this.#blocks++;
    return new Int16Array(FRAMES_PER_BLOCK * FRAME_SAMPLES * CHANNELS);
  }

  #finishBlock(): void {
    const block = this.#block;
    this.#block = undefined;
    if (block === undefined) return;
    const frames = this.#frames % FRAMES_PER_BLOCK || FRAMES_PER_BLOCK;
    this.#full.push({ block, firstFrame: this.#frames - frames, frames });
    this.#writing ??= this.#writeFull().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Each block goes to its own place in the file, so that a block never written leaves a hole, which reads as silence. */
  async #writeFull(): Promise<void> {
    for (let next = this.#full.shift(); next !== undefined; next = this.#full.shift()) {
      const { block, firstFrame, frames } = next;
      if (!this.#failed) {
        await this.#disk
          .write(this.#fd, new Uint8Array(block.buffer), frames * FRAME_BYTES, WAV_HEADER_BYTES + firstFrame * FRAME_BYTES)
          .catch((error: Error) => this.#fail(error));
      }
      this.#free.push(block);
    }
  }

  #fail(error: Error): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#onError?.(error);
  }

  async #finish(): Promise<{ durationMs: number }> {
    if (this.#frames % FRAMES_PER_BLOCK > 0) this.#finishBlock();
    await this.#writing;
    // The loop may have ended just as a block was added to it.
    await this.#writeFull();
    const dataBytes = this.#frames * FRAME_BYTES;
    try {
      await promisify(ftruncate)(this.#fd, WAV_HEADER_BYTES + dataBytes);
      await this.#disk.write(this.#fd, wavHeader({ sampleRate: SAMPLE_RATE, channels: CHANNELS, dataBytes }), WAV_HEADER_BYTES, 0);
    } catch (error) {
      this.#fail(error as Error);
    }
    await promisify(close)(this.#fd).catch((error: Error) => this.#fail(error));
    return { durationMs: this.#frames * FRAME_MS };
  }
}

function interleave(block: Int16Array, at: number, left: AudioFrame, right: AudioFrame): void {
  for (let i = 0, o = at; i < FRAME_SAMPLES; i++, o += 2) {
    block[o] = left[i]!;
    block[o + 1] = right[i]!;
  }
}

function writeOnce(fd: number, bytes: Uint8Array, from: number, length: number, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, from, length, position, (error, written) => (error ? reject(error) : resolve(written)));
  });
}
