import type { Keyring } from '../../api/keyring.ts';

export type Headers = Readonly<Record<string, string>>;

/** Shorter values occur in honest texts. */
const SHORTEST_SECRET = 6;
/** Of one value, such as the token behind `Bearer`; each is looked for in all that the server sent, so there must not be thousands. */
const MAX_WORDS = 8;

/** As the row `id` holds them. */
export function sealHeaders(keyring: Keyring, id: string, headers: Headers): Buffer | null {
  return Object.keys(headers).length === 0 ? null : keyring.seal(JSON.stringify(headers), placeOf(id));
}

export function openHeaders(keyring: Keyring, row: { id: string; headers: Buffer | null }): Headers {
  return row.headers === null ? {} : JSON.parse(keyring.unseal(row.headers, placeOf(row.id))) as Headers;
}

/** What a server sent, without the header values that it was sent: a server may echo them. */
export function withoutSecrets<Value>(value: Value, headers: Headers): Value {
  const secrets = [...new Set(Object.values(headers).flatMap((text) => [text, ...text.split(' ', MAX_WORDS)]).filter((text) => text.length >= SHORTEST_SECRET))];
  if (secrets.length === 0) return value;
  const hide = (text: string): string => secrets.reduce((hidden, secret) => hidden.replaceAll(secret, '[redacted]'), text);
  const walk = (at: unknown): unknown => {
    if (typeof at === 'string') return hide(at);
    if (Array.isArray(at)) return at.map(walk);
    return typeof at === 'object' && at !== null ? Object.fromEntries(Object.entries(at).map(([key, inner]) => [hide(key), walk(inner)])) : at;
  };
  return walk(value) as Value;
}

function placeOf(id: string): string {
  return `mcp_server:headers:${id}`;
}
