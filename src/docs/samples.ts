import { typesOf, type Schema } from './open-api.ts';

type Schemas = Readonly<Record<string, Schema>>;

const ID = '6741c2a09be24c3a8d10e6f2';
/** Whoever has a telephone is a person. */
const PERSON = 'Ada Lovelace';
const AT = '2026-11-21T12:00:00.000Z';
/** What a field of this name holds, where its schema allows it. */
const BY_NAME: Readonly<Record<string, unknown>> = {
  id: ID, name: 'Front desk', client_name: PERSON, phone_number: '+14155550100', to: '+14155550123', from: '+14155550100', url: 'https://example.com/wirevoice', email: 'ada@example.com',
  system_prompt: 'You answer the telephone of a dental practice. Be brief and kind.', opening_message: 'Hello {{name | "there"}}, how can I help?',
  language: 'en-US', timezone: 'Europe/Berlin', city: 'London', text: 'One moment, please.', query: 'opening hours', digits: '42#', prefix: 'wv_live_4fZk', secret: 'wv_live_4fZkQ…',
  host: 'sip.example.com', allowed_addresses: ['203.0.113.0/24'], model: 'local/moonshine-tiny-en', service_version: '2026-09-01', event: 'callCompleted', label: 'Main line',
  event_key: 'callCompleted:6741c2a09be24c3a8d10e6f2', do_not_call: false, notes: 'Prefers mornings.', qualification_notes: 'Wants a quote.', country: 'US',
  next_cursor: null, previous_cursor: null, has_more: false, scopes: ['agents:read', 'agents:write'], audio_urls: ['https://example.com/ada.wav'], tags: ['warm'],
  balance_micros: 25_000_000, amount_micros: 10_000_000, cost_micros: 18_400, duration_ms: 61_240, title: 'Opening hours', end_reason: 'caller_hangup', status: 'completed',
};
const BY_ENDING: readonly [RegExp, unknown][] = [
  [/_ids$/, [ID]], [/(^|_)id$/, ID], [/(_at|_from|_until|date_time|timestamp|expires|^at)$/, AT], [/_micros$/, 1_250_000], [/_ms$/, 640], [/url$/, 'https://example.com/wirevoice'],
  [/(^|_)(number|to)$/, '+14155550123'],
];

/** A value that the schema allows: required fields only, or with `whole` every field. */
export function sampleOf(schema: Schema, schemas: Schemas, whole: boolean, name = ''): unknown {
  const target = resolve(schema, schemas);
  if (target.allOf) return Object.assign({}, ...target.allOf.map((each) => sampleOf(each, schemas, whole))) as unknown;
  const chosen = target.const ?? byName(target, name) ?? target.examples?.[0] ?? target.enum?.[0];
  if (chosen !== undefined) return chosen;
  return target.anyOf ? sampleOf(target.anyOf[0] ?? {}, schemas, whole, name) : madeUp(target, schemas, whole, name);
}

type Maker = (target: Schema, schemas: Schemas, whole: boolean, name: string) => unknown;

const makeText: Maker = ({ format, minLength }) => (format === 'date-time' ? AT : 'text'.padEnd(minLength ?? 0, '.'));
const makeNumber: Maker = ({ minimum }) => minimum ?? 1;
const MAKERS: Readonly<Record<string, Maker>> = {
  object: objectOf,
  array: ({ minItems, items }, schemas, whole, name) => (minItems === undefined && !whole ? [] : [sampleOf(items ?? {}, schemas, whole, name.replace(/s$/, ''))]),
  integer: makeNumber,
  number: makeNumber,
  boolean: () => true,
  null: () => null,
};

function madeUp(target: Schema, schemas: Schemas, whole: boolean, name: string): unknown {
  const make = MAKERS[typesOf(target)[0] ?? ''] ?? makeText;
  return make(target, schemas, whole, name);
}

/** The schema that a reference leads to. */
export function resolve(schema: Schema, schemas: Schemas): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (schemas[name] ?? {});
}

function objectOf({ properties = {}, required = [], minProperties }: Schema, schemas: Schemas, whole: boolean): Record<string, unknown> {
  const shown = Object.entries(properties).filter(([name]) => whole || required.includes(name) || (minProperties !== undefined && required.length === 0));
  const sample = Object.fromEntries(shown.map(([name, field]) => [name, sampleOf(field, schemas, whole, name)]));
  return 'name' in sample && 'phone_number' in sample ? { ...sample, name: PERSON } : sample;
}

/** The customary value of the name, if the schema takes it. */
function byName(schema: Schema, name: string): unknown {
  const value = name in BY_NAME ? BY_NAME[name] : BY_ENDING.find(([ending]) => ending.test(name))?.[1];
  return value !== undefined && takes(schema, value) ? value : undefined;
}

function takes(schema: Schema, value: unknown): boolean {
  if (schema.anyOf) return schema.anyOf.some((each) => takes(each, value));
  if (schema.enum) return schema.enum.includes(value);
  if (!typesOf(schema).includes(typeName(value))) return false;
  if (Array.isArray(value)) return value.every((each) => takes(schema.items ?? {}, each));
  if (typeof value === 'string') return new RegExp(schema.pattern ?? '').test(value) && value.length <= (schema.maxLength ?? Infinity);
  return typeof value !== 'number' || inRange(schema, value);
}

function inRange({ minimum = -Infinity, maximum = Infinity }: Schema, value: number): boolean {
  return value >= minimum && value <= maximum;
}

/** The schema's word for a value's type. */
function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' ? 'integer' : typeof value;
}
