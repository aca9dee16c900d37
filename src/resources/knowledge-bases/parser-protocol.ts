import type { DocumentFormat } from './document-format.ts';
import type { Passage } from './passages.ts';

/** What the thread that reads a document is given. */
export interface ParserInput { format: DocumentFormat; data: Uint8Array<ArrayBuffer>; title: string; maxPassages: number }

/** A passage, and what of it is searched. */
export interface IndexedPassage extends Passage { searchHeading: string; searchText: string }

export type FromParser =
  | { type: 'progress'; share: number }
  | { type: 'passages'; passages: IndexedPassage[] }
  | { type: 'done'; searchConfig: string }
  /** `words` for the person who added the document, `detail` for the log. */
  | { type: 'fault'; words: string; detail: string | undefined };
