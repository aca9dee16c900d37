import { parseBuffer, type IFormat } from 'music-metadata';
import { ApiError } from '../../api/errors.ts';
import { RECORDING_RULES, type VoiceProvider } from './voice-provider.ts';
import { webmDurationMs } from './webm-duration.ts';

export type RecordingFormat = 'mp3' | 'wav' | 'm4a' | 'ogg' | 'webm' | 'flac';

/** A recording of somebody's voice, in memory only. */
export interface Recording { format: RecordingFormat; mediaType: string; data: Buffer; durationMs: number }

export const MAX_RECORDINGS = 5;
/** 10 MB. */
export const MAX_RECORDING_BYTES = 10 * 1024 * 1024;

const MEDIA_TYPES: Readonly<Record<RecordingFormat, string>> = {
  mp3: 'audio/mpeg', wav: 'audio/wav', m4a: 'audio/mp4', ogg: 'audio/ogg', webm: 'audio/webm', flac: 'audio/flac',
};
/** No speech codec needs less: a header that claims more time than this allows is not believed. */
const MIN_BITS_PER_SECOND = 2000;

/**
 * Tells by its content, never by its name, what a recording is and how long it lasts.
 * Throws ApiError `unsupported_recording_format`.
 */
export async function inspectRecording(data: Buffer, param: string): Promise<Recording> {
  const format = sniff(data);
  if (!format) throw unsupported(param, 'is none of mp3, wav, m4a, ogg, webm and flac');
  const mediaType = MEDIA_TYPES[format];
  const found = await parseBuffer(data, { mimeType: mediaType, size: data.length }, { duration: true, skipCovers: true }).then((metadata) => metadata.format, () => undefined);
  if (!found || !isAudioOf(format, found)) throw unsupported(param, `cannot be read as ${format} audio`);
  const durationMs = found.duration === undefined && format === 'webm' ? webmDurationMs(data) : found.duration && found.duration * 1000;
  if (durationMs === undefined || !Number.isFinite(durationMs)) throw unsupported(param, 'does not say how long it is; save it as a finished file, not as a stream');
  return { format, mediaType, data, durationMs: Math.round(Math.min(durationMs, (data.length * 8 * 1000) / MIN_BITS_PER_SECOND)) };
}

/** Throws ApiError `recording_too_short`. */
export function requireEnough(provider: VoiceProvider, recordings: readonly Recording[], param: string): void {
  const totalMs = recordings.reduce((sum, { durationMs }) => sum + durationMs, 0);
  const { minTotalMs } = RECORDING_RULES[provider];
  if (totalMs < minTotalMs) {
    throw new ApiError('recording_too_short', `${provider} needs ${minTotalMs / 1000} s of speech, and these are ${(Math.floor(totalMs / 100) / 10).toFixed(1)} s.`, { param });
  }
}

function sniff(data: Buffer): RecordingFormat | undefined {
  const text = (from: number, to: number): string => data.toString('latin1', from, to);
  if (text(0, 4) === 'RIFF' && text(8, 12) === 'WAVE') return 'wav';
  if (text(0, 4) === 'fLaC') return 'flac';
  if (text(0, 4) === 'OggS') return 'ogg';
  if (text(4, 8) === 'ftyp') return 'm4a';
  if (text(0, 4) === '\x1a\x45\xdf\xa3') return 'webm';
  // A frame's sync word, and layer III.
  const [first = 0, second = 0] = data;
  return text(0, 3) === 'ID3' || (first === 0xff && (second & 0xe6) === 0xe2) ? 'mp3' : undefined;
}

/** Containers hold other things too: Matroska, video, AAC behind an ID3 tag. */
function isAudioOf(format: RecordingFormat, { container, codec, hasAudio, hasVideo }: IFormat): boolean {
  if (hasAudio !== true) return false;
  if (format === 'webm') return container === 'EBML/webm';
  if (format === 'mp3') return codec?.endsWith('Layer 3') ?? false;
  return format !== 'm4a' || hasVideo !== true;
}

function unsupported(param: string, why: string): ApiError {
  return new ApiError('unsupported_recording_format', `${param} ${why}.`, { param });
}
