import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify from 'fastify';
import { relayUpgrades } from '../../src/calls/upgrade-relay.ts';
import { talkPage } from '../../src/console/talk-page.ts';
import { BrowserServer } from '../../src/session/browser/browser-server.ts';
import { expectSession, type ExpectedSession } from './browser-session.ts';

const CSRF = 'csrf-of-the-test';

export interface TalkApp {
  url: string;
  browsers: BrowserServer;
  /** Sessions that the page made, oldest first. */
  sessions: ExpectedSession[];
  /** Bodies and headers of `POST /v1/realtime/sessions`. */
  asked: { body: unknown; mode: string | undefined }[];
  /** Resolves with the next session that the page makes. */
  nextSession(): Promise<ExpectedSession>;
  /** Breaks every WebSocket without a Close frame, as a lost network does; new ones are taken. */
  breakSockets(): void;
  /** What a signed-in person's browser holds. */
  cookies: { name: string; value: string; url: string }[];
  close(): Promise<void>;
}

/** The page with the two routes it calls, answered by a script, and a real worker-side door behind the public port's relay. */
export async function openTalkApp(agents: { id: string; name: string }[]): Promise<TalkApp> {
  const browsers = await BrowserServer.listen({ host: '127.0.0.1', port: 0, limits: { resumeWithinMs: 10_000 } });
  const app = fastify().withTypeProvider<TypeBoxTypeProvider>();
  const sessions: ExpectedSession[] = [];
  const asked: TalkApp['asked'] = [];
  let waiting: ((session: ExpectedSession) => void)[] = [];
  talkPage(app as never, { publicUrl: 'http://localhost' });
  app.addHook('onRequest', async (request, reply) => {
    if (!request.url.startsWith('/v1')) return;
    const signedIn = request.headers.cookie?.includes('wirevoice_session=') && (request.method === 'GET' || request.headers['x-csrf-token'] === CSRF);
    if (!signedIn) return reply.code(401).send({ error: { code: 'missing_api_key', message: 'Sign in.' } });
  });
  app.get('/v1/agents', () => ({ object: 'list', data: agents, has_more: false }));
  app.post('/v1/realtime/sessions', (request, reply) => {
    asked.push({ body: request.body, mode: String(request.headers['wirevoice-mode']) });
    const session = expectSession(browsers);
    sessions.push(session);
    for (const resolve of waiting) resolve(session);
    waiting = [];
    const address = new URL(session.url);
    address.port = String((app.server.address() as AddressInfo).port);
    return reply.code(201).send({ url: address.href, client_secret: { value: session.secret } });
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const relay = () => relayUpgrades(app.server, () => ({ host: '127.0.0.1', port: browsers.port }));
  let relayed = relay();
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return {
    url,
    browsers,
    sessions,
    asked,
    nextSession: () => new Promise((resolve) => waiting.push(resolve)),
    breakSockets() {
      relayed.close();
      relayed = relay();
    },
    cookies: [{ name: 'wirevoice_session', value: 'session-of-the-test', url }, { name: 'wirevoice_csrf', value: CSRF, url }],
    async close() {
      await browsers.close();
      relayed.close();
      await app.close();
    },
  };
}

/** Plays samples to a session's browser on a 20 ms clock and hears what comes meanwhile; resolves when the last frame's time is over. */
export async function playTo({ leg, hear }: ExpectedSession, samples: Int16Array): Promise<void> {
  const start = performance.now();
  for (let index = 0; (index + 1) * 320 <= samples.length && !leg.signal.aborted; index++) {
    leg.write(samples.subarray(index * 320, (index + 1) * 320));
    hear();
    await wait(Math.max(1, start + (index + 1) * 20 - performance.now()));
  }
}

/** Resolves when the leg's call is over. */
export async function over({ leg }: ExpectedSession): Promise<void> {
  if (!leg.signal.aborted) await once(leg.signal, 'abort');
}
