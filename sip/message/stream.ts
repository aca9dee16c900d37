/** Cuts messages out of a TCP stream by Content-Length (RFC 3261 section 18.3) and answers keepalives (RFC 5626 section 3.5.1). */
import { canonicalName } from './headers.ts';

export type Framed =
  | { readonly kind: 'message'; readonly bytes: Buffer }
  /** CRLF CRLF between messages: answer with one CRLF. */
  | { readonly kind: 'ping' }
  /** The stream cannot be followed any further: close it. */
  | { readonly kind: 'broken'; readonly reason: string };

const CR = 0x0d;
const LF = 0x0a;
const HEAD_END = Buffer.from('\r\n\r\n');

/** Holds at most one message and what arrived with it. */
export class StreamFramer {
  readonly #maxBytes: number;
  #buffer: Buffer = Buffer.alloc(0);
  /** Whole length of the message in the buffer once its head is there. */
  #needed: number | undefined;
  /** Where to look for the head's end: what came before is not searched again. */
  #searched = 0;
  #broken = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** True while a message has begun and not ended. */
  get partial(): boolean {
    return this.#buffer.length > 0 && !isStartOfPing(this.#buffer);
  }

  /** Takes a chunk of any size; returns what it completed, in order. Nothing follows `broken`. */
  push(chunk: Buffer): Framed[] {
    if (this.#broken) return [];
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    const framed: Framed[] = [];
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      framed.push(next);
      if (next.kind !== 'broken') continue;
      this.#broken = true;
      this.#buffer = Buffer.alloc(0);
      break;
    }
    return framed;
  }

  #next(): Framed | undefined {
    if (this.#needed === undefined) {
      const ping = this.#skipLineEnds();
      if (ping) return { kind: 'ping' };
      if (this.#buffer.length === 0) return undefined;
      const problem = this.#readHead();
      if (problem !== undefined) return { kind: 'broken', reason: problem };
    }
    if (this.#needed === undefined || this.#buffer.length < this.#needed) return undefined;
    const bytes = this.#buffer.subarray(0, this.#needed);
    this.#buffer = this.#buffer.subarray(this.#needed);
    this.#needed = undefined;
    this.#searched = 0;
    return { kind: 'message', bytes };
  }

  /** Line ends before a start line are ignored (RFC 3261 section 7.5); two of them are a ping. */
  #skipLineEnds(): boolean {
    if (this.#buffer.length >= 4 && this.#buffer.subarray(0, 4).equals(HEAD_END)) {
      this.#drop(4);
      return true;
    }
    const first = this.#buffer[0];
    const second = this.#buffer[1];
    const third = this.#buffer[2];
    // A single CRLF is dropped once it is certain that it is not the first half of a ping.
    if (first === CR && second === LF && third !== undefined && (third !== CR || (this.#buffer[3] ?? LF) !== LF)) this.#drop(2);
    return false;
  }

  #drop(count: number): void {
    this.#buffer = this.#buffer.subarray(count);
    this.#searched = 0;
  }

  #readHead(): string | undefined {
    if (isStartOfPing(this.#buffer)) return undefined;
    const end = this.#buffer.indexOf(HEAD_END, Math.max(this.#searched - 3, 0));
    this.#searched = this.#buffer.length;
    if (end === -1) return this.#buffer.length > this.#maxBytes ? `a head of more than ${this.#maxBytes} bytes` : undefined;
    const length = contentLength(this.#buffer.toString('latin1', 0, end));
    if (typeof length === 'string') return length;
    this.#needed = end + 4 + length;
    return this.#needed > this.#maxBytes ? `a message of ${this.#needed} bytes is more than ${this.#maxBytes}` : undefined;
  }
}

function isStartOfPing(buffer: Buffer): boolean {
  return buffer.length < 4 && HEAD_END.subarray(0, buffer.length).equals(buffer);
}

/** The body's length, or what is wrong with it. Over a stream Content-Length is a must (RFC 3261 section 20.14). */
function contentLength(head: string): number | string {
  let found: string | undefined;
  for (const line of head.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon < 1 || canonicalName(line.slice(0, colon).trimEnd()) !== 'content-length') continue;
    const value = line.slice(colon + 1).trim();
    if (found !== undefined && found !== value) return 'two different Content-Lengths';
    found = value;
  }
  if (found === undefined) return 'no Content-Length on a stream';
  return /^\d{1,9}$/.test(found) ? Number(found) : 'bad Content-Length on a stream';
}
