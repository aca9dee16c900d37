import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { App } from '../api/app-type.ts';

const TYPES = { html: 'text/html; charset=utf-8', css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' } as const;

/** Everything the page loads, by name: nothing else of the folder is served. */
const ASSETS = [
  'talk.css', 'icon.svg', 'talk.js', 'screen.js', 'transcript.js', 'latency.js', 'session-api.js', 'realtime-session.js', 'sound.js',
  'capture-worklet.js', 'playback-worklet.js', 'playback-buffer.js', 'resampler.js',
] as const;

/** IPv6 literals are not sources that a policy can name (CSP 3, section 2.3.1). */
const HOST_NAME = /^[a-z0-9.-]+$/i;
const LOOPBACK = ['localhost', '127.0.0.1'];

export interface TalkPageOptions {
  /** How browsers reach the service; its host may be connected to by WebSocket. */
  publicUrl: string;
}

interface Asset { body: Buffer; type: string; etag: string }

/**
 * `GET /talk` and its assets: plain files, held in memory, no inline script or style. The page may open WebSockets to the host
 * it came from and to the public one, on any port: each media worker has its own.
 */
export function talkPage(app: App, options: TalkPageOptions): void {
  const publicHost = URL.parse(options.publicUrl)?.hostname;
  const serve = (path: string, file: string): void => {
    const asset = readAsset(file);
    app.get(path, { config: { scope: 'public' } }, (request, reply) => {
      reply.headers({
        'Content-Security-Policy': contentSecurityPolicy([URL.parse(`http://${request.headers.host}`)?.hostname, publicHost]),
        'Permissions-Policy': 'microphone=(self), camera=(), geolocation=()',
        'X-Content-Type-Options': 'nosniff',
        'Referrer-Policy': 'no-referrer',
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cache-Control': 'no-cache',
        ETag: asset.etag,
      });
      if (request.headers['if-none-match'] === asset.etag) return reply.code(304).send();
      return reply.type(asset.type).send(asset.body);
    });
  };
  serve('/talk', 'talk.html');
  for (const file of ASSETS) serve(`/talk/assets/${file}`, file);
}

function readAsset(file: string): Asset {
  const body = readFileSync(new URL(`./assets/${file}`, import.meta.url));
  const extension = file.slice(file.lastIndexOf('.') + 1) as keyof typeof TYPES;
  return { body, type: TYPES[extension], etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` };
}

/** `hosts`: names the page may open WebSockets to; what is not a plain host name is left out. */
function contentSecurityPolicy(hosts: (string | undefined)[]): string {
  const named = hosts.filter((host) => host !== undefined && HOST_NAME.test(host)) as string[];
  const all = new Set(named.flatMap((host) => (LOOPBACK.includes(host) ? LOOPBACK : [host])));
  const sockets = [...all].flatMap((host) => [`ws://${host}:*`, `wss://${host}:*`]);
  return [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", `connect-src ${["'self'", ...sockets].join(' ')}`,
    "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
  ].join('; ');
}
