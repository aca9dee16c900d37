import { DocumentFault } from './document-fault.ts';

/** A document as plain text. Offsets count UTF-16 code units of `text`. */
export interface Extracted { text: string; sections: Section[] }

/** A stretch of the text under one heading; `heading` is its path, such as `Prices > Repairs`, empty where there is none. */
export interface Section { heading: string; start: number; end: number }

export const MAX_TEXT_CHARACTERS = 8 * 1024 * 1024;
const MAX_HEADING_CHARACTERS = 300;
const HEADING = /^(#{1,6})[ \t]+(\S.*)$/;
const FENCE = /^\s{0,3}(```|~~~)/;

/** Throws DocumentFault when there is more text than is taken. */
export function requireTakenLength(length: number): void {
  if (length > MAX_TEXT_CHARACTERS) {
    throw new DocumentFault(`The document holds more than ${MAX_TEXT_CHARACTERS / 1024 / 1024} million characters of text. Split it into several documents.`);
  }
}

/** Divides Markdown at its `#` headings; a heading without text of its own below it is part of the path only. */
export function divideMarkdown(text: string): Extracted {
  const sections: Section[] = [];
  const path: string[] = [];
  let open: { start: number; level: number; line: number } = { start: 0, level: 0, line: 0 };
  const close = (end: number, nextLevel: number): void => {
    const empty = text.slice(open.start, end).trim() === '';
    if (empty && (open.level === 0 || nextLevel > open.level)) return;
    // A heading with nothing below says all there is.
    sections.push({ heading: path.filter(Boolean).join(' > ').slice(0, MAX_HEADING_CHARACTERS), start: empty ? open.line : open.start, end });
  };
  for (const { heading, level, start, end } of headingsOf(text)) {
    close(start, level);
    path.length = Math.min(path.length, level - 1);
    path[level - 1] = heading;
    open = { start: end, level, line: start };
  }
  close(text.length, 0);
  return { text, sections };
}

function* headingsOf(text: string): Generator<{ heading: string; level: number; start: number; end: number }> {
  let fence: string | undefined;
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline + 1;
    const line = text.slice(start, end).trimEnd();
    const mark = FENCE.exec(line)?.[1];
    if (mark !== undefined) fence = fence === undefined ? mark : fence === mark ? undefined : fence;
    const [, marks, heading] = (fence === undefined && line.startsWith('#') ? HEADING.exec(line) : null) ?? [];
    if (marks !== undefined && heading !== undefined) yield { heading: heading.replace(/[ \t]+#+$/, ''), level: marks.length, start, end };
    start = end;
  }
}
