import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readWavInfo } from '../../media/wav.ts';

/** Both sides of a stereo recording: the caller left, the agent right. */
export interface StereoRecording { sampleRate: number; durationMs: number; caller: Int16Array; agent: Int16Array }

/** Parses a recording as downloaded. Throws when it is no stereo PCM16. */
export async function readRecording(bytes: Uint8Array): Promise<StereoRecording> {
  const file = join(tmpdir(), `wv-recording-${randomUUID()}.wav`);
  await writeFile(file, bytes);
  const info = await readWavInfo(file);
  await rm(file);
  if (info.channels !== 2) throw new Error(`a recording has 2 channels, not ${info.channels}`);
  const frames = info.dataBytes / 4;
  const view = new DataView(bytes.buffer, bytes.byteOffset + info.dataStart, info.dataBytes);
  const caller = new Int16Array(frames);
  const agent = new Int16Array(frames);
  for (let index = 0; index < frames; index++) {
    caller[index] = view.getInt16(4 * index, true);
    agent[index] = view.getInt16(4 * index + 2, true);
  }
  return { sampleRate: info.sampleRate, durationMs: info.durationMs, caller, agent };
}

export interface Match { /** Where the clip begins, ms. */ atMs: number; /** Normalised correlation there, 0 to 1. */ likeness: number }

/** Finds `clip` in `sound` (one rate) around `nearMs`, give or take `withinMs`, by correlation. */
export function findClip(clip: Int16Array, sound: Int16Array, rate: number, nearMs: number, withinMs: number): Match {
  const toSamples = (ms: number): number => Math.round((ms * rate) / 1000);
  const energy = clip.reduce((sum, sample) => sum + sample * sample, 0);
  let best: Match = { atMs: NaN, likeness: -1 };
  for (let at = Math.max(0, toSamples(nearMs - withinMs)); at <= toSamples(nearMs + withinMs) && at + clip.length <= sound.length; at++) {
    let product = 0;
    let other = 0;
    for (let index = 0; index < clip.length; index++) {
      const sample = sound[at + index] ?? 0;
      product += sample * (clip[index] ?? 0);
      other += sample * sample;
    }
    const likeness = product / Math.sqrt(energy * other + 1);
    if (likeness > best.likeness) best = { atMs: (at * 1000) / rate, likeness };
  }
  return best;
}

/** Level of a stretch, dB below full scale. */
export function levelDb(sound: Int16Array, rate: number, fromMs: number, toMs: number): number {
  const part = sound.subarray(Math.round((fromMs * rate) / 1000), Math.round((toMs * rate) / 1000));
  const power = part.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, part.length);
  return 10 * Math.log10(power / 32_768 ** 2 + 1e-12);
}

/**
 * Finds a clip piece by piece, since a jitter buffer may stretch or cut a little of it: its place is the median of its pieces',
 * its likeness the share of pieces that are there.
 */
export function findPieces(clip: Int16Array, sound: Int16Array, rate: number, nearMs: number, withinMs: number): Match {
  const length = Math.round((PIECE_MS * rate) / 1000);
  const places: number[] = [];
  let pieces = 0;
  for (let from = 0; from + length <= clip.length; from += length) {
    const fromMs = (from * 1000) / rate;
    const { atMs, likeness } = findClip(clip.subarray(from, from + length), sound, rate, nearMs + fromMs, withinMs);
    pieces++;
    if (likeness > PIECE_LIKENESS) places.push(atMs - fromMs);
  }
  places.sort((a, b) => a - b);
  return { atMs: places[places.length >> 1] ?? NaN, likeness: places.length / Math.max(1, pieces) };
}

export interface Span { fromMs: number; toMs: number }

const PIECE_MS = 250;
const PIECE_LIKENESS = 0.9;
const WINDOW_MS = 20;
const VOICED_DB = -45;

/** Stretches with sound, parted by pauses of at least `pauseMs`. */
export function soundSpans(sound: Int16Array, rate: number, pauseMs: number): Span[] {
  const spans: Span[] = [];
  const endMs = (sound.length * 1000) / rate;
  for (let ms = 0; ms + WINDOW_MS <= endMs; ms += WINDOW_MS) {
    if (levelDb(sound, rate, ms, ms + WINDOW_MS) < VOICED_DB) continue;
    const last = spans.at(-1);
    if (last && ms - last.toMs < pauseMs) last.toMs = ms + WINDOW_MS;
    else spans.push({ fromMs: ms, toMs: ms + WINDOW_MS });
  }
  return spans;
}
