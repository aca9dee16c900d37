import { typesOf, type Schema } from './open-api.ts';

type Schemas = Readonly<Record<string, Schema>>;

const ID = '6741c2a09be24c3a8d10e6f2';
const AT = '2026-11-21T12:00:00.000Z';
/** What a field of this name holds, where its schema allows it. */
const BY_NAME: Readonly<Record<string, unknown>> = {
  id: ID, name: 'Front desk', client_name: 'Ada Lovelace', phone_number: '+14155550100', to: '+14155550123', from: '+14155550100', url: 'https://example.com/wirevoice', email: 'ada@example.com',
  system_prompt: 'You answer the telephone of a dental practice. Be brief and kind.', opening_message: 'Hello {{name | "there"}}, how can I help?',
  language: 'en-US', timezone: 'Europe/Berlin', city: 'London', text: 'One moment, please.', query: 'opening hours', digits: '42#', prefix: 'wv_live_4fZk', secret: 'wv_live_4fZkQ…',
  host: 'sip.example.com', allowed_addresses: ['203.0.113.0/24'], model: 'local/moonshine-tiny-en', service_version: '2026-09-01', event: 'callCompleted', label: 'Main line',
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

function madeUp(target: Schema, schemas: Schemas, whole: boolean, name: string): unknown {
  switch (typesOf(target)[0]) {
    case 'object': return objectOf(target, schemas, whole);
    case 'array': return target.minItems === undefined && !whole ? [] : [sampleOf(target.items ?? {}, schemas, whole, name.replace(/s$/, ''))];
    case 'integer': case 'number': return target.minimum ?? 1;
    case 'boolean': return true;
    case 'null': return null;
    default: return target.format === 'date-time' ? AT : 'text'.padEnd(target.minLength ?? 0, '.');
  }
}

/** The schema that a reference leads to. */
export function resolve(schema: Schema, schemas: Schemas): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (schemas[name] ?? {});
}

function objectOf({ properties = {}, required = [], minProperties }: Schema, schemas: Schemas, whole: boolean): Record<string, unknown> {
  const shown = Object.entries(properties).filter(([name]) => whole || required.includes(name) || (minProperties !== undefined && required.length === 0));
  return Object.fromEntries(shown.map(([name, field]) => [name, sampleOf(field, schemas, whole, name)]));
}

/** The customary value of the name, if the schema takes it. */
function byName(schema: Schema, name: string): unknown {
  const value = name in BY_NAME ? BY_NAME[name] : BY_ENDING.find(([ending]) => ending.test(name))?.[1];
  return value !== undefined && takes(schema, value) ? value : undefined;
}

function takes(schema: Schema, value: unknown): boolean {
  if (schema.anyOf) return schema.anyOf.some((each) => takes(each, value));
  if (schema.enum) return schema.enum.includes(value);
  const types = typesOf(schema);
  if (Array.isArray(value)) return types.includes('array') && value.every((each) => takes(schema.items ?? {}, each));
  switch (typeof value) {
    case 'string': return types.includes('string') && new RegExp(schema.pattern ?? '').test(value) && value.length <= (schema.maxLength ?? Infinity);
    case 'number': return types.includes('integer') && value >= (schema.minimum ?? value) && value <= (schema.maximum ?? value);
    case 'boolean': return types.includes('boolean');
    default: return types.includes('null');
  }
}
