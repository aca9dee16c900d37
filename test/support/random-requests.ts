import fc, { type Arbitrary } from 'fast-check';
import type { Operation, OpenApiDocument, Parameter, Schema } from '../../src/docs/open-api.ts';
import { typesOf } from '../../src/docs/open-api.ts';

/** What requests are made from: the document, ids and cursors that exist, and keys. */
export interface Ground {
  document: OpenApiDocument;
  /** Ids of one resource, or the ids of a path with several parameters; grows as the requests make more. */
  idsFor(path: string): readonly Readonly<Record<string, string>>[];
  cursors: readonly string[];
  keys: { live: string; test: string };
  /** A body that is known to be right, if the operation has one. */
  bodyOf(method: string, path: string): unknown;
}

export interface RandomRequest { method: string; url: string; headers: Record<string, string>; payload?: string }

const UNKNOWN = 'f'.repeat(24);
const ODD_IDS = ['nonsense', 'F'.repeat(24), 'a'.repeat(5000), '%00', `${'a'.repeat(23)}%00`, '...', '%2e%2e%2f', '%zz', '%F0%9F%98%80', '-1', '*'];
/** Nothing that leads off this machine: what is fetched must be refused first. */
const ADDRESSES = ['https://127.0.0.1/x', 'http://[::1]:1/', 'https://10.0.0.1/a.wav', 'ftp://example.com', 'http://', 'https://0x7f.1/', 'file:///etc/passwd', 'http://user:secret@127.0.0.1/'];
const deep = (levels: number): unknown => Array.from({ length: levels }).reduce((inner) => ({ a: inner }), 'x');
const ODD_VALUES: readonly unknown[] = [
  null, true, false, 0, -1, 1.5, 1e308, 2 ** 53, -(2 ** 31) - 1, '', ' ', '\0', 'a\0b', '\ud800', 'x\udfff', '\uffff', '\u202e', '👩‍👩‍👧‍👦'.repeat(60), 'x'.repeat(70_000), '９'.repeat(20), '-0', 'NaN',
  [], {}, [null], [[]], { a: { b: null } }, deep(31), deep(40), { '\0': 1 }, { 'a.b': '{{c}}' }, { toString: 1 }, "'; DROP TABLE agents; --", '%s %n', '{{name}}', '2026-02-30T00:00:00Z', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999999999-12:00',
];
const ODD_BODIES = ['', '{', 'null', '[]', '"x"', '1', '{"a":1', '{"__proto__":{"x":1}}', '{"constructor":{"prototype":{}}}', '\ufeff{}', '{"a":1}{', '[{}]', `${'['.repeat(5000)}`, `${'[' .repeat(2000)}${']'.repeat(2000)}`, 'a=1&b=2', 'name,phone_number\nAda,+14155550111\n"', '\0'];
const MEDIA = ['text/plain', 'text/csv', 'application/x-www-form-urlencoded', 'multipart/form-data', 'multipart/form-data; boundary=x', 'application/json; charset=utf-16', 'application/xml', ';', 'application/json;a'];

type Change =
  | { kind: 'none' | 'drop' | 'extra'; at: number }
  | { kind: 'odd'; at: number; value: unknown };

/** Requests of one operation: mostly right, and wrong in every way that a stranger can be. */
export function randomRequest(ground: Ground, path: string, method: string, operation: Operation): Arbitrary<RandomRequest> {
  const parameters = operation.parameters.map((each) => ('$ref' in each ? ground.document.components.parameters[each.$ref.split('/').at(-1) ?? '']! : each));
  return fc.record({
    ids: idsArbitrary(ground, path, method, operation),
    query: queryArbitrary(ground, parameters.filter((parameter) => parameter.in === 'query')),
    headers: headersArbitrary(ground, method),
    body: bodyArbitrary(ground, path, method, operation),
  }).map(({ ids, query, headers, body }) => {
    const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? UNKNOWN);
    const withBody = body === undefined ? {} : { payload: body.text };
    return { method, url: query === '' ? url : `${url}?${query}`, headers: { ...(body === undefined ? {} : { 'content-type': body.media }), ...headers }, ...withBody };
  });
}

