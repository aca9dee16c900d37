import { createReadStream } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { readWavInfo, type WavInfo } from '../../../media/wav.ts';

/** Where recordings live. Files today; the interface is what an object store would have to do. */
export interface RecordingStorage {
  /** Where the media worker writes this call's WAV; its directory exists once this resolves. */
  prepare(callId: string): Promise<string>;
  /** Bytes stored; undefined: no recording. */
  size(callId: string): Promise<number | undefined>;
  /** Bytes `from` to `to`, both included. */
  read(callId: string, from: number, to: number): Readable;
  /** What the WAV holds. Throws when it is none. */
  describe(callId: string): Promise<WavInfo>;
  delete(callId: string): Promise<void>;
}

/** Recordings under `directory`, spread over folders by the last two digits of the call's id. */
export class FileRecordings implements RecordingStorage {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  pathOf(callId: string): string {
    if (!/^[0-9a-f]{24}$/.test(callId)) throw new Error(`${callId} is not a call id`);
    return join(this.#directory, callId.slice(-2), `${callId}.wav`);
  }

  async prepare(callId: string): Promise<string> {
    const path = this.pathOf(callId);
    await mkdir(join(path, '..'), { recursive: true, mode: 0o700 });
    return path;
  }

  async size(callId: string): Promise<number | undefined> {
    try {
      return (await stat(this.pathOf(callId))).size;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  read(callId: string, from: number, to: number): Readable {
    return createReadStream(this.pathOf(callId), { start: from, end: to });
  }

  describe(callId: string): Promise<WavInfo> {
    return readWavInfo(this.pathOf(callId));
  }

  async delete(callId: string): Promise<void> {
    await rm(this.pathOf(callId), { force: true });
  }
}
