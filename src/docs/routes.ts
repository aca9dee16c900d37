import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../api/app-type.ts';
import type { AppContext } from '../context.ts';
import { openApiDocument } from './document.ts';
import { errorsPage } from './errors-page.ts';
import { eventsPage } from './events-page.ts';
import type { OpenApiDocument } from './open-api.ts';
import { realtimePage } from './realtime-page.ts';
import { referencePage } from './reference-page.ts';

const POLICY = [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
].join('; ');
const HTML = 'text/html; charset=utf-8';
const ASSETS = {
  'docs.css': { file: './assets/docs.css', type: 'text/css; charset=utf-8' },
  'docs.js': { file: './assets/docs.js', type: 'text/javascript; charset=utf-8' },
  'icon.svg': { file: '../console/assets/icon.svg', type: 'image/svg+xml' },
};

interface Rendered { body: Buffer; zipped: Buffer; type: string; etag: string }

/** `/openapi.json` and the pages under `/docs`: made from the routes that are registered, once, when they are first asked for. */
export function docsRoutes(app: App, { options: { publicUrl }, versions: { versions } }: Pick<AppContext, 'options' | 'versions'>): void {
  const document = once(() => openApiDocument({ routes: app.knownRoutes.all(), publicUrl, versions }));
  const serve = (path: string, type: string, make: () => string): void => {
    const rendered = once(() => render(make(), type));
    app.get(path, { config: { scope: 'public' } }, (request, reply) => answer(request, reply, rendered()));
  };
  serve('/openapi.json', 'application/json; charset=utf-8', () => JSON.stringify(document()));
  serve('/docs', HTML, () => referencePage(document()));
  serve('/docs/errors', HTML, () => errorsPage(operationsByCode(document())));
  serve('/docs/realtime', HTML, () => realtimePage());
  serve('/docs/events', HTML, () => eventsPage(document()));
  for (const [name, { file, type }] of Object.entries(ASSETS)) serve(`/docs/assets/${name}`, type, () => readFileSync(new URL(file, import.meta.url), 'utf8'));
}

function render(text: string, type: string): Rendered {
  const body = Buffer.from(text);
  return { body, zipped: gzipSync(body), type, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` };
}

function answer(request: FastifyRequest, reply: FastifyReply, { body, zipped, type, etag }: Rendered): FastifyReply {
  reply.headers({ 'Content-Security-Policy': POLICY, 'Cross-Origin-Opener-Policy': 'same-origin', 'Cache-Control': 'no-cache', 'Vary': 'Accept-Encoding', 'ETag': etag });
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  reply.type(type);
  return /\bgzip\b/.test(String(request.headers['accept-encoding'])) ? reply.header('Content-Encoding', 'gzip').send(zipped) : reply.send(body);
}

function operationsByCode({ paths }: OpenApiDocument): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { operationId, responses } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    for (const code of Object.values(responses).flatMap((response) => response['x-error-codes'] ?? [])) found.set(code, [...(found.get(code) ?? []), operationId]);
  }
  return found;
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}
