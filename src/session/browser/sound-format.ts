import { FRAME_MS, FRAME_SAMPLES, SAMPLE_RATE, type AudioFrame } from '../../../media/audio-frame.ts';
import { decodeG711, encodeG711 } from '../../../media/codec/g711.ts';
import { Resampler } from '../../../media/resampler.ts';
import type { AudioFormat } from '../../calls/worker-protocol.ts';

/** Bounds of one binary message, ms of sound. */
export const MIN_MESSAGE_MS = 10;
export const MAX_MESSAGE_MS = 60;

const RATES: readonly number[] = [8000, 16_000, 24_000, 48_000];

/** One client's sound, from its binary messages to frames. Keeps the samples that do not fill a frame yet. */
export class SoundDecoder {
  readonly #format: AudioFormat;
  readonly #bytesPerSample: number;
  readonly #resampler: Resampler | undefined;
  readonly #wire: Int16Array<ArrayBuffer>;
  readonly #wireBytes: Uint8Array;
  readonly #house: Int16Array;
  #waiting = 0;

  /** Throws when the format is none of the protocol's. */
  constructor(format: AudioFormat) {
    checkFormat(format);
    const { encoding, sampleRate } = format;
    this.#format = format;
    this.#bytesPerSample = encoding === 'pcm16' ? 2 : 1;
    this.#resampler = sampleRate === SAMPLE_RATE ? undefined : new Resampler(sampleRate, SAMPLE_RATE);
    this.#wire = new Int16Array((sampleRate / 1000) * MAX_MESSAGE_MS);
    this.#wireBytes = new Uint8Array(this.#wire.buffer);
    // What waits, one message, and what a resampler may give beyond its share.
    this.#house = new Int16Array(FRAME_SAMPLES + (SAMPLE_RATE / 1000) * MAX_MESSAGE_MS + FRAME_SAMPLES);
  }

  /** The sentence that says what is wrong with a message's length; undefined: nothing. */
  check(bytes: Uint8Array): string | undefined {
    const { encoding, sampleRate } = this.#format;
    const bytesPerMs = (sampleRate / 1000) * this.#bytesPerSample;
    const from = MIN_MESSAGE_MS * bytesPerMs;
    const to = MAX_MESSAGE_MS * bytesPerMs;
    if (bytes.length >= from && bytes.length <= to && bytes.length % this.#bytesPerSample === 0) return undefined;
    return `${bytes.length} bytes of audio; ${encoding} at ${sampleRate} Hz takes whole samples, ${from} to ${to} bytes (${MIN_MESSAGE_MS} to ${MAX_MESSAGE_MS} ms).`;
  }

  /** The frames that a message completes. Each is valid until the next one is taken: copy what you keep. */
  *decode(bytes: Uint8Array): Generator<AudioFrame, void> {
    this.#append(bytes);
    let at = 0;
    for (; this.#waiting - at >= FRAME_SAMPLES; at += FRAME_SAMPLES) yield this.#house.subarray(at, at + FRAME_SAMPLES);
    this.#house.copyWithin(0, at, this.#waiting);
    this.#waiting -= at;
  }

  #append(bytes: Uint8Array): void {
    const samples = bytes.length / this.#bytesPerSample;
    switch (this.#format.encoding) {
      case 'pcm16': this.#wireBytes.set(bytes); break;
      case 'pcmu': decodeG711('PCMU', bytes, 0, samples, this.#wire); break;
      case 'pcma': decodeG711('PCMA', bytes, 0, samples, this.#wire); break;
    }
    const wire = this.#wire.subarray(0, samples);
    const house = this.#house.subarray(this.#waiting);
    if (this.#resampler) this.#waiting += this.#resampler.process(wire, house);
    else {
      house.set(wire);
      this.#waiting += samples;
    }
  }
}

/** Our frames as one client's binary messages. */
export class SoundEncoder {
  /** For how much sound a number of bytes is. */
  readonly bytesPerMs: number;
  readonly #format: AudioFormat;
  readonly #resampler: Resampler | undefined;
  readonly #wire: Int16Array<ArrayBuffer>;
  readonly #wireBytes: Uint8Array;

  /** Throws when the format is none of the protocol's. */
  constructor(format: AudioFormat) {
    checkFormat(format);
    this.#format = format;
    this.bytesPerMs = (format.sampleRate / 1000) * (format.encoding === 'pcm16' ? 2 : 1);
    this.#resampler = format.sampleRate === SAMPLE_RATE ? undefined : new Resampler(SAMPLE_RATE, format.sampleRate);
    // Twice a frame's share: a resampler may give a little more than it.
    this.#wire = new Int16Array((format.sampleRate / 1000) * FRAME_MS * 2);
    this.#wireBytes = new Uint8Array(this.#wire.buffer);
  }

  /** 20 ms of sound, in memory of its own: the socket sends it later. */
  encode(frame: AudioFrame): Buffer {
    const samples = this.#resample(frame);
    if (this.#format.encoding === 'pcm16') return Buffer.from(this.#wireBytes.subarray(0, samples * 2));
    const bytes = Buffer.allocUnsafe(samples);
    encodeG711(this.#format.encoding === 'pcmu' ? 'PCMU' : 'PCMA', this.#wire, 0, samples, bytes);
    return bytes;
  }

  #resample(frame: AudioFrame): number {
    if (this.#resampler) return this.#resampler.process(frame, this.#wire);
    this.#wire.set(frame);
    return frame.length;
  }
}

function checkFormat({ encoding, sampleRate }: AudioFormat): void {
  const known = encoding === 'pcm16' ? RATES.includes(sampleRate) : (encoding === 'pcmu' || encoding === 'pcma') && sampleRate === 8000;
  if (!known) throw new Error(`Audio format ${String(encoding)} at ${String(sampleRate)} Hz: use pcm16 at ${RATES.join(', ')} Hz, or pcmu or pcma at 8000 Hz.`);
}
