import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { findPostgres, type PostgresBinaries } from './postgres-binaries.ts';
import { chooseRunAs, commandFor, prepareForNobody, type RunAs } from './postgres-user.ts';
import { claimCluster, releaseCluster, stopOrphan } from './postmaster-owner.ts';

export interface EmbeddedPostgresOptions {
  /** DATA_DIR; the cluster is `postgres` inside it. */
  dataDir: string;
  log: { info(detail: object, message: string): void; warn(detail: object, message: string): void };
  /** Chosen by what this machine allows when absent. */
  runAs?: RunAs;
  /** Server settings that take the place of ours: for a store that need not outlive its process. */
  settings?: Readonly<Record<string, string>>;
}

/** A PostgreSQL that runs as our child, reachable through a unix socket in a directory only we can enter. */
export interface EmbeddedPostgres {
  /** Directory of the socket: `host` for pg. */
  readonly host: string;
  /** Process id of the running postmaster; undefined while it is being restarted. */
  pid(): number | undefined;
  /** Fast shutdown; resolves once it is gone. */
  stop(): Promise<void>;
}

/** sun_path holds 107 bytes and a zero; PostgreSQL adds `/.s.PGSQL.5432`. */
const MAX_SOCKET_DIR_BYTES = 107 - '/.s.PGSQL.5432'.length;
const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 15;
const RESTART_FIRST_MS = 50;
const RESTART_MAX_MS = 5000;
const START_ATTEMPTS = 20;
const START_RETRY_MS = 250;
const KEPT_LOG_LINES = 20;
/** Where `unshare` and `setpriv` are. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const SERVER_SETTINGS = { listen_addresses: '', unix_socket_permissions: '0700', shared_buffers: '32MB', max_connections: '40', jit: 'off', logging_collector: 'off', log_timezone: 'UTC', timezone: 'UTC' };

/**
 * Starts PostgreSQL on `dataDir/postgres`, making the cluster when there is none, and starts it again whenever it dies.
 * Throws an Error that says what to do when it cannot.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const clusterDir = join(dataDir, 'postgres');
  const host = makeSocketDir(dataDir);
  claimCluster(clusterDir);
  try {
    await stopOrphan(clusterDir);
    const runAs = options.runAs ?? chooseRunAs();
    const found = findPostgres(readClusterMajor(clusterDir));
    if (!existsSync(clusterDir)) await initCluster(found, clusterDir, runAs);
    const binaries = runAs === 'nobody' ? prepareForNobody(found, [clusterDir, host]) : found;
    const server = new Server({ ...options, binaries, clusterDir, host, runAs });
    await server.start();
    return { host, pid: () => server.pid, stop: () => server.stop() };
  } catch (error) {
    releaseCluster(clusterDir);
    throw error;
  }
}

function readClusterMajor(clusterDir: string): number | undefined {
  const file = join(clusterDir, 'PG_VERSION');
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : undefined;
}

/** A 0700 directory; a short one under the system's temporary directory where the data directory's path is too long. */
function makeSocketDir(dataDir: string): string {
  const inside = join(dataDir, 'run');
  const short = join(tmpdir(), `wirevoice-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`);
  const directory = Buffer.byteLength(inside) <= MAX_SOCKET_DIR_BYTES ? inside : short;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // Fails when a stranger made the directory in the shared temporary one.
  chmodSync(directory, 0o700);
  return directory;
}