function idsArbitrary(ground: Ground, path: string, method: string, operation: Operation): Arbitrary<Record<string, string>> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (names.length === 0) return fc.constant({});
  // A stream that has begun ends with its call or campaign only.
  const streams = JSON.stringify(operation.responses['200']?.content ?? {}).includes('text/event-stream');
  const known = fc.nat().map((pick) => {
    const all = ground.idsFor(path);
    return all[pick % Math.max(1, all.length)] ?? {};
  });
  const unknown = fc.constantFrom(UNKNOWN, ...ODD_IDS).map((id) => Object.fromEntries(names.map((name) => [name, id])));
  return fc.oneof({ weight: streams ? 0 : method === 'DELETE' ? 1 : 6, arbitrary: known as Arbitrary<Record<string, string>> }, { weight: 2, arbitrary: unknown });
}

function queryArbitrary(ground: Ground, parameters: Parameter[]): Arbitrary<string> {
  const cursor = fc.constantFrom(...ground.cursors, 'x', 'AAAA', '%00', 'e'.repeat(512), 'e'.repeat(513), '');
  const valueOf = ({ name, schema }: Parameter): Arbitrary<string> => fc.oneof(
    { weight: 4, arbitrary: name === 'starting_after' || name === 'ending_before' ? cursor : valueArbitrary(ground, schema, name).map(String) },
    { weight: 1, arbitrary: fc.constantFrom('', '0', '101', '-1', '1e3', '\0', 'x'.repeat(3000), '[object Object]', 'null', '2026-02-30') },
  );
  const pairs = parameters.map((parameter) => fc.option(valueOf(parameter), { freq: parameter.required === true ? 20 : 1, nil: undefined }).map((value) => (value === undefined ? '' : `${parameter.name}=${escape(value)}`)));
  const extra = fc.option(fc.constantFrom('nonsense=1', 'limit=1&limit=2', '__proto__=1', '%00=1', 'a[b]=1', '&&=&', '%'), { freq: 1, nil: '' });
  return fc.tuple(fc.oneof({ weight: 6, arbitrary: fc.constant('') }, { weight: 1, arbitrary: extra }), ...pairs).map((parts) => parts.filter((part) => part !== '').join('&'));
}

/** Percent-encoded; halves of surrogate pairs as bytes that are no UTF-8. */
function escape(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80';
}

function headersArbitrary({ keys }: Ground, method: string): Arbitrary<Record<string, string>> {
  const key = fc.oneof({ weight: 12, arbitrary: fc.constant(keys.live) }, { weight: 3, arbitrary: fc.constant(keys.test) }, { weight: 1, arbitrary: fc.constantFrom('', 'x', `${keys.live}x`, 'wv_live_', 'é'.repeat(20)) });
  const rarely = (values: string[]): Arbitrary<string | undefined> => fc.oneof({ weight: 12, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constantFrom(...values) });
  return fc.record({
    authorization: key.map((text) => `Bearer ${text}`),
    'idempotency-key': method === 'POST' ? rarely(['k1', 'k2', '', 'x'.repeat(256), 'é', 'a b']) : fc.constant(undefined),
    'service-version': rarely(['2026-09-01', '2020-01-01', 'latest', '']),
    range: rarely(['bytes=0-1', 'bytes=9-1', 'bytes=-0', 'lines=1']),
    accept: rarely(['text/html', '*/*', 'x']),
  }).map((headers) => Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as Record<string, string>);
}

interface Body { text: string; media: string }

