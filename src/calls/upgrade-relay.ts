import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface RelayTarget { host: string; port: number }

export interface RelayLimits {
  /** Sessions relayed at once. */
  relays: number;
  connectWithinMs: number;
  /** Both ends silent for so long: cut. A worker pings its browsers every 20 s. */
  idleMs: number;
}

/** A session made for a server that came with an API key instead of a session's secret. */
export type OpenedSession = { sessionId: string; secret: string } | { status: number };

export interface RelayOptions {
  /** Makes a session for an upgrade that names an agent and carries an API key; absent: such upgrades are refused with 404. */
  open?: (authorization: string, agentId: string) => Promise<OpenedSession>;
  limits?: RelayLimits;
}

export interface UpgradeRelay {
  /** Cuts every relayed session and takes no more. */
  close(): void;
}

const PATH = '/v1/realtime';
const ID = /^[0-9a-f]{24}$/;
/** The last bytes of a session have so long to reach the end that is left. */
const FINISH_MS = 2000;
const LIMITS: RelayLimits = { relays: 1000, connectWithinMs: 5000, idleMs: 90_000 };

/**
 * Relays WebSocket upgrades for `/v1/realtime` that arrive at the public port to the worker that has the session, byte for
 * byte: for installations behind a proxy that knows one port only. Other upgrades are refused with 404. The request, which
 * may carry the session's secret, is replayed and never logged. A server may come with `agent_id` and an API key instead: its
 * session is made here, and its key goes no further.
 */
export function relayUpgrades(server: Server, target: (sessionId: string) => RelayTarget | undefined, options: RelayOptions = {}): UpgradeRelay {
  const { limits = LIMITS, open } = options;
  const browsers = new Set<Duplex>();

  const relay = (sessionId: string, browser: Duplex, first: Buffer): void => {
    const to = target(sessionId);
    if (!to) return refuse(browser, 404);
    join(browser, dial(to, browser, limits), first, limits);
  };

  const openAndRelay = async (request: IncomingMessage, agentId: string, browser: Duplex, head: Buffer): Promise<void> => {
    const opened = await open?.(request.headers.authorization ?? '', agentId) ?? { status: 404 };
    if (browser.destroyed) return;
    if ('status' in opened) refuse(browser, opened.status);
    else relay(opened.sessionId, browser, Buffer.concat([requestHead(request, opened), head]));
  };

  const onUpgrade = (request: IncomingMessage, browser: Duplex, head: Buffer): void => {
    browser.on('error', () => browser.destroy());
    const url = URL.parse(request.url ?? '', 'http://public');
    const sessionId = url?.searchParams.get('session');
    const agentId = url?.searchParams.get('agent_id');
    if (url?.pathname !== PATH || !ID.test(sessionId ?? agentId ?? '')) return refuse(browser, 404);
    if (browsers.size >= limits.relays) return refuse(browser, 503);
    browsers.add(browser);
    browser.on('close', () => browsers.delete(browser));
    if (typeof sessionId === 'string') relay(sessionId, browser, Buffer.concat([requestHead(request), head]));
    else openAndRelay(request, agentId ?? '', browser, head).catch(() => refuse(browser, 500));
  };

  server.on('upgrade', onUpgrade);
  return {
    close() {
      server.off('upgrade', onUpgrade);
      for (const browser of browsers) browser.destroy();
    },
  };
}

/** A socket to the worker; when it cannot be had, the browser is told 502. */
function dial(to: RelayTarget, browser: Duplex, limits: RelayLimits): Socket {
  const worker = connect({ host: to.host, port: to.port, noDelay: true });
  let connected = false;
  worker.setTimeout(limits.connectWithinMs, () => worker.destroy());
  worker.on('connect', () => {
    connected = true;
    worker.setTimeout(limits.idleMs);
  });
  worker.on('error', () => worker.destroy());
  worker.on('close', () => {
    if (connected) finish(browser as Socket);
    else refuse(browser, 502);
  });
  return worker;
}

/** Both ways with the slower end's pace; what ends on one side ends on the other. */
function join(browser: Duplex, worker: Socket, first: Buffer, limits: RelayLimits): void {
  const socket = browser as Socket;
  socket.setTimeout(limits.idleMs, () => socket.destroy());
  socket.setNoDelay(true);
  browser.on('close', () => finish(worker));
  worker.on('connect', () => {
    worker.write(first);
    worker.pipe(browser);
    browser.pipe(worker);
  });
}

/** Lets what was relayed reach its end, then closes; an end that does not take it is cut. */
function finish(socket: Socket): void {
  socket.setTimeout(FINISH_MS, () => socket.destroy());
  socket.end();
}

/**
 * The request as it came: names, values and order untouched (node has refused line breaks in them). With `opened` it asks for
 * that session and shows its secret in place of the API key.
 */
function requestHead({ method, url, httpVersion, headers, rawHeaders }: IncomingMessage, opened?: { sessionId: string; secret: string }): Buffer {
  const lines = [`${method} ${opened ? `${PATH}?session=${opened.sessionId}` : url} HTTP/${httpVersion}`];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!opened || !/^(authorization|sec-websocket-protocol)$/i.test(name)) lines.push(`${name}: ${rawHeaders[index + 1]}`);
  }
  // Only a protocol that the client offered may be chosen.
  if (opened) lines.push(`Sec-WebSocket-Protocol: ${[headers['sec-websocket-protocol'], `secret.${opened.secret}`].filter(Boolean).join(', ')}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

function refuse(socket: Duplex, status: number): void {
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
