import { getDocumentProxy } from 'unpdf';
import { DocumentFault } from './document-fault.ts';
import { requireTakenLength, type Extracted, type Section } from './extracted.ts';

const MAX_PAGES = 5000;
/** A step down the page by more than this many line heights begins a paragraph. */
const PARAGRAPH_GAP = 1.5;

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;
type Page = Awaited<ReturnType<Pdf['getPage']>>;

/** Reads a PDF's text, a section a page. Throws DocumentFault that names the page that cannot be read. */
export async function readPdf(data: Uint8Array<ArrayBuffer>, progress: (share: number) => void): Promise<Extracted> {
  const pdf = await open(data);
  if (pdf.numPages > MAX_PAGES) throw new DocumentFault(`The PDF has ${pdf.numPages} pages; at most ${MAX_PAGES} are read. Split it.`);
  const sections: Section[] = [];
  let text = '';
  for (let number = 1; number <= pdf.numPages; number++) {
    const start = text.length;
    text += `${await readPage(pdf, number)}\n\n`;
    sections.push({ heading: `Page ${number}`, start, end: text.length });
    requireTakenLength(text.length);
    progress(number / pdf.numPages);
  }
  await pdf.destroy();
  if (text.trim() === '') throw new DocumentFault('The PDF holds no text, only pictures of pages. Run text recognition (OCR) over it and upload the result.');
  return { text, sections };
}

async function open(data: Uint8Array<ArrayBuffer>): Promise<Pdf> {
  try {
    return await getDocumentProxy(data, { verbosity: 0, isEvalSupported: false });
  } catch (error) {
    if (error instanceof Error && error.name === 'PasswordException') throw new DocumentFault('The PDF is protected with a password. Save a copy without one.');
    throw new DocumentFault(`The PDF is damaged: ${messageOf(error)}. Open it in a PDF reader and save it again.`);
  }
}

async function readPage(pdf: Pdf, number: number): Promise<string> {
  try {
    const page = await pdf.getPage(number);
    const text = linesOf(await page.getTextContent());
    page.cleanup();
    return text;
  } catch (error) {
    throw new DocumentFault(`Page ${number} of ${pdf.numPages} cannot be read: ${messageOf(error)}. Save the PDF again, or leave that page out.`);
  }
}

/** Lines as they stand on the page, paragraphs apart, words divided at a line's end put together. */
function linesOf({ items }: Awaited<ReturnType<Page['getTextContent']>>): string {
  let text = '';
  let lineY: number | undefined;
  for (const item of items) {
    if (!('str' in item)) continue;
    const y = Number(item.transform[5]);
    if (lineY !== undefined && text.endsWith('\n') && item.height > 0 && lineY - y > PARAGRAPH_GAP * item.height) text += '\n';
    text += item.str;
    if (item.hasEOL) text += '\n';
    if (item.str.trim() !== '') lineY = y;
  }
  return text.toWellFormed().replaceAll('\0', ' ').replace(/(\p{Ll})-\n(?=\p{Ll})/gu, '$1');
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.slice(0, 200).replace(/[.\s]+$/, '');
}
