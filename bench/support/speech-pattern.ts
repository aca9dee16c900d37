import { readSpeechFile } from '../../test/support/speech-fixtures.ts';
import { encodeUlaw, isVoiced } from './ulaw.ts';

const LINE_RATE = 8000;
const FRAME = 160;
const PITCH_HZ = 118;
const SYLLABLES_HZ = 4;
const PEAK = 11_000;

/** G.711 u-law of digital silence. */
export const SILENT_PAYLOAD: Uint8Array = new Uint8Array(FRAME).fill(0xff);

/**
 * Speech-like sound, 16-bit: harmonics of a male pitch under three formants, louder and softer at the pace of
 * syllables, never silent for as long as a frame.
 */
export function voicedSamples(samples: number, rate: number): Int16Array {
  return Int16Array.from({ length: samples }, (_, i) => voice(i / rate));
}

/** The same as u-law frames of 20 ms. */
export function voicedPayloads(frames: number): Uint8Array[] {
  const samples = voicedSamples(frames * FRAME, LINE_RATE);
  return Array.from({ length: frames }, (_, frame) => encodeUlaw(samples.subarray(frame * FRAME, (frame + 1) * FRAME)));
}

/** A recording as u-law frames, from its first to its last frame that an ear notices. */
export function clipPayloads(path: string): Uint8Array[] {
  const samples = readSpeechFile(path, LINE_RATE);
  const frames = Array.from({ length: Math.floor(samples.length / FRAME) }, (_, frame) => encodeUlaw(samples.subarray(frame * FRAME, (frame + 1) * FRAME)));
  const voiced = frames.map((frame) => isVoiced(frame, 0));
  return frames.slice(voiced.indexOf(true), voiced.lastIndexOf(true) + 1);
}

/** The longest pause inside such frames, ms. */
export function longestPauseMs(frames: Uint8Array[]): number {
  let longest = 0;
  let pause = 0;
  for (const frame of frames) {
    pause = isVoiced(frame, 0) ? 0 : pause + 20;
    longest = Math.max(longest, pause);
  }
  return longest;
}

function voice(seconds: number): number {
  let sum = 0;
  for (let harmonic = 1; harmonic <= 24; harmonic++) sum += formants(harmonic * PITCH_HZ) * Math.sin(2 * Math.PI * harmonic * PITCH_HZ * seconds);
  const loudness = 0.65 + 0.35 * Math.sin(2 * Math.PI * SYLLABLES_HZ * seconds);
  return Math.max(-PEAK, Math.min(PEAK, sum * loudness * 4000));
}

/** Gain of a vocal tract that says something like "ah". */
function formants(hz: number): number {
  return [700, 1150, 2500].reduce((gain, centre, i) => gain + (1 / (i + 1)) * Math.exp(-(((hz - centre) / 180) ** 2)), 0.1);
}
