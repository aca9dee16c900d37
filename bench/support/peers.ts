/** Other programs that move RTP, measured with the same generator in the same run as the gateway. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Allocation } from './allocation.ts';
import { bdecode, bencode, type Bencoded } from './bencode.ts';

/** A running peer: where each caller must send so that RTP comes back. */
export interface Peer {
  readonly name: string;
  readonly pid: number;
  /** For caller ports in order, the peer's port for each. */
  connect(callerPorts: number[]): Promise<number[]>;
  /** What it allocates in so many seconds; absent where that cannot be known. */
  allocation?(seconds: number): Promise<Allocation>;
  close(): Promise<void>;
}

/** `installation`: how to get a program that may be missing. */
export interface PeerKind { name: string; installation?: string; start: () => Promise<Peer> }

/** undefined when the program is not on this machine. */
export async function startPeer(kind: PeerKind): Promise<Peer | undefined> {
  const found = kind.installation === undefined || spawnSync('which', [kind.name], { stdio: 'ignore' }).status === 0;
  return found ? kind.start() : undefined;
}

const SIPP_MEDIA_PORT = 31_000;
const RTPENGINE_CONTROL_PORT = 31_500;
const RTPENGINE_PORTS = { from: 32_000, to: 39_999 };
const START_WITHIN_MS = 5000;

export const SIPP: PeerKind = { name: 'sipp', installation: 'apt-get install sip-tester', start: startSipp };
export const RTPENGINE: PeerKind = { name: 'rtpengine', installation: 'apt-get install rtpengine-daemon', start: startRtpengine };

/** `sipp -rtp_echo`: one socket that returns every packet to where it came from. The floor for any RTP program. */
async function startSipp(): Promise<Peer> {
  const child = spawn('sipp', ['-sn', 'uas', '-rtp_echo', '-i', '127.0.0.1', '-mi', '127.0.0.1', '-p', '31100', '-mp', String(SIPP_MEDIA_PORT), '-nostdin'], { stdio: 'ignore' });
  await started(child, 'sipp');
  await sleep(300);
  return {
    name: 'sipp -rtp_echo',
    pid: pidOf(child),
    connect: (callerPorts) => Promise.resolve(callerPorts.map(() => SIPP_MEDIA_PORT)),
    close: () => stopped(child),
  };
}

/** rtpengine in userspace, one thread: passes RTP between two callers of a call without touching the sound. */
async function startRtpengine(): Promise<Peer> {
  const dir = mkdtempSync(join(tmpdir(), 'wv-rtpengine-'));
  const child = spawn('rtpengine', [
    '--foreground', '--table=-1', '--interface=127.0.0.1', `--listen-ng=127.0.0.1:${RTPENGINE_CONTROL_PORT}`, '--num-threads=1', '--log-level=1',
    `--port-min=${RTPENGINE_PORTS.from}`, `--port-max=${RTPENGINE_PORTS.to}`, `--pidfile=${join(dir, 'pid')}`, '--log-stderr',
  ], { stdio: 'ignore' });
  await started(child, 'rtpengine');
  const control = await RtpengineControl.open();
  return {
    name: 'rtpengine userspace',
    pid: pidOf(child),
    connect: (callerPorts) => control.bridge(callerPorts),
    close: async () => {
      control.close();
      await stopped(child);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** rtpengine's `ng` protocol: a cookie, a space and a bencoded dictionary in one datagram. */
class RtpengineControl {
  readonly #socket: Socket;
  readonly #waiting = new Map<string, (reply: Bencoded) => void>();
  #cookie = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => {});
    socket.on('message', (datagram) => {
      const text = datagram.toString('latin1');
      const space = text.indexOf(' ');
      this.#waiting.get(text.slice(0, space))?.(bdecode(text.slice(space + 1)));
    });
  }

  /** Resolves once rtpengine answers a ping. */
  static async open(): Promise<RtpengineControl> {
    const socket = createSocket('udp4');
    socket.connect(RTPENGINE_CONTROL_PORT, '127.0.0.1');
    await once(socket, 'connect');
    const control = new RtpengineControl(socket);
    for (let waitedMs = 0; waitedMs < START_WITHIN_MS; waitedMs += 200) {
      if (await control.#ask({ command: 'ping' }, 200).then(() => true, () => false)) return control;
    }
    control.close();
    throw new Error(`rtpengine did not answer on its control port ${RTPENGINE_CONTROL_PORT}`);
  }

  /** Joins callers two by two; an odd one out would hear nothing, so their number must be even. */
  async bridge(callerPorts: number[]): Promise<number[]> {
    if (callerPorts.length % 2 === 1) throw new RangeError('rtpengine joins callers in pairs: give an even number');
    const ports: number[] = [];
    for (let i = 0; i < callerPorts.length; i += 2) {
      const ids = { 'call-id': `bench-${process.pid}-${i}`, 'from-tag': 'a', replace: ['origin'], ICE: 'remove' };
      const offered = portOf(await this.#ask({ command: 'offer', ...ids, sdp: sdp(callerPorts[i] ?? 0) }, 1000));
      const answered = portOf(await this.#ask({ command: 'answer', ...ids, 'to-tag': 'b', sdp: sdp(callerPorts[i + 1] ?? 0) }, 1000));
      // The offer's SDP goes to B and names the port B sends to; the answer's names A's.
      ports.push(answered, offered);
    }
    return ports;
  }

  close(): void {
    this.#socket.close();
  }

  #ask(request: { command: string; [key: string]: Bencoded }, withinMs: number): Promise<Bencoded> {
    const cookie = `wv${this.#cookie++}`;
    return new Promise<Bencoded>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(cookie);
        reject(new Error(`rtpengine did not answer ${request.command} within ${withinMs} ms`));
      }, withinMs);
      this.#waiting.set(cookie, (reply) => {
        clearTimeout(timer);
        this.#waiting.delete(cookie);
        resolve(reply);
      });
      this.#socket.send(`${cookie} ${bencode(request)}`);
    });
  }
}

function sdp(port: number): string {
  return ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=bench', 'c=IN IP4 127.0.0.1', 't=0 0', `m=audio ${port} RTP/AVP 0`, 'a=rtpmap:0 PCMU/8000', 'a=sendrecv', ''].join('\r\n');
}

function portOf(reply: Bencoded): number {
  const text = typeof reply === 'object' && !Array.isArray(reply) ? reply['sdp'] : undefined;
  const port = typeof text === 'string' ? /^m=audio (\d+) /m.exec(text)?.[1] : undefined;
  if (port === undefined) throw new Error(`rtpengine gave no port: ${JSON.stringify(reply)}`);
  return Number(port);
}

async function started(child: ChildProcess, name: string): Promise<void> {
  await once(child, 'spawn');
  // Whatever ends the benchmark ends the peer with it.
  process.once('exit', () => child.kill('SIGKILL'));
  await sleep(200);
  if (child.exitCode !== null) throw new Error(`${name} ended at once with code ${child.exitCode}`);
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the peer did not start');
  return child.pid;
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), 1000);
  await exit;
  clearTimeout(force);
}
