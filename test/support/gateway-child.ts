import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { plainNode } from './plain-node.ts';
import { until } from './until.ts';

/** `npm start` as a process of its own. */
export interface GatewayChild {
  readonly pid: number;
  /** How long it took to say that it is ready. */
  readonly startMs: number;
  /** All it printed so far. */
  output(): string;
  /** The processes of its tree, itself first. */
  tree(): number[];
  /** SIGKILL to these processes; resolves once the service and they are gone. */
  kill(pids: number[]): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

const ROOT = path.resolve(import.meta.dirname, '../..');
const START_WITHIN_MS = 30_000;
const GONE_WITHIN_MS = 10_000;

/** Starts the service and resolves once it is ready. Throws with what it printed when it is not. */
export async function startGatewayChild(settings: Record<string, string>): Promise<GatewayChild> {
  const startedAt = performance.now();
  const child = spawn(...plainNode(['--single-threaded-gc', 'src/main.ts']), { cwd: ROOT, env: { ...process.env, ...settings }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const read = (chunk: Buffer): void => { output += chunk.toString('utf8'); };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const closed = once(child, 'close') as Promise<[number | null]>;
  const { pid } = child;
  if (pid === undefined) throw new Error('the service did not start');
  const service: GatewayChild = {
    pid,
    startMs: 0,
    output: () => output,
    tree: () => treeOf(pid),
    async kill(pids) {
      for (const one of pids) signal(one, 'SIGKILL');
      await closed;
      await until('the killed processes are gone', GONE_WITHIN_MS, () => pids.every((one) => !isAlive(one)), () => pids.filter(isAlive));
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      return (await closed)[0];
    },
  };
  try {
    await until('the service is ready', START_WITHIN_MS, () => output.includes('Wirevoice is ready') || child.exitCode !== null, () => output.slice(-2000));
    if (child.exitCode !== null) throw new Error(`the service left with code ${child.exitCode}:\n${output}`);
  } catch (error) {
    await service.kill(service.tree());
    throw error;
  }
  return { ...service, startMs: performance.now() - startedAt };
}

/** A TCP port that was free, with a free one behind it for the browsers. */
export async function freePorts(): Promise<{ http: number; sip: number }> {
  const servers = await Promise.all([listen(), listen()]);
  const [http = 0, sip = 0] = servers.map((server) => (server.address() as { port: number }).port);
  for (const server of servers) {
    server.close();
    await once(server, 'close');
  }
  return { http, sip };
}

async function listen(): Promise<ReturnType<typeof createServer>> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone already.
  }
}

/** State and parent of a process (proc(5)); undefined when there is none. */
function statOf(pid: number): { state: string; parent: number } | undefined {
  try {
    const [state = '', parent = '0'] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  const stat = statOf(pid);
  return stat !== undefined && stat.state !== 'Z';
}

function treeOf(root: number): number[] {
  const parents = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((name) => ({ pid: Number(name), parent: statOf(Number(name))?.parent }));
  const tree = [root];
  for (const one of tree) tree.push(...parents.filter(({ parent }) => parent === one).map(({ pid }) => pid));
  return tree;
}