/** Made beside its final place and then renamed, so that a start killed inside initdb leaves no half cluster that looks whole. */
async function initCluster(binaries: PostgresBinaries, clusterDir: string, runAs: RunAs): Promise<void> {
  const unfinished = `${clusterDir}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  const programs = runAs === 'nobody' ? prepareForNobody(binaries, [unfinished]) : binaries;
  const [command = '', ...rest] = commandFor(runAs, [
    programs.initdb, '-D', unfinished, '-U', 'postgres', '--auth-local=trust', '--auth-host=reject', '--data-checksums', '--locale=C', '-E', 'UTF8',
  ], true);
  const child = spawn(command, rest, { stdio: ['ignore', 'ignore', 'pipe'], env: childEnvironment() });
  const lines = keepLines(child);
  const code = await new Promise<number | null>((done, fail) => child.once('error', fail).once('exit', done));
  if (code !== 0) {
    throw new Error(`PostgreSQL could not make its cluster in ${clusterDir} (initdb ended with ${code}): ${lines.join(' ')} Make room or mend the directory, or set DATABASE_URL to a server of your own.`);
  }
  renameSync(unfinished, clusterDir);
}

interface ServerOptions extends EmbeddedPostgresOptions {
  binaries: PostgresBinaries;
  clusterDir: string;
  host: string;
  runAs: RunAs;
}

/** Keeps one postmaster alive. */
class Server {
  readonly #options: ServerOptions;
  #child: ChildProcess | undefined;
  #stopping = false;
  #restarts = 0;

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Tries again while the system still holds what a killed postmaster had (its lock file, its shared memory). */
  async start(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const failure = await this.#launch();
      if (failure === undefined) return;
      const lingering = /lock file|shared memory|is the data directory.*in use/i.test(failure);
      if (!lingering || attempt === START_ATTEMPTS) throw new Error(`PostgreSQL did not start: ${failure} See ${this.#options.clusterDir}, or set DATABASE_URL to a server of your own.`);
      await sleep(START_RETRY_MS);
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) {
      const gone = new Promise<void>((done) => child.once('exit', () => done()));
      child.kill('SIGINT');
      await gone;
    }
    releaseCluster(this.#options.clusterDir);
  }

  /** Resolves to undefined once the server answers, or to what it said before it ended. */
  async #launch(): Promise<string | undefined> {
    const { binaries, clusterDir, host, runAs } = this.#options;
    const settings = Object.entries({ ...SERVER_SETTINGS, ...this.#options.settings, unix_socket_directories: host }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const [command = '', ...rest] = commandFor(runAs, [binaries.postgres, '-D', clusterDir, ...settings], true);
    // A session of its own: a terminal's Ctrl-C stops us, and we stop PostgreSQL when the calls have ended.
    const child = spawn(command, rest, { stdio: ['ignore', 'ignore', 'pipe'], env: childEnvironment(), detached: true });
    const lines = keepLines(child);
    let ended = false;
    const end = new Promise<void>((done) => {
      child.once('error', (error) => { lines.push(error.message); ended = true; done(); });
      child.once('exit', () => { ended = true; done(); });
    });
    this.#child = child;
    const deadline = Date.now() + READY_TIMEOUT_MS;
    while (!ended && Date.now() < deadline) {
      if (await answers(host)) {
        void end.then(() => this.#onExit(child, lines));
        return undefined;
      }
      await Promise.race([end, sleep(READY_POLL_MS)]);
    }
    child.kill('SIGQUIT');
    return lines.join(' ') || `no answer within ${READY_TIMEOUT_MS / 1000} s.`;
  }

  #onExit(child: ChildProcess, lines: string[]): void {
    this.#child = undefined;
    if (this.#stopping) return;
    const { log } = this.#options;
    log.warn({ code: child.exitCode, signal: child.signalCode, lastLines: lines }, 'PostgreSQL ended by itself; starting it again');
    const delayMs = Math.min(RESTART_FIRST_MS * 2 ** this.#restarts++, RESTART_MAX_MS);
    void sleep(delayMs).then(async () => {
      if (this.#stopping) return;
      await this.start();
      this.#restarts = 0;
      log.info({ pid: this.pid }, 'PostgreSQL is back');
    }).catch((error: unknown) => {
      log.warn({ error: String(error) }, 'PostgreSQL could not be started again');
      this.#onExit(child, []);
    });
  }
}

async function answers(host: string): Promise<boolean> {
  const client = new Client({ host, user: 'postgres', database: 'postgres', connectionTimeoutMillis: 2000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The last lines of stderr, kept for the error message. */
function keepLines(child: ChildProcess): string[] {
  const lines: string[] = [];
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    lines.push(...chunk.split('\n').filter((line) => line.trim() !== ''));
    lines.splice(0, lines.length - KEPT_LOG_LINES);
  });
  return lines;
}

/** PostgreSQL gets no secret of ours and none of the user's PG* variables. */
function childEnvironment(): NodeJS.ProcessEnv {
  return { PATH: SYSTEM_PATH, LC_ALL: 'C', TZ: 'UTC' };
}
