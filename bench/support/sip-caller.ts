import { randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { monotonicMs } from './monotonic.ts';

const ANSWER_WITHIN_MS = 15_000;
const BYE_WITHIN_MS = 3000;
/** RFC 3261 section 17.1.1.2: timer A. */
const RESEND_MS = 500;

export type Answer = { kind: 'answered'; rtpPort: number; answeredAt: number } | { kind: 'refused'; status: number };

/** A telephone for benchmarks: places one call over UDP with PCMU and hangs it up. Just enough of RFC 3261 for loopback. */
export class SipCaller {
  readonly #socket: Socket;
  readonly #server: { number: string; port: number };
  readonly #port: number;
  readonly #callId = randomBytes(8).toString('hex');
  readonly #fromTag = randomBytes(6).toString('hex');
  #toHeader: string;
  #target: string;
  #responses: ((text: string) => void) | undefined;

  private constructor(socket: Socket, server: { number: string; port: number }) {
    this.#socket = socket;
    this.#server = server;
    this.#port = socket.address().port;
    this.#target = `sip:${server.number}@127.0.0.1:${server.port}`;
    this.#toHeader = `<${this.#target}>`;
    socket.on('error', () => {});
    socket.on('message', (datagram) => this.#onMessage(datagram.toString('utf8')));
  }

  static async open(server: { number: string; port: number }): Promise<SipCaller> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new SipCaller(socket, server);
  }

  /** Rings until there is a final answer. Throws when none comes. */
  async call(rtpPort: number): Promise<Answer> {
    const body = ['v=0', 'o=bench 1 1 IN IP4 127.0.0.1', 's=bench', 'c=IN IP4 127.0.0.1', 't=0 0', `m=audio ${rtpPort} RTP/AVP 0`, 'a=rtpmap:0 PCMU/8000', 'a=ptime:20', ''].join('\r\n');
    const branch = newBranch();
    const response = await this.#transact('INVITE', 1, branch, ANSWER_WITHIN_MS, body);
    this.#toHeader = header(response, 'To') ?? this.#toHeader;
    const status = statusOf(response);
    if (status >= 300) {
      this.#send(this.#request('ACK', 1, branch));
      return { kind: 'refused', status };
    }
    this.#target = /<([^>]+)>/.exec(header(response, 'Contact') ?? '')?.[1] ?? this.#target;
    this.#send(this.#request('ACK', 1, newBranch()));
    const port = /^m=audio (\d+) /m.exec(response)?.[1];
    if (port === undefined) throw new Error(`the answer has no audio:\n${response}`);
    return { kind: 'answered', rtpPort: Number(port), answeredAt: monotonicMs() };
  }

  async hangUp(): Promise<void> {
    await this.#transact('BYE', 2, newBranch(), BYE_WITHIN_MS).catch(() => {});
  }

  close(): void {
    this.#socket.close();
  }

  /** Sends a request until something answers, and resolves with the final response. */
  async #transact(method: 'INVITE' | 'BYE', sequence: number, branch: string, withinMs: number, body = ''): Promise<string> {
    const request = this.#request(method, sequence, branch, body);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const resend = setInterval(() => this.#send(request), RESEND_MS);
    const giveUp = setTimeout(() => reject(new Error(`no final answer to ${method} within ${withinMs} ms`)), withinMs);
    this.#responses = (response) => {
      clearInterval(resend);
      if (statusOf(response) >= 200) resolve(response);
    };
    this.#send(request);
    try {
      return await promise;
    } finally {
      clearInterval(resend);
      clearTimeout(giveUp);
      this.#responses = undefined;
    }
  }

  #onMessage(text: string): void {
    if (text.startsWith('SIP/2.0')) this.#responses?.(text);
    else if (text.startsWith('BYE ')) this.#confirm(text);
  }

  /** The agent may hang up first. */
  #confirm(request: string): void {
    const kept = request.split('\r\n').filter((line) => /^(Via|From|To|Call-ID|CSeq):/i.test(line));
    this.#send(['SIP/2.0 200 OK', ...kept, 'Content-Length: 0', '', ''].join('\r\n'));
  }

  #request(method: string, sequence: number, branch: string, body = ''): string {
    return [
      `${method} ${this.#target} SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.1:${this.#port};branch=${branch};rport`,
      'Max-Forwards: 70',
      `From: <sip:bench@127.0.0.1:${this.#port}>;tag=${this.#fromTag}`,
      `To: ${this.#toHeader}`,
      `Call-ID: ${this.#callId}@127.0.0.1`,
      `CSeq: ${sequence} ${method}`,
      `Contact: <sip:bench@127.0.0.1:${this.#port}>`,
      ...(body ? ['Content-Type: application/sdp'] : []),
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n');
  }

  #send(text: string): void {
    this.#socket.send(text, this.#server.port, '127.0.0.1');
  }
}

/** RFC 3261 section 8.1.1.7: the magic cookie, then something unique. */
function newBranch(): string {
  return `z9hG4bK${randomBytes(8).toString('hex')}`;
}

function statusOf(response: string): number {
  return Number(response.slice('SIP/2.0 '.length, 'SIP/2.0 '.length + 3));
}

function header(message: string, name: string): string | undefined {
  return new RegExp(`^${name}:\\s*(.+)$`, 'im').exec(message)?.[1]?.trim();
}
