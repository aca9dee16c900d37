/** Character classes and the scanner that every header parser is written with (RFC 3261 section 25.1). Text is latin1: one character is one octet. */

/** A piece of a message that does not follow the grammar. The message is answered 400 or dropped; it never reaches a dialog. */
export class SipSyntaxError extends Error {
  override readonly name = 'SipSyntaxError';
}

const TOKEN = 1;
const VALUE = 2;
const USER = 4;
const PASSWORD = 8;
const URI_PARAM = 16;
const URI_HEADER = 32;
const HOST = 64;
const HEX = 128;

const ALPHANUM = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const UNRESERVED = `${ALPHANUM}-_.!~*'()`;
const classes = new Uint8Array(256);

function mark(characters: string, flag: number): void {
  for (let i = 0; i < characters.length; i++) classes[characters.charCodeAt(i)]! |= flag;
}

mark(`${ALPHANUM}-.!%*_+\`'~`, TOKEN);
// Wider than RFC 3261's gen-value: tags like `a==` and `received=::1` are on the wire.
mark(`${ALPHANUM}-.!%*_+\`'~[]:/@?&=$#|^{}`, VALUE);
mark(`${UNRESERVED}&=+$,;?/%`, USER);
mark(`${UNRESERVED}&=+$,%`, PASSWORD);
mark(`${UNRESERVED}[]/:&+$%`, URI_PARAM);
mark(`${UNRESERVED}[]/?:+$%=&`, URI_HEADER);
// Underscore is not in the grammar, but in many internal host names.
mark(`${ALPHANUM}-._`, HOST);
mark('0123456789abcdefABCDEF', HEX);

function allOf(text: string, flag: number): boolean {
  for (let i = 0; i < text.length; i++) if (((classes[text.charCodeAt(i)] ?? 0) & flag) === 0) return false;
  return true;
}

/** Every `%` is followed by two hexadecimal digits. */
function escapesAreWhole(text: string): boolean {
  for (let i = text.indexOf('%'); i !== -1; i = text.indexOf('%', i + 1)) {
    if (i + 2 >= text.length || !allOf(text.slice(i + 1, i + 3), HEX)) return false;
  }
  return true;
}

export const isToken = (text: string): boolean => text.length > 0 && allOf(text, TOKEN);
export const isUriUser = (text: string): boolean => text.length > 0 && allOf(text, USER) && escapesAreWhole(text);
export const isUriPassword = (text: string): boolean => allOf(text, PASSWORD) && escapesAreWhole(text);
export const isUriParam = (text: string): boolean => text.length > 0 && allOf(text, URI_PARAM) && escapesAreWhole(text);
export const isUriHeaders = (text: string): boolean => allOf(text, URI_HEADER) && escapesAreWhole(text);
export const isHostName = (text: string): boolean => text.length > 0 && text.length <= 255 && allOf(text, HOST);
/** The inside of an IPv6reference, without brackets or zone. */
export const isIpv6Text = (text: string): boolean => text.length >= 2 && text.length <= 45 && text.includes(':') && /^[0-9a-fA-F:.]+$/.test(text);
export const isDigits = (text: string): boolean => text.length > 0 && text.length <= 20 && /^\d+$/.test(text);

const SPACE = 0x20;
const TAB = 0x09;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Reads a header value from left to right. Line folding is already undone (`parse.ts`). */
export class Scanner {
  readonly text: string;
  position = 0;

  constructor(text: string) {
    this.text = text;
  }

  get done(): boolean {
    return this.position >= this.text.length;
  }

  skipSpace(): void {
    for (; this.position < this.text.length; this.position++) {
      const code = this.text.charCodeAt(this.position);
      if (code !== SPACE && code !== TAB) return;
    }
  }

  /** Takes `character` with the white space around it, if it comes next. */
  accept(character: string): boolean {
    this.skipSpace();
    if (this.text[this.position] !== character) return false;
    this.position++;
    this.skipSpace();
    return true;
  }

  expect(character: string): void {
    if (!this.accept(character)) throw new SipSyntaxError(`expected "${character}" at offset ${this.position} of "${excerpt(this.text)}"`);
  }

  token(): string {
    return this.#run(TOKEN, 'a token');
  }

  /** A parameter's value without quotes, in the tolerant class. */
  value(): string {
    return this.#run(VALUE, 'a value');
  }

  /** A quoted string, returned without its quotes and backslashes. */
  quoted(): string {
    let out = '';
    for (let i = this.position + 1; i < this.text.length; i++) {
      const code = this.text.charCodeAt(i);
      if (code === QUOTE) {
        this.position = i + 1;
        return out;
      }
      if (code === BACKSLASH) i++;
      out += this.text[i] ?? '';
    }
    throw new SipSyntaxError(`a quoted string is not closed in "${excerpt(this.text)}"`);
  }

  /** `host` or `[ipv6]`, brackets kept. */
  host(): string {
    if (this.text[this.position] !== '[') return this.#run(HOST, 'a host');
    const close = this.text.indexOf(']', this.position);
    if (close === -1 || !isIpv6Text(this.text.slice(this.position + 1, close))) throw new SipSyntaxError(`not an IPv6 reference: "${excerpt(this.text)}"`);
    const host = this.text.slice(this.position, close + 1);
    this.position = close + 1;
    return host;
  }

  #run(flag: number, what: string): string {
    const start = this.position;
    while (this.position < this.text.length && ((classes[this.text.charCodeAt(this.position)] ?? 0) & flag) !== 0) this.position++;
    if (this.position === start) throw new SipSyntaxError(`expected ${what} at offset ${start} of "${excerpt(this.text)}"`);
    return this.text.slice(start, this.position);
  }
}

/** Parameters of a header or URI: names in lower case; a name without value maps to undefined. */
export type Params = ReadonlyMap<string, string | undefined>;

/** `*( ; name [ = value ] )` up to the end of the scanner's text. */
export function parseParams(scanner: Scanner): Params {
  const params = new Map<string, string | undefined>();
  while (scanner.accept(';')) {
    const name = scanner.token().toLowerCase();
    if (params.has(name)) throw new SipSyntaxError(`parameter "${name}" comes twice`);
    let value: string | undefined;
    if (scanner.accept('=')) value = scanner.text[scanner.position] === '"' ? scanner.quoted() : scanner.value();
    params.set(name, value);
  }
  scanner.skipSpace();
  if (!scanner.done) throw new SipSyntaxError(`unexpected text at offset ${scanner.position} of "${excerpt(scanner.text)}"`);
  return params;
}

/** Splits a header value at the commas that stand outside quotes and angle brackets (RFC 3261 section 7.3.1). */
export function splitList(value: string): string[] {
  if (!value.includes(',')) return [value.trim()];
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  let angle = false;
  for (let i = 0; i < value.length; i++) {
    const character = value[i];
    if (quoted) {
      if (character === '\\') i++;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === '<') angle = true;
    else if (character === '>') angle = false;
    else if (character === ',' && !angle) {
      parts.push(value.slice(start, i).trim());
      start = i + 1;
    }
  }
  parts.push(value.slice(start).trim());
  return parts;
}

/** A short, printable piece of foreign text for an error message. */
export function excerpt(text: string): string {
  const printable = text.replace(/[^\x20-\x7e]/g, '.');
  return printable.length > 60 ? `${printable.slice(0, 60)}…` : printable;
}