function bodyArbitrary(ground: Ground, path: string, method: string, operation: Operation): Arbitrary<Body | undefined> {
  const json = operation.requestBody?.content['application/json'];
  const odd = fc.record({ text: fc.constantFrom(...ODD_BODIES), media: fc.oneof({ weight: 3, arbitrary: fc.constant('application/json') }, { weight: 1, arbitrary: fc.constantFrom(...MEDIA) }) });
  if (json === undefined) return fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: odd });
  const made = valueArbitrary(ground, json.schema, '');
  const right = ground.bodyOf(method, path);
  const base = right === undefined ? made : fc.oneof({ weight: 2, arbitrary: made }, { weight: 1, arbitrary: fc.constant(right) });
  const changed = fc.tuple(base, changes()).map(([value, change]) => changeValue(value, change));
  const form = operation.requestBody?.content['multipart/form-data']?.schema;
  return fc.oneof(
    { weight: 12, arbitrary: changed.map((value) => ({ text: JSON.stringify(value), media: 'application/json' })) },
    { weight: 1, arbitrary: odd },
    { weight: form ? 4 : 0, arbitrary: fc.tuple(changed, fc.constantFrom(...FILES)).map(([value, file]) => formOf(value, file)) },
  );
}

const FILES: readonly { name: string; type: string; data: string }[] = [
  { name: 'files', type: 'audio/wav', data: 'RIFF\0\0' }, { name: 'file', type: 'text/plain', data: 'We are open.' }, { name: 'file', type: 'text/plain', data: 'a\0b' }, { name: 'file', type: 'application/pdf', data: '%PDF-1.7\n' },
  { name: 'file', type: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', data: 'PK' }, { name: 'files', type: 'x', data: '' }, { name: '__proto__', type: 'text/plain', data: 'x' },
];
const BOUNDARY = 'a-boundary';

function formOf(value: unknown, { name, type, data }: (typeof FILES)[number]): Body {
  const part = (head: string, text: string): string => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
  const fields = Object.entries((value ?? {}) as object).map(([field, each]) => part(`name="${field.replaceAll(/[^\w]/g, '_')}"`, typeof each === 'string' ? each : JSON.stringify(each) ?? ''));
  return { media: `multipart/form-data; boundary=${BOUNDARY}`, text: `${fields.join('')}${part(`name="${name}"; filename="a.${type.slice(-3)}"\r\nContent-Type: ${type}`, data)}--${BOUNDARY}--\r\n` };
}

function changes(): Arbitrary<Change> {
  const at = fc.nat();
  return fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('none' as const), at }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('drop' as const, 'extra' as const), at }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('odd' as const), at, value: fc.constantFrom(...ODD_VALUES) }) },
  );
}

/** The value with one of its places changed. */
function changeValue(value: unknown, change: Change): unknown {
  if (change.kind === 'none') return value;
  const copy = structuredClone(value);
  const places = placesIn(copy);
  const place = places[change.at % Math.max(1, places.length)];
  if (!place) return change.kind === 'odd' ? change.value : copy;
  if (change.kind === 'drop') Reflect.deleteProperty(place.holder, place.name);
  else if (change.kind === 'extra') (place.holder as Record<string, unknown>)['nonsense'] = 1;
  else if (change.kind === 'odd') (place.holder as Record<string, unknown>)[place.name] = change.value;
  return copy;
}

function placesIn(value: unknown): { holder: object; name: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, below]) => [{ holder: value, name }, ...placesIn(below)]);
}

