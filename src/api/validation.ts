import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { ApiError, type ErrorCode, type ErrorOptions } from './errors.ts';

/** Schemas may carry `errorCode`: what a wrong value at or below them answers instead of `invalid_parameter`. */
interface Annotated {
  errorCode?: ErrorCode;
  properties?: Record<string, Annotated>;
  items?: Annotated;
  anyOf?: Annotated[];
}

const MAX_DEPTH = 32;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

function makeAjv(coerceTypes: boolean): Ajv {
  const ajv = new Ajv({ coerceTypes, removeAdditional: false, useDefaults: false, allErrors: false, strict: true, strictTypes: false, strictRequired: false });
  ajv.addKeyword({ keyword: 'errorCode', schemaType: 'string' });
  ajv.addFormat('date-time', (text: string) => DATE_TIME.test(text) && !Number.isNaN(Date.parse(text)));
  ajv.addFormat('uri', (text: string) => URL.canParse(text));
  return ajv;
}

/** Queries and paths are text, so their numbers and booleans are read from text; bodies are taken as they are. */
const strict = makeAjv(false);
const coercing = makeAjv(true);

/** Fastify's validator: the first thing wrong becomes an ApiError that names it. Compiled when first asked: two hundred at once would hold up the start. */
export const compileValidator: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  let validate: ValidateFunction | undefined;
  return (data: unknown) => {
    validate ??= (httpPart === 'body' ? strict : coercing).compile(schema);
    const unfit = findUnfit(data);
    if (unfit) return { error: new ApiError('invalid_parameter', unfit.reason, { param: dotted(unfit.path, data) }) };
    if (validate(data)) return { value: data };
    const [error] = validate.errors ?? [];
    return { error: error ? toApiError(error, schema as Annotated, data) : new ApiError('invalid_parameter') };
  };
};

interface Unfit { path: string[]; reason: string }

/**
 * What no route can take, wherever it stands: text that is not Unicode or holds U+0000 (the database stores neither), and nesting
 * that nothing of ours needs. Written to make nothing while all is well: a body of megabytes may hold millions of values.
 */
function findUnfit(data: unknown): Unfit | undefined {
  return unfitIn(data, [], 0);
}

/** `path` is that of `value`, and is as it was once this has found nothing. */
function unfitIn(value: unknown, path: string[], depth: number): Unfit | undefined {
  if (typeof value === 'string') return isPlainText(value) ? undefined : { path, reason: `${path.at(-1) ?? 'The body'} has characters that are not text (U+0000, or half of a surrogate pair).` };
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === MAX_DEPTH) return { path: path.slice(0, 1), reason: `The body is nested deeper than ${MAX_DEPTH} levels.` };
  return Array.isArray(value) ? unfitItem(value, path, depth) : unfitField(value, path, depth);
}

function unfitItem(items: readonly unknown[], path: string[], depth: number): Unfit | undefined {
  for (const [index, item] of items.entries()) {
    if (typeof item !== 'string' && typeof item !== 'object') continue;
    path.push(String(index));
    const found = unfitIn(item, path, depth + 1);
    if (found) return found;
    path.pop();
  }
  return undefined;
}

function unfitField(fields: object, path: string[], depth: number): Unfit | undefined {
  for (const [name, below] of Object.entries(fields)) {
    if (!isPlainText(name)) return { path, reason: 'The name of a field has characters that are not text (U+0000, or half of a surrogate pair).' };
    path.push(name);
    const found = unfitIn(below, path, depth + 1);
    if (found) return found;
    path.pop();
  }
  return undefined;
}

function isPlainText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function toApiError(error: ErrorObject, schema: Annotated, data: unknown): ApiError {
  const path = error.instancePath.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const below = (name: string): ErrorOptions => ({ param: dotted([...path, name], data) });
  const special = codeAt(schema, path);
  if (special === 'invalid_metadata') return new ApiError(special, undefined, { param: 'metadata' });
  if (error.keyword === 'additionalProperties') {
    const name = String(error.params['additionalProperty']);
    const options = below(name);
    return new ApiError('unknown_parameter', `${options.param} is not a parameter of this route.`, options);
  }
  if (error.keyword === 'required') {
    const options = below(String(error.params['missingProperty']));
    return new ApiError('missing_parameter', `${options.param} is required.`, options);
  }
  const param = dotted(path, data);
  if (path.length === 0) return new ApiError('invalid_parameter', 'The body must be a JSON object.');
  return new ApiError(special ?? 'invalid_parameter', `${param} ${reason(error)}.`, { param });
}

/** `leads[3].phone_number`: array positions in brackets. Only what JSON holds at each step tells an array from an object. */
function dotted(path: string[], data: unknown): string {
  let text = '';
  let at = data;
  for (const part of path) {
    text += Array.isArray(at) ? `[${part}]` : text === '' ? part : `.${part}`;
    at = (at as Record<string, unknown> | undefined)?.[part];
  }
  return text;
}

/** The innermost annotation on the way to `path`. */
function codeAt(schema: Annotated, path: string[]): ErrorCode | undefined {
  let at: Annotated | undefined = schema;
  let code = schema.errorCode;
  for (const part of path) {
    at = schemaOf(at, part);
    code = at?.errorCode ?? code;
  }
  return code;
}

/** The schema of a part; where null is allowed too, the other form's. */
function schemaOf(schema: Annotated | undefined, part: string): Annotated | undefined {
  return schema?.properties?.[part] ?? schema?.items ?? schema?.anyOf?.map((form) => schemaOf(form, part)).find((found) => found !== undefined);
}

function reason(error: ErrorObject): string {
  switch (error.keyword) {
    case 'enum': return `must be one of ${(error.params['allowedValues'] as unknown[]).join(', ')}`;
    case 'const': return `must be ${String(error.params['allowedValue'])}`;
    case 'anyOf': return 'has none of the forms it may have';
    case 'pattern': return 'does not have the form it must have';
    default: return error.message ?? 'is not valid';
  }
}
