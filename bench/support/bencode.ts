/** Bencode, as rtpengine's control protocol speaks it: byte strings, dictionaries and lists of them. */
export type Bencoded = string | number | Bencoded[] | { [key: string]: Bencoded };

export function bencode(value: Bencoded): string {
  if (typeof value === 'number') return `i${value}e`;
  if (typeof value === 'string') return `${Buffer.byteLength(value)}:${value}`;
  if (Array.isArray(value)) return `l${value.map(bencode).join('')}e`;
  return `d${Object.keys(value).sort().map((key) => bencode(key) + bencode(value[key] ?? '')).join('')}e`;
}

/** Throws RangeError for what is not bencode. Strings are read as latin1, so that lengths are bytes. */
export function bdecode(text: string): Bencoded {
  const reader = { text, at: 0 };
  return read(reader);
}

interface Reader { text: string; at: number }

function read(reader: Reader): Bencoded {
  const kind = reader.text[reader.at];
  if (kind === 'i') return readInteger(reader);
  if (kind === 'l') return readItems(reader);
  if (kind === 'd') {
    const items = readItems(reader);
    const pairs = Array.from({ length: items.length / 2 }, (_, i): [string, Bencoded] => [key(items[2 * i]), items[2 * i + 1] ?? '']);
    return Object.fromEntries(pairs);
  }
  return readString(reader);
}

function key(value: Bencoded | undefined): string {
  if (typeof value !== 'string') throw new RangeError('a bencoded dictionary has a key that is no string');
  return value;
}

function readItems(reader: Reader): Bencoded[] {
  const items: Bencoded[] = [];
  reader.at++;
  while (reader.text[reader.at] !== 'e') {
    if (reader.at >= reader.text.length) throw new RangeError('bencode ends inside a list or dictionary');
    items.push(read(reader));
  }
  reader.at++;
  return items;
}

function readInteger(reader: Reader): number {
  const end = reader.text.indexOf('e', reader.at);
  const value = Number(reader.text.slice(reader.at + 1, end));
  if (end < 0 || !Number.isInteger(value)) throw new RangeError(`bencode holds no integer at ${reader.at}`);
  reader.at = end + 1;
  return value;
}

function readString(reader: Reader): string {
  const colon = reader.text.indexOf(':', reader.at);
  const length = Number(reader.text.slice(reader.at, colon));
  if (colon < 0 || !Number.isInteger(length) || length < 0) throw new RangeError(`bencode holds no string at ${reader.at}`);
  reader.at = colon + 1 + length;
  return reader.text.slice(colon + 1, reader.at);
}
