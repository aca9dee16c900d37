import { type InferenceSession, Tensor } from 'onnxruntime-node';
import { sileroFile } from './model-files.ts';
import { openModel } from './onnx.ts';

/** Samples of one window: 32 ms at 16 kHz. */
export const WINDOW_SAMPLES = 512;
/** The model must see this much of the window before. */
const CONTEXT_SAMPLES = 64;
const INPUT_SAMPLES = CONTEXT_SAMPLES + WINDOW_SAMPLES;
/** The recurrent state is [2, batch, 128]. */
const STATE_HALF = 128;

/** What one stream carries from window to window. */
export interface SileroState { recurrent: Float32Array; context: Float32Array }

export function newSileroState(): SileroState {
  return { recurrent: new Float32Array(2 * STATE_HALF), context: new Float32Array(CONTEXT_SAMPLES) };
}

/** Silero VAD v6 at 16 kHz, many streams in one run. */
export class SileroModel {
  readonly #session: InferenceSession;
  readonly #sampleRate = new Tensor('int64', BigInt64Array.of(16_000n), []);

  private constructor(session: InferenceSession) {
    this.#session = session;
  }

  static async load(): Promise<SileroModel> {
    const model = new SileroModel(await openModel(sileroFile()));
    for (const size of [1, 8]) {
      const batch = Array.from({ length: size }, () => ({ state: newSileroState(), window: new Int16Array(WINDOW_SAMPLES) }));
      await model.run(batch);
    }
    return model;
  }

  /**
   * One window of each stream; a stream may appear once in a batch. Advances the states. Returns the speech
   * probabilities in the order of the batch; they do not depend on what else is in it.
   */
  async run(batch: { state: SileroState; window: Int16Array }[]): Promise<Float32Array> {
    const size = batch.length;
    const input = new Float32Array(size * INPUT_SAMPLES);
    const recurrent = new Float32Array(2 * size * STATE_HALF);
    for (const [row, { state, window }] of batch.entries()) {
      const at = row * INPUT_SAMPLES;
      input.set(state.context, at);
      for (let i = 0; i < WINDOW_SAMPLES; i++) input[at + CONTEXT_SAMPLES + i] = (window[i] ?? 0) / 32_768;
      recurrent.set(state.recurrent.subarray(0, STATE_HALF), row * STATE_HALF);
      recurrent.set(state.recurrent.subarray(STATE_HALF), (size + row) * STATE_HALF);
    }
    const output = await this.#session.run({
      input: new Tensor('float32', input, [size, INPUT_SAMPLES]),
      state: new Tensor('float32', recurrent, [2, size, STATE_HALF]),
      sr: this.#sampleRate,
    });
    const next = floats(output['stateN']);
    for (const [row, { state }] of batch.entries()) {
      state.context.set(input.subarray((row + 1) * INPUT_SAMPLES - CONTEXT_SAMPLES, (row + 1) * INPUT_SAMPLES));
      state.recurrent.set(next.subarray(row * STATE_HALF, (row + 1) * STATE_HALF));
      state.recurrent.set(next.subarray((size + row) * STATE_HALF, (size + row + 1) * STATE_HALF), STATE_HALF);
    }
    return Float32Array.from(floats(output['output']));
  }
}

function floats(value: unknown): Float32Array {
  if (value instanceof Tensor && value.data instanceof Float32Array) return value.data;
  throw new Error('Silero answered with something that is not a float tensor: the package holds another model than expected.');
}
