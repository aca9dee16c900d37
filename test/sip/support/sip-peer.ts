/** The other side of the wire, in raw text: what it sends and sees owes nothing to our parser. */
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';

export interface Peer {
  readonly address: string;
  readonly port: number;
  readonly transport: 'UDP' | 'TCP';
  send(text: string | Buffer): void;
  /** The next message whose start line begins with `start`; earlier ones are dropped. Rejects after 5 s. */
  next(start: string): Promise<string>;
  /** What has arrived and was not asked for yet. */
  readonly inbox: string[];
  close(): Promise<void>;
}

class Inbox {
  readonly inbox: string[] = [];
  #wake: (() => void) | undefined;

  arrive(text: string): void {
    this.inbox.push(text);
    this.#wake?.();
  }

  async next(start: string): Promise<string> {
    const deadline = AbortSignal.timeout(5000);
    for (;;) {
      const found = this.inbox.findIndex((text) => text.startsWith(start));
      if (found !== -1) return this.inbox.splice(0, found + 1).at(-1)!;
      await new Promise<void>((resolve, reject) => {
        this.#wake = resolve;
        deadline.addEventListener('abort', () => reject(new Error(`no "${start}" came; got ${JSON.stringify(this.inbox.map((text) => text.split('\r\n')[0]))}`)), { once: true });
      });
    }
  }
}

export async function udpPeer(to: { port: number }, address = '127.0.0.1'): Promise<Peer> {
  const inbox = new Inbox();
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => socket.bind(0, address, resolve));
  socket.on('message', (bytes) => inbox.arrive(bytes.toString('latin1')));
  return {
    address,
    port: socket.address().port,
    transport: 'UDP',
    send: (text) => socket.send(typeof text === 'string' ? Buffer.from(text, 'latin1') : text, to.port, '127.0.0.1'),
    next: (start) => inbox.next(start),
    inbox: inbox.inbox,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

export interface TcpPeer extends Peer {
  /** Resolves when the other side has closed the connection. */
  readonly closed: Promise<void>;
}

export async function tcpPeer(to: { port: number }, address = '127.0.0.1'): Promise<TcpPeer> {
  const inbox = new Inbox();
  const socket = connect({ port: to.port, host: '127.0.0.1', localAddress: address, noDelay: true });
  // A reset may come before we know of the connection: `closed` tells of it.
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? resolve() : reject(error))));
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
    for (;;) {
      if (text.startsWith('\r\n')) {
        inbox.arrive('PONG');
        text = text.slice(2);
      }
      const head = text.indexOf('\r\n\r\n');
      const length = head === -1 ? 0 : head + 4 + Number(/\r\nContent-Length: (\d+)/.exec(text)?.[1] ?? 0);
      if (head === -1 || text.length < length) return;
      inbox.arrive(text.slice(0, length));
      text = text.slice(length);
    }
  });
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => (socket.closed ? resolve() : socket.once('close', () => resolve())));
  return {
    address,
    port: socket.localPort ?? 0,
    transport: 'TCP',
    send: (message) => void socket.write(typeof message === 'string' ? Buffer.from(message, 'latin1') : message),
    next: (start) => inbox.next(start),
    inbox: inbox.inbox,
    closed,
    close: async () => {
      socket.destroy();
      await closed;
    },
  };
}

export const SDP = ['v=0', 'o=caller 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0', 'm=audio 40000 RTP/AVP 0 8 101', 'a=rtpmap:101 telephone-event/8000', ''].join('\r\n');

export interface RequestParts {
  callId: string;
  cseq?: number;
  branch?: string;
  toTag?: string;
  fromTag?: string;
  uri?: string;
  headers?: string[];
  body?: string;
  contentType?: string;
  cseqMethod?: string;
}

let branches = 0;

/** A well-formed request from this peer; a Max-Forwards or Contact among `headers` takes the place of the usual one. */
export function request(peer: Peer, method: string, parts: RequestParts): string {
  const { body = '', headers = [], uri = 'sip:+4930123456@127.0.0.1', branch = `auto${++branches}`, fromTag = 'caller', cseq = 1, cseqMethod = method } = parts;
  const unless = (name: RegExp, line: string): string[] => (headers.some((given) => name.test(given)) ? [] : [line]);
  return [
    `${method} ${uri} SIP/2.0`,
    `Via: SIP/2.0/${peer.transport} ${peer.address}:${peer.port};branch=z9hG4bK${branch};rport`,
    ...unless(/^max-forwards/i, 'Max-Forwards: 70'),
    `From: "A Caller" <sip:+4940987654@127.0.0.1>;tag=${fromTag}`,
    `To: <sip:+4930123456@127.0.0.1>${parts.toTag === undefined ? '' : `;tag=${parts.toTag}`}`,
    `Call-ID: ${parts.callId}`,
    `CSeq: ${cseq} ${cseqMethod}`,
    ...unless(/^contact/i, `Contact: <sip:caller@${peer.address}:${peer.port}${peer.transport === 'TCP' ? ';transport=tcp' : ''}>`),
    ...headers,
    ...(body === '' ? [] : [`Content-Type: ${parts.contentType ?? 'application/sdp'}`]),
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

/** A response to a request our side received, as its text. */
export function responseTo(received: string, status: string): string {
  const copied = received.split('\r\n').filter((line) => /^(via|from|to|call-id|cseq):/i.test(line));
  return [`SIP/2.0 ${status}`, ...copied, 'Content-Length: 0', '', ''].join('\r\n');
}

export function toTag(response: string): string {
  return /^To:.*;tag=([^;\r\n]+)/im.exec(response)?.[1] ?? '';
}

export function header(message: string, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)$`, 'im').exec(message)?.[1]?.trimEnd();
}
