import type { FastifyReply } from 'fastify';
import { ApiError } from '../../api/errors.ts';
import type { Bytes } from './recording-channels.ts';

/** Sends a recording whole, or the one range asked for (RFC 9110 section 14). Throws ApiError `range_not_satisfiable`. */
export function sendRecording(reply: FastifyReply, range: string | undefined, recording: Bytes & { name: string }): FastifyReply {
  const { bytes, read, name } = recording;
  reply.headers({ 'Content-Type': 'audio/wav', 'Accept-Ranges': 'bytes', 'Content-Disposition': `attachment; filename="${name}"` });
  const part = range === undefined ? undefined : parseRange(range, bytes);
  if (part === 'unsatisfiable') throw new ApiError('range_not_satisfiable', undefined, { headers: { 'Content-Range': `bytes */${bytes}` } });
  if (!part) return reply.header('Content-Length', bytes).send(read(0, bytes - 1));
  reply.code(206).headers({ 'Content-Range': `bytes ${part.from}-${part.to}/${bytes}`, 'Content-Length': part.to - part.from + 1 });
  return reply.send(read(part.from, part.to));
}

/** One byte range; undefined where the header asks for something we may ignore (several ranges, another unit). */
export function parseRange(header: string, bytes: number): { from: number; to: number } | 'unsatisfiable' | undefined {
  const [whole, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header.trim()) ?? [];
  if (whole === undefined || (first === '' && last === '')) return undefined;
  if (first === '') {
    const suffix = Math.min(Number(last), bytes);
    return suffix === 0 ? 'unsatisfiable' : { from: bytes - suffix, to: bytes - 1 };
  }
  const from = Number(first);
  const to = last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1);
  if (from >= bytes) return 'unsatisfiable';
  return to < from ? undefined : { from, to };
}
