import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const POLL_MS = 20;
const STOP_WITHIN_MS = 15_000;
const KEPT_OUTPUT = 100_000;

/** The whole gateway as an operator runs it, `npm start`, on free loopback ports and a data directory of its own. */
export class RunningGateway {
  readonly #child: ChildProcess;
  readonly sipPort: number;
  /** From the start of npm to the first 200 of /readyz, ms. */
  readonly readyAfterMs: number;
  readonly #output: () => string;

  private constructor(child: ChildProcess, sipPort: number, readyAfterMs: number, output: () => string) {
    this.#child = child;
    this.sipPort = sipPort;
    this.readyAfterMs = readyAfterMs;
    this.#output = output;
  }

  /** Throws, with the end of what it printed, when the gateway is not ready within `withinMs`. */
  static async start(dataDir: string, withinMs = 60_000): Promise<RunningGateway> {
    const [port, sipPort, browserPorts] = [await freePort(), await freePort(), await freePort()];
    const env = {
      ...process.env, PORT: String(port), SIP_PORT: String(sipPort), BROWSER_PORTS: String(browserPorts), HOST: '127.0.0.1', PUBLIC_ADDRESS: '127.0.0.1',
      DATA_DIR: dataDir, DATABASE_URL: '', RTP_PORTS: '21000-29999', DRAIN_SECONDS: '0', LLM_BASE_URL: '', LLM_MODEL: '',
    };
    const began = performance.now();
    // A process group of its own: npm does not hand every signal on.
    const child = spawn('npm', ['start'], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    process.once('exit', () => killGroup(child, 'SIGKILL'));
    let output = '';
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-KEPT_OUTPUT);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    while (!(await isReady(port))) {
      const over = performance.now() - began > withinMs;
      if (over || child.exitCode !== null) {
        killGroup(child, 'SIGKILL');
        throw new Error(`npm start ${over ? `was not ready within ${withinMs} ms` : `ended with code ${child.exitCode}`}:\n${output.slice(-2000)}`);
      }
      await sleep(POLL_MS);
    }
    return new RunningGateway(child, sipPort, performance.now() - began, () => output);
  }

  /** The number of the demo agent, as the first start prints it in its SIP address. */
  demoNumber(): string {
    const number = /sips?:(\+?[\w.-]+)@/.exec(this.#output())?.[1];
    if (number === undefined) throw new Error(`the first start printed no SIP address:\n${this.#output().slice(-2000)}`);
    return number;
  }

  /** SIGTERM to the whole group, as Ctrl-C does; by force after 15 s. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exit = once(this.#child, 'exit');
    killGroup(this.#child, 'SIGTERM');
    const force = setTimeout(() => killGroup(this.#child, 'SIGKILL'), STOP_WITHIN_MS);
    await exit;
    clearTimeout(force);
  }
}

/** Runs `use` with a data directory that is removed afterwards. */
export async function withDataDir<Result>(use: (dataDir: string) => Promise<Result>): Promise<Result> {
  const dataDir = mkdtempSync(join(tmpdir(), 'wv-bench-'));
  try {
    return await use(dataDir);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function isReady(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(2000) }).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.status === 200;
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group has gone by itself.
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('the system gave no port');
  return address.port;
}
