import { createHash } from 'node:crypto';
import multipart, { type MultipartFile } from '@fastify/multipart';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from './app-type.ts';
import { ApiError } from './errors.ts';
import type { MultipartRules, Upload } from './multipart-rules.ts';

const MAX_FIELDS = 40;
const MAX_FIELD_BYTES = 64 * 1024;
const FIELD_NAME_BYTES = 100;
/** What the forms of all requests may hold in memory together. */
const MAX_BYTES_AT_ONCE = 512 * 1024 * 1024;
/** Taken by routes that name them in `config.textBodies`. */
const TEXT_BODIES = ['text/csv'];

interface Room { heldBytes: number; readonly maxBytes: number }

/** Lets routes with `config.multipart` take forms. The body is read, counted and cut off before it is validated. */
export async function installMultipart(app: App, maxBytesAtOnce = MAX_BYTES_AT_ONCE): Promise<void> {
  const room: Room = { heldBytes: 0, maxBytes: maxBytesAtOnce };
  await app.register(multipart);
  app.addContentTypeParser(TEXT_BODIES, { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.decorateRequest('uploads', null as never);
  app.addHook('onRoute', (route) => {
    const rules = route.config?.multipart;
    if (!rules) return;
    const read = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      if (!request.isMultipart()) return;
      const held = { bytes: 0 };
      reply.raw.once('close', () => { room.heldBytes -= held.bytes; });
      await readForm(request, rules, overflow(request.raw, rules.maxBytes ?? Infinity, held, room));
    };
    route.preValidation = [read, ...[route.preValidation ?? []].flat()];
  });
}

async function readForm(request: FastifyRequest, rules: MultipartRules, overflowing: Promise<never>): Promise<void> {
  const fields: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  const uploads: Upload[] = [];
  const limits = { fields: MAX_FIELDS, fieldSize: MAX_FIELD_BYTES, fieldNameSize: FIELD_NAME_BYTES, fileSize: rules.maxFileBytes, files: rules.maxFiles, parts: MAX_FIELDS + rules.maxFiles };
  const readParts = async (): Promise<void> => {
    for await (const part of request.parts({ limits })) {
      if (part.type === 'file') uploads.push(await readFile(part, rules, uploads.length));
      else fields[part.fieldname] = valueOf(part.fieldname, String(part.value), part.valueTruncated, rules);
    }
  };
  try {
    await Promise.race([overflowing, readParts()]);
  } catch (error) {
    // The rest is let pass by, so that a client that is still sending hears the answer.
    request.raw.unpipe().resume();
    throw asApiError(error, rules);
  }
  request.uploads = uploads;
  request.body = { ...fields };
}

/** Never resolves; rejects at the byte over what one form, or all of them together, may have. Counts in `held` and `room`. */
function overflow(body: IncomingMessage, maxBytes: number, held: { bytes: number }, room: Room): Promise<never> {
  return new Promise((_, reject) => {
    body.on('data', (chunk: Buffer) => {
      held.bytes += chunk.length;
      room.heldBytes += chunk.length;
      if (held.bytes > maxBytes) reject(new ApiError('body_too_large'));
      if (room.heldBytes > room.maxBytes) reject(new ApiError('service_unavailable', 'Too much is being uploaded at once. Try again.'));
    });
  });
}

async function readFile(part: MultipartFile, rules: MultipartRules, position: number): Promise<Upload> {
  if (part.fieldname !== rules.files) throw new ApiError('unknown_parameter', `${part.fieldname} is not a file field of this route.`, { param: part.fieldname });
  const chunks: Buffer[] = [];
  const hash = createHash('sha256');
  for await (const chunk of part.file as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    hash.update(chunk);
  }
  if (part.file.truncated) throw new ApiError(rules.tooLarge, undefined, { param: `${rules.files}[${position}]` });
  return { filename: part.filename, mediaType: part.mimetype, data: Buffer.concat(chunks), sha256: hash.digest('hex') };
}

function valueOf(name: string, text: string, truncated: boolean, rules: MultipartRules): unknown {
  if (truncated) throw new ApiError('invalid_parameter', `${name} is longer than any field may be.`, { param: name });
  if (!rules.booleans?.includes(name)) return text;
  return text === 'true' ? true : text === 'false' ? false : text;
}

function asApiError(error: unknown, rules: MultipartRules): unknown {
  const { code } = (error ?? {}) as { code?: string };
  if (code === 'FST_FILES_LIMIT') return new ApiError(rules.tooMany, undefined, { param: rules.files });
  if (code === 'FST_REQ_FILE_TOO_LARGE') return new ApiError(rules.tooLarge, undefined, { param: rules.files });
  if (error instanceof ApiError) return error;
  return new ApiError('invalid_parameter', 'The body is not well-formed multipart/form-data.', { cause: error });
}
