import { parseBuffer, type IFormat } from 'music-metadata';
import { webmDurationMs } from './webm-duration.ts';

export type RecordingFormat = 'mp3' | 'wav' | 'm4a' | 'ogg' | 'webm' | 'flac';

/** What a file turned out to be, or why it is no recording. */
export type Finding = { format: RecordingFormat; mediaType: string; durationMs: number } | { fault: string };

/** What the thread that inspects says: that it has loaded, then what each file is. */
export type FromThread = 'ready' | Finding;

const MEDIA_TYPES: Readonly<Record<RecordingFormat, string>> = {
  mp3: 'audio/mpeg', wav: 'audio/wav', m4a: 'audio/mp4', ogg: 'audio/ogg', webm: 'audio/webm', flac: 'audio/flac',
};
/** No speech codec needs less: a header that claims more time than this allows is not believed. */
const MIN_BITS_PER_SECOND = 2000;

/**
 * Tells by its content, never by its name, what a file is and how long it lasts. A hostile file can keep it busy for minutes: it
 * belongs on a thread that can be ended. Never throws.
 */
export async function inspect(data: Buffer): Promise<Finding> {
  const format = sniff(data);
  if (!format) return { fault: 'is none of mp3, wav, m4a, ogg, webm and flac' };
  const mediaType = MEDIA_TYPES[format];
  const found = await parseBuffer(data, { mimeType: mediaType, size: data.length }, { duration: true, skipCovers: true }).then((metadata) => metadata.format, () => undefined);
  if (!found || !isAudioOf(format, found)) return { fault: `cannot be read as ${format} audio` };
  const durationMs = found.duration === undefined && format === 'webm' ? webmDurationMs(data) : found.duration && found.duration * 1000;
  if (durationMs === undefined || !Number.isFinite(durationMs)) return { fault: 'does not say how long it is; save it as a finished file, not as a stream' };
  return { format, mediaType, durationMs: Math.round(Math.min(durationMs, (data.length * 8 * 1000) / MIN_BITS_PER_SECOND)) };
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