/** Values that a schema allows, or nearly. */
export function valueArbitrary(ground: Ground, schema: Schema, name: string): Arbitrary<unknown> {
  const target = schema.$ref === undefined ? schema : (ground.document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  if (target.const !== undefined) return fc.constant(target.const);
  if (target.enum) return fc.constantFrom(...target.enum);
  const choices = target.anyOf ?? target['oneOf'] as Schema[] | undefined;
  if (choices) return fc.oneof(...choices.map((each) => valueArbitrary(ground, each, name)));
  const types = typesOf(target);
  return fc.oneof(...(types.length === 0 ? ['string'] : types).map((type) => typedArbitrary(ground, target, type, name)));
}

function typedArbitrary(ground: Ground, schema: Schema, type: string, name: string): Arbitrary<unknown> {
  const { minimum = 0, maximum = 100_000, minItems = 0, maxItems = 3 } = schema;
  switch (type) {
    case 'object': return objectArbitrary(ground, schema);
    case 'array': return fc.array(valueArbitrary(ground, schema.items ?? {}, name), { minLength: minItems, maxLength: Math.max(minItems, Math.min(maxItems, 3)) });
    case 'integer': return fc.oneof(fc.constantFrom(minimum, maximum), fc.integer({ min: Math.max(minimum, -(2 ** 31)), max: Math.min(maximum, 2 ** 31) }));
    case 'number': return fc.oneof(fc.constantFrom(minimum, maximum), fc.double({ min: minimum, max: maximum, noNaN: true }));
    case 'boolean': return fc.boolean();
    case 'null': return fc.constant(null);
    default: return textArbitrary(ground, schema, name);
  }
}

function objectArbitrary(ground: Ground, { properties = {}, required = [], additionalProperties }: Schema): Arbitrary<unknown> {
  const fields = Object.entries(properties).map(([name, field]) => {
    const value = valueArbitrary(ground, field, name);
    return (required.includes(name) ? value : fc.option(value, { freq: 1, nil: undefined })).map((each) => [name, each] as const);
  });
  const own = fields.length === 0 ? fc.constant({}) : fc.tuple(...fields).map((entries) => Object.fromEntries(entries.filter(([, value]) => value !== undefined)));
  if (typeof additionalProperties !== 'object' && additionalProperties !== true) return own;
  const value = additionalProperties === true ? fc.constantFrom(...ODD_VALUES) : valueArbitrary(ground, additionalProperties, '');
  return fc.tuple(own, fc.dictionary(fc.constantFrom('a', 'city', 'e-mail', 'Ünï', '__proto__', '', '0'), value, { maxKeys: 3 })).map(([known, more]) => ({ ...more, ...known }));
}

const TEXT = fc.oneof({ weight: 3, arbitrary: fc.constantFrom('Ada', 'Front desk', 'en-US', 'Europe/Berlin', 'local/ear', 'Hello {{name | "there"}}', '42', 'text') }, { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) });

function textArbitrary(ground: Ground, { pattern, format, minLength = 0, maxLength = 1000 }: Schema, name: string): Arbitrary<string> {
  if (pattern?.includes('[0-9a-f]{24}')) return fc.nat().map((pick) => idAt(ground, name, pick));
  if (pattern?.startsWith('^\\+')) return fc.constantFrom('+14155550100', '+15005550001', '+442079460000', '+1', '+000');
  if (format === 'date-time') return fc.constantFrom('2026-11-21T12:00:00.000Z', '2027-01-01T00:00:00+05:30', '2020-02-29T23:59:59Z', '9999-12-31T23:59:59Z', '0001-01-01T00:00:00Z');
  if (pattern !== undefined) return fc.oneof(TEXT, fc.stringMatching(new RegExp(pattern)));
  if (/url|^to$|host|address/.test(name)) return fc.constantFrom(...ADDRESSES, '10.0.0.0/8', '+14155550100');
  return fc.oneof({ weight: 8, arbitrary: TEXT.map((text) => text.slice(0, maxLength).padEnd(minLength, 'x')) }, { weight: 1, arbitrary: fc.constant('y'.repeat(Math.min(maxLength, 20_000))) }, { weight: 1, arbitrary: fc.constant('z'.repeat(Math.min(maxLength + 1, 30_000))) });
}

/** An id of what the field's name says, where such a thing exists. */
function idAt(ground: Ground, name: string, pick: number): string {
  const noun = name.replace(/^(outbound_|from_)/, '').replace(/_ids?$/, '').replaceAll('_', '-');
  const known = ground.idsFor(`/v1/${noun}s/{id}`).map(({ id = UNKNOWN }) => id);
  return [...known, UNKNOWN, 'nonsense'][pick % (known.length + 2)] ?? UNKNOWN;
}
