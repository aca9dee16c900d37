import type { FastifySchemaCompiler } from 'fastify';
import { ApiError } from '../../api/errors.ts';
import { compileValidator } from '../../api/validation.ts';
import { ImportEnvelope, MAX_IMPORTED } from './schema.ts';

/** No honest row comes near it; much deeper, and the body could not be written out again. */
const MAX_DEPTH = 100;

/** Checks an import as a whole, and leaves its rows to be checked one by one; text is CSV, read later. */
export const compileImportValidator: FastifySchemaCompiler<object> = (part) => {
  if (part.httpPart !== 'body') return compileValidator(part);
  const validate = compileValidator({ ...part, schema: ImportEnvelope }) as (body: unknown) => { error?: ApiError };
  return (body: unknown) => {
    if (typeof body === 'string') return { value: body };
    if (isDeeper(body, MAX_DEPTH)) return { error: new ApiError('invalid_parameter', `The body is nested deeper than ${MAX_DEPTH} levels.`) };
    const { error } = validate(withoutRows(body));
    return error ? { error } : { value: body };
  };
};

/** As many rows, with nothing in them; one too many stands for any number. */
function withoutRows(body: unknown): unknown {
  const { leads } = (body ?? {}) as { leads?: unknown };
  return Array.isArray(leads) ? { ...(body as object), leads: leads.slice(0, MAX_IMPORTED + 1).fill(null) } : body;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || (Array.isArray(value) ? value : Object.values(value)).some((below) => isDeeper(below, levels - 1));
}
