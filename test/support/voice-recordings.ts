import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Recordings as people send them. */

/** A WAV file of noise, `seconds` long to the sample. */
export function noiseWav(seconds: number, rate = 8000): Buffer {
  const samples = Math.round(seconds * rate);
  const file = Buffer.alloc(44 + samples * 2);
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(file.length - 8, 4);
  file.write('WAVEfmt ', 8, 'latin1');
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(rate, 24);
  file.writeUInt32LE(rate * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(samples * 2, 40);
  for (let n = 0; n < samples; n++) file.writeInt16LE((n * 7919) % 4001 - 2000, 44 + n * 2);
  return file;
}

/** ffmpeg's own encoders: what is asked for by its arguments, of a noise of that many seconds. */
export function encoded(seconds: number, args: readonly string[], extension: string, way: 'to a file' | 'to a pipe' = 'to a file'): Buffer {
  const folder = mkdtempSync(path.join(tmpdir(), 'wv-recording-'));
  try {
    const file = path.join(folder, `recording.${extension}`);
    const input = ['-hide_banner', '-loglevel', 'error', '-f', 'lavfi', '-i', `anoisesrc=d=${seconds}:r=48000:a=0.2:seed=1`];
    const run = spawnSync('ffmpeg', [...input, ...args, ...(way === 'to a pipe' ? ['-f', extension, 'pipe:1'] : [file])], { maxBuffer: 64 * 1024 * 1024 });
    if (run.status !== 0) throw new Error(`ffmpeg: ${run.error?.message ?? run.stderr.toString()}`);
    return way === 'to a pipe' ? run.stdout : readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
