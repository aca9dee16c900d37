import { extname } from 'node:path';

/** What a document can be. */
export type DocumentFormat = 'txt' | 'md' | 'html' | 'pdf' | 'docx' | 'csv';

const PDF_MAGIC_WITHIN = 1024;
const ZIP_MAGIC = Buffer.from('PK\x03\x04', 'latin1');
const UTF16_MARKS = [Buffer.of(0xff, 0xfe), Buffer.of(0xfe, 0xff)];
/** Where a zero byte tells that something is no text. */
const SNIFFED_BYTES = 8192;

const BY_EXTENSION: Readonly<Record<string, DocumentFormat>> = {
  '.txt': 'txt', '.text': 'txt', '.md': 'md', '.markdown': 'md', '.html': 'html', '.htm': 'html', '.xhtml': 'html', '.csv': 'csv', '.pdf': 'pdf', '.docx': 'docx',
};
const BY_MEDIA_TYPE: Readonly<Record<string, DocumentFormat>> = {
  'text/plain': 'txt', 'text/markdown': 'md', 'text/x-markdown': 'md', 'text/html': 'html', 'application/xhtml+xml': 'html', 'text/csv': 'csv',
};

/**
 * What `data` is: by its content where that tells (PDF, Word), else by the extension of `name`, else by the media type.
 * Undefined: none of the formats that can be read.
 */
export function formatOf(data: Buffer, name: string | undefined, mediaType: string | undefined): DocumentFormat | undefined {
  if (data.subarray(0, PDF_MAGIC_WITHIN).includes('%PDF-')) return 'pdf';
  // The names inside an archive are never compressed.
  if (startsWith(data, ZIP_MAGIC)) return data.includes('word/document.xml') ? 'docx' : undefined;
  if (!UTF16_MARKS.some((mark) => startsWith(data, mark)) && data.subarray(0, SNIFFED_BYTES).includes(0)) return undefined;
  const format = BY_EXTENSION[extname(name ?? '').toLowerCase()] ?? BY_MEDIA_TYPE[bareType(mediaType)];
  return format === 'pdf' || format === 'docx' ? undefined : format;
}

/** What an address answered with. Its media type decides; where that says little, the address's own extension does. */
export function formatOfAnswer(data: Buffer, url: URL, mediaType: string | undefined): DocumentFormat | undefined {
  const type = bareType(mediaType);
  const telling = type !== '' && type !== 'application/octet-stream' && type !== 'text/plain';
  return formatOf(data, telling ? undefined : url.pathname, type);
}

/** Without its parameters. */
function bareType(mediaType: string | undefined): string {
  return mediaType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function startsWith(data: Buffer, mark: Buffer): boolean {
  return data.subarray(0, mark.length).equals(mark);
}
