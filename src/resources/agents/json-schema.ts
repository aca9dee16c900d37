import { Ajv2020 } from 'ajv/dist/2020.js';
import { ApiError } from '../../api/errors.ts';

/** Models read these schemas with every turn, so they are kept small. */
const MAX_BYTES = 8192;
const MAX_DEPTH = 10;
const MAX_REFERENCE = 256;

/** Only ever checks that a schema is one: a stranger's schema is never compiled. */
const ajv = new Ajv2020({ logger: false });

/**
 * That `schema` is a JSON Schema (2020-12) of an object, at most 8 KiB and 10 levels deep, whose references stay inside it.
 * Throws ApiError `invalid_parameter`.
 */
export function requireObjectSchema(schema: Record<string, unknown>, param: string): void {
  const fault = faultOf(schema);
  if (fault !== undefined) throw new ApiError('invalid_parameter', `${param} ${fault}.`, { param });
}

function faultOf(schema: Record<string, unknown>): string | undefined {
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_BYTES) return `must be at most ${MAX_BYTES} bytes of JSON`;
  if (schema['type'] !== 'object') return 'must have "type": "object"';
  const { $schema: _dialect, ...rest } = schema;
  const inside = walk(rest, rest, 1);
  if (inside !== undefined) return inside;
  if (ajv.validateSchema(rest) === true) return undefined;
  const [error] = ajv.errors ?? [];
  return `is no JSON Schema: ${error?.instancePath === '' ? 'it' : (error?.instancePath ?? 'it')} ${error?.message ?? 'is not valid'}`;
}

function walk(value: unknown, root: object, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > MAX_DEPTH) return `must be at most ${MAX_DEPTH} levels deep`;
  for (const [key, inner] of Object.entries(value)) {
    if (/^\$(ref|dynamicRef)$/.test(key) && typeof inner === 'string' && !isInside(inner, root)) return `has the reference ${inner.slice(0, 100)}, which leads nowhere inside it`;
    if (key === 'pattern' && typeof inner === 'string' && !isRegularExpression(inner)) return `has the pattern ${inner.slice(0, 100)}, which is no regular expression`;
    const fault = walk(inner, root, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** `#/$defs/address`: a JSON pointer to something in the schema. */
function isInside(reference: string, root: object): boolean {
  if (reference.length > MAX_REFERENCE || !/^#(\/|$)/.test(reference)) return false;
  let at: unknown = root;
  for (const part of reference.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return false;
    at = (at as Record<string, unknown>)[name];
  }
  return typeof at === 'object' && at !== null;
}

function isRegularExpression(text: string): boolean {
  try {
    new RegExp(text, 'u');
    return true;
  } catch {
    return false;
  }
}
