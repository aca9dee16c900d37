import type { AddressGuard } from '../../events/address-guard.ts';
import { AnswerTooLargeError, faultCodeOf, openSafeFetch, type SafeFetch } from '../../events/safe-fetch.ts';
import { DocumentFault } from './document-fault.ts';
import { formatOfAnswer, type DocumentFormat } from './document-format.ts';

export const MAX_DOCUMENT_BYTES = 25 * 1024 * 1024;
const FETCH_TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
const MAX_REDIRECTS = 3;
const ACCEPTED = 'text/html, text/markdown, text/plain, text/csv, application/pdf, application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface Fetched { data: Uint8Array<ArrayBuffer>; format: DocumentFormat; sizeBytes: number }

/** Fetches a document from a checked address, each redirect checked again. Throws DocumentFault, or the signal's reason. */
export async function fetchDocument(guard: AddressGuard, address: string, signal: AbortSignal, timeoutMs = FETCH_TIMEOUT_MS): Promise<Fetched> {
  const connection = openSafeFetch(guard, { maxAnswerBytes: MAX_DOCUMENT_BYTES, connectTimeoutMs: CONNECT_TIMEOUT_MS });
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await follow(connection, new URL(address), AbortSignal.any([signal, timeout]));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DocumentFault) throw error;
    throw new DocumentFault(timeout.aborted ? `The address did not answer in full within ${timeoutMs / 1000} s.` : inWords(error));
  } finally {
    await connection.close();
  }
}

async function follow(connection: SafeFetch, first: URL, signal: AbortSignal): Promise<Fetched> {
  let url = first;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const answer = await connection.fetch(url, { signal, headers: { 'user-agent': 'Wirevoice-Documents/1', accept: ACCEPTED } });
    const location = REDIRECTS.has(answer.status) ? answer.headers.get('location') : null;
    if (location === null) return readAnswer(answer, url);
    await answer.body?.cancel();
    const next = URL.parse(location, url.href);
    if (!next) throw new DocumentFault('The address redirects to something that is no address.');
    url = next;
  }
  throw new DocumentFault(`The address redirects more than ${MAX_REDIRECTS} times.`);
}

async function readAnswer(answer: Response, url: URL): Promise<Fetched> {
  if (!answer.ok) throw new DocumentFault(`The address answered HTTP ${answer.status}. It must be readable without signing in.`);
  const data = new Uint8Array(await answer.arrayBuffer());
  const mediaType = answer.headers.get('content-type') ?? undefined;
  if (data.byteLength === 0) throw new DocumentFault('The address answered with nothing.');
  const format = formatOfAnswer(Buffer.from(data.buffer, data.byteOffset, data.byteLength), url, mediaType);
  if (!format) throw new DocumentFault(`The address answered with ${mediaType?.split(';', 1)[0] ?? 'something'}, which is none of txt, md, html, pdf, docx and csv.`);
  return { data, format, sizeBytes: data.byteLength };
}

function inWords(error: unknown): string {
  if (error instanceof AnswerTooLargeError || (error instanceof Error && error.cause instanceof AnswerTooLargeError)) return `The document is larger than ${MAX_DOCUMENT_BYTES / 1024 / 1024} MiB.`;
  const code = faultCodeOf(error);
  if (code === 'UNSAFE_ADDRESS') return 'unsafe_url: the address, or one it redirects to, is loopback, link-local, private or reserved.';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'The address\'s host name does not resolve.';
  return `The address could not be fetched (${code === '' ? 'the connection failed' : code}).`;
}
