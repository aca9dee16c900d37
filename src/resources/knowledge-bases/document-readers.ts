import type { FormatCallback, HtmlToTextOptions } from 'html-to-text';
import { DocumentFault } from './document-fault.ts';
import type { DocumentFormat } from './document-format.ts';
import { divideMarkdown, requireTakenLength, type Extracted } from './extracted.ts';

/** Says how much of the document has been read, 0 to 1. */
export type Progress = (share: number) => void;

/** Reads a document into text. Throws DocumentFault, in words, when it cannot. */
export async function readDocument(format: DocumentFormat, data: Uint8Array<ArrayBuffer>, progress: Progress): Promise<Extracted> {
  const extracted = await READERS[format](data, progress);
  requireTakenLength(extracted.text.length);
  return extracted;
}

type Reader = (data: Uint8Array<ArrayBuffer>, progress: Progress) => Extracted | Promise<Extracted>;

/** Each loads its library when it is needed: most documents need one or none. */
const READERS: Readonly<Record<DocumentFormat, Reader>> = {
  txt: (data) => divideMarkdown(decodeTaken(data)),
  md: (data) => divideMarkdown(decodeTaken(data)),
  html: async (data) => divideMarkdown(await htmlToMarkdown(decode(data))),
  docx: async (data) => divideMarkdown(await htmlToMarkdown(await docxToHtml(data))),
  csv: (data) => readCsv(decode(data)),
  pdf: async (data, progress) => (await import('./pdf-reader.ts')).readPdf(data, progress),
};

function decodeTaken(data: Uint8Array): string {
  const text = decode(data);
  requireTakenLength(text.length);
  return text;
}

/** UTF-8 or what a byte order mark says; otherwise what an HTML page declares, or Windows-1252. Offsets survive. */
function decode(data: Uint8Array): string {
  const mark = data[0] === 0xff && data[1] === 0xfe ? 'utf-16le' : data[0] === 0xfe && data[1] === 0xff ? 'utf-16be' : 'utf-8';
  try {
    return storable(new TextDecoder(mark, { fatal: true }).decode(data));
  } catch {
    const declared = /charset\s*=\s*["']?([\w-]+)/i.exec(Buffer.from(data.subarray(0, 2048)).toString('latin1'))?.[1];
    return storable(decodeAs(declared, data));
  }
}

function decodeAs(label: string | undefined, data: Uint8Array): string {
  try {
    return new TextDecoder(label === undefined || /^utf-?8$/i.test(label) ? 'windows-1252' : label).decode(data);
  } catch {
    return new TextDecoder('windows-1252').decode(data);
  }
}

/** PostgreSQL's text takes neither a zero character nor half a surrogate pair. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', ' ');
}

const MAX_HTML_DEPTH = 500;

const heading: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 2 });
  builder.addInline(`${'#'.repeat(Number(element.name?.slice(1)))} `, { noWordTransform: true });
  walk(element.children ?? [], builder);
  builder.closeBlock({ trailingLineBreaks: 2 });
};
const cell: FormatCallback = (element, walk, builder) => {
  walk(element.children ?? [], builder);
  builder.addInline(' | ', { noWordTransform: true });
};
const row: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 1 });
  walk(element.children ?? [], builder);
  builder.closeBlock({ trailingLineBreaks: 1 });
};

const HTML_OPTIONS: HtmlToTextOptions = {
  wordwrap: false,
  formatters: { heading, cell, row },
  limits: { maxInputLength: 32 * 1024 * 1024, maxDepth: MAX_HTML_DEPTH },
  selectors: [
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, format: 'heading' })),
    { selector: 'a', options: { ignoreHref: true } },
    ...['img', 'script', 'style', 'noscript', 'template', 'svg', 'nav', 'head'].map((selector) => ({ selector, format: 'skip' })),
    ...['table', 'thead', 'tbody', 'tfoot'].map((selector) => ({ selector, format: 'block' })),
    { selector: 'tr', format: 'row' },
    { selector: 'td', format: 'cell' },
    { selector: 'th', format: 'cell' },
  ],
};

async function htmlToMarkdown(html: string): Promise<string> {
  const { convert } = await import('html-to-text');
  return storable(convert(html, HTML_OPTIONS)).replace(/ \|[ ]*$/gm, '');
}

async function docxToHtml(data: Uint8Array): Promise<string> {
  const { default: mammoth } = await import('mammoth');
  const convertImage = mammoth.images.imgElement(() => Promise.resolve({ src: '' }));
  try {
    return (await mammoth.convertToHtml({ buffer: Buffer.from(data.buffer, data.byteOffset, data.byteLength) }, { convertImage, externalFileAccess: false })).value;
  } catch (error) {
    throw new DocumentFault(`The Word document is damaged: ${reasonOf(error)}. Open it in a word processor and save it again as .docx.`);
  }
}

const MAX_COLUMN_NAME = 100;
const MAX_RECORD_BYTES = 1024 * 1024;

/** A paragraph a row, each value with its column's name. */
async function readCsv(text: string): Promise<Extracted> {
  const rows = await csvRows(text);
  const [names = [], ...records] = rows;
  const columns = names.map((name, index) => name.trim().slice(0, MAX_COLUMN_NAME) || `column ${index + 1}`);
  let length = 0;
  const paragraphs = (records.length === 0 ? [names.join(', ')] : records.map((record) => {
    const paragraph = record.flatMap((value, index) => (value.trim() === '' ? [] : [`${columns[index] ?? `column ${index + 1}`}: ${value.trim()}`])).join('\n');
    requireTakenLength(length += paragraph.length);
    return paragraph;
  })).join('\n\n');
  return { text: paragraphs, sections: [{ heading: '', start: 0, end: paragraphs.length }] };
}

async function csvRows(text: string): Promise<string[][]> {
  const { parse: parseCsv } = await import('csv-parse/sync');
  const firstLine = text.slice(0, text.search(/[\r\n]|$/));
  const delimiter = [',', ';', '\t'].reduce((best, candidate) => (firstLine.split(candidate).length > firstLine.split(best).length ? candidate : best));
  try {
    return parseCsv(text, { delimiter, bom: true, relax_column_count: true, skip_empty_lines: true, max_record_size: MAX_RECORD_BYTES });
  } catch (error) {
    throw new DocumentFault(`The CSV cannot be read: ${reasonOf(error)}. Check its quotes and its delimiter.`);
  }
}

/** The first line of a library's message, without its final stop. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split('\n', 1)[0] ?? '').slice(0, 200).replace(/[.:\s]+$/, '');
}
