import { readFile } from 'node:fs/promises';
import { FliteWasi, WasiExit } from './flite-wasi.ts';
import { fliteFile } from './model-files.ts';
import type { Phone } from './thread-messages.ts';

/** A clause is a few seconds; two minutes at 16 kHz is far more than any text we send. */
const MAX_OUTPUT_BYTES = 120 * 16_000 * 2;
const WAV_HEADER_BYTES = 44;
const WAV_RATE_OFFSET = 24;

export interface Synthesis { pcm: Int16Array; sampleRate: number; phones: Phone[] }

/** Flite 2 as WebAssembly. Blocking: 15-25 ms of CPU per spoken second, so it lives in a model thread. */
export class FliteModel {
  readonly #module: WebAssembly.Module;
  #spare: { wasi: FliteWasi; instance: WebAssembly.Instance } | undefined;

  private constructor(module: WebAssembly.Module) {
    this.#module = module;
  }

  static async load(): Promise<FliteModel> {
    const model = new FliteModel(await WebAssembly.compile(await readFile(fliteFile())));
    model.synthesise('Ready when you are.', 'rms', 1);
    model.prepare();
    return model;
  }

  /** A program runs once per instance and an instance takes 15 ms to make: made ahead, it costs the caller nothing. */
  prepare(): void {
    this.#spare ??= this.#instantiate();
  }

  /** Speaks one clause. `speed` 1 is the voice's own. Throws when the text has nothing to speak. */
  synthesise(text: string, voice: string, speed: number): Synthesis {
    const { wasi, instance } = this.#spare ?? this.#instantiate();
    this.#spare = undefined;
    // With -t the text is never taken for a file name; the leading space keeps it from being taken for an option.
    wasi.args = ['flite', '-voice', voice, '-psdur', '--setf', `duration_stretch=${(1 / speed).toFixed(3)}`, '-t', ` ${text} `, 'out.wav'];
    const { memory, _start: run } = instance.exports;
    if (!(memory instanceof WebAssembly.Memory) || typeof run !== 'function') throw new Error('flite.wasm is not the program it should be');
    wasi.memory = memory;
    try {
      run();
    } catch (error) {
      if (!(error instanceof WasiExit) || error.code !== 0) throw error;
    }
    const wav = Buffer.from(wasi.output);
    if (wav.length <= WAV_HEADER_BYTES) throw new Error('flite made no sound of this text');
    const pcm = new Int16Array((wav.length - WAV_HEADER_BYTES) >> 1);
    for (let i = 0; i < pcm.length; i++) pcm[i] = wav.readInt16LE(WAV_HEADER_BYTES + 2 * i);
    return { pcm, sampleRate: wav.readUInt32LE(WAV_RATE_OFFSET), phones: parsePhones(wasi.printed) };
  }

  #instantiate(): { wasi: FliteWasi; instance: WebAssembly.Instance } {
    const wasi = new FliteWasi(MAX_OUTPUT_BYTES);
    return { wasi, instance: new WebAssembly.Instance(this.#module, wasi.imports()) };
  }
}

/** "pau:0.119 hh:0.212 ..." : phones and the seconds they end at. */
function parsePhones(printed: string): Phone[] {
  const phones: Phone[] = [];
  for (const item of printed.trim().split(/\s+/)) {
    const [name, end] = item.split(':');
    const endMs = Math.round(Number(end) * 1000);
    if (name && Number.isFinite(endMs)) phones.push({ name, endMs });
  }
  return phones;
}
