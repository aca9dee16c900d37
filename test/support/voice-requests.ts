import { randomBytes } from 'node:crypto';
import type { Answer, ApiHarness } from './api-harness.ts';

export const VOICE = { name: 'Ada', consent: 'true' };

export interface FormFile { data: Buffer; filename?: string; mediaType?: string; field?: string }

/** A multipart body: fields first, or after the files. */
export function form(fields: Readonly<Record<string, string>>, files: readonly (Buffer | FormFile)[], order: 'fields first' | 'files first' = 'fields first'): { contentType: string; body: Buffer } {
  const boundary = `form${randomBytes(8).toString('hex')}`;
  const part = (head: string, content: Buffer | string): Buffer => Buffer.concat([Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`), Buffer.from(content), Buffer.from('\r\n')]);
  const texts = Object.entries(fields).map(([name, value]) => part(`name="${name}"`, value));
  const uploads = files.map((file) => (Buffer.isBuffer(file) ? { data: file } : file)).map(({ data, filename = 'voice', mediaType = 'application/octet-stream', field = 'files' }) =>
    part(`name="${field}"; filename="${filename}"\r\nContent-Type: ${mediaType}`, data));
  const parts = order === 'fields first' ? [...texts, ...uploads] : [...uploads, ...texts];
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]) };
}

export interface VoicePost {
  key?: string;
  fields?: Readonly<Record<string, string>>;
  files?: readonly (Buffer | FormFile)[];
  order?: 'fields first' | 'files first';
  headers?: Record<string, string>;
}

/** POST /v1/voices as a form; with the account's live key unless told. */
export async function postVoice(api: ApiHarness, { key = api.account.live, fields = VOICE, files = [], order, headers = {} }: VoicePost): Promise<Answer> {
  const { contentType, body } = form(fields, files, order);
  const answer = await api.app.inject({ method: 'POST', url: '/v1/voices', headers: { authorization: `Bearer ${key}`, 'content-type': contentType, ...headers }, payload: body });
  return { status: answer.statusCode, headers: answer.headers, body: answer.json() };
}
