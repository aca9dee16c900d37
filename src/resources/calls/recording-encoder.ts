import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { PassThrough, pipeline, type Readable, type Writable } from 'node:stream';
import { ApiError } from '../../api/errors.ts';

type Encoder = ChildProcessByStdio<Writable, Readable, null>;

export interface RecordingEncoderOptions {
  /** Encoders at once; more are refused. */
  atOnce?: number;
  /** A recording that takes longer is cut. */
  withinMs?: number;
  /** Folders where ffmpeg is looked for. */
  path?: string;
}

const OUTPUT = {
  mp3: ['-c:a', 'libmp3lame', '-b:a', '48k', '-write_xing', '0', '-f', 'mp3'],
  ogg: ['-c:a', 'libopus', '-b:a', '32k', '-f', 'ogg'],
};
/** Live calls come first on this machine. */
const LOWEST_PRIORITY = 19;

/** Encodes recordings through the machine's ffmpeg, from stream to stream: no file is made. */
export class RecordingEncoder {
  readonly #atOnce: number;
  readonly #withinMs: number;
  readonly #path: string;
  #running = 0;

  constructor({ atOnce = 2, withinMs = 300_000, path = '/usr/local/bin:/usr/bin:/bin' }: RecordingEncoderOptions = {}) {
    this.#atOnce = atOnce;
    this.#withinMs = withinMs;
    this.#path = path;
  }

  get running(): number {
    return this.#running;
  }

  /** `pcm` opens the samples (PCM16, little-endian). Throws ApiError `encoder_unavailable`, or `service_unavailable` when too many run. */
  async encode(format: 'mp3' | 'ogg', sound: { sampleRate: number; channels: number }, pcm: () => Readable): Promise<Readable> {
    if (this.#running >= this.#atOnce) throw new ApiError('service_unavailable', 'As many recordings as this installation encodes at once are being encoded; try again in a moment.', { retryAfterSeconds: 5 });
    this.#running++;
    try {
      const encoder = await start(format, sound, this.#path);
      return this.#join(encoder, pcm());
    } catch (error) {
      this.#running--;
      throw error;
    }
  }

  #join(encoder: Encoder, source: Readable): Readable {
    const encoded = new PassThrough();
    const late = setTimeout(() => encoded.destroy(new Error('encoding took too long')), this.#withinMs);
    // Whatever breaks the input ends the encoder, whose exit code then tells of it.
    pipeline(source, encoder.stdin, (error) => void (error && encoder.kill('SIGKILL')));
    encoder.stdout.pipe(encoded, { end: false });
    encoder.once('close', (code) => {
      this.#running--;
      if (code === 0) encoded.end();
      else encoded.destroy(new Error(`ffmpeg ended with ${code ?? 'a signal'}`));
    });
    encoded.once('close', () => {
      clearTimeout(late);
      source.destroy();
      encoder.kill('SIGKILL');
    });
    return encoded;
  }
}

/** Resolves with a running ffmpeg. Its arguments hold nothing that a request said, its environment nothing of ours. */
async function start(format: 'mp3' | 'ogg', { sampleRate, channels }: { sampleRate: number; channels: number }, path: string): Promise<Encoder> {
  const input = ['-f', 's16le', '-ar', String(sampleRate), '-ac', String(channels), '-i', 'pipe:0'];
  const encoder = spawn('ffmpeg', ['-hide_banner', '-loglevel', 'quiet', '-nostdin', ...input, '-map_metadata', '-1', ...OUTPUT[format], 'pipe:1'], {
    stdio: ['pipe', 'pipe', 'ignore'], cwd: '/', env: { PATH: path },
  });
  encoder.stdin.on('error', () => undefined);
  try {
    await once(encoder, 'spawn');
  } catch (error) {
    throw new ApiError('encoder_unavailable', 'ffmpeg is not installed on this machine; ask for format=wav.', { cause: error });
  }
  encoder.on('error', () => undefined);
  try {
    if (encoder.pid !== undefined) setPriority(encoder.pid, LOWEST_PRIORITY);
  } catch {
    // It has ended already, or may not be changed: it runs as it is.
  }
  return encoder;
}
