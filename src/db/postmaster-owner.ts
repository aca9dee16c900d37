import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Who may use a cluster: one Wirevoice at a time, and no PostgreSQL that a killed one left behind. */

const ORPHAN_WAIT_MS = 10_000;
const POLL_MS = 20;

/** Marks the cluster as ours. Throws an Error when another live process has it. */
export function claimCluster(clusterDir: string): void {
  const file = ownerFile(clusterDir);
  if (existsSync(file)) {
    const [pid = '', startTime = ''] = readFileSync(file, 'utf8').trim().split(' ');
    const owner = Number(pid);
    if (owner !== process.pid && isAlive(owner) && (startTime === '' || processStart(owner) === startTime)) {
      throw new Error(`Another Wirevoice (process ${owner}) uses the database in ${clusterDir}. Stop it, or give this one a DATA_DIR of its own.`);
    }
  }
  writeFileSync(file, `${process.pid} ${processStart(process.pid)}\n`, { mode: 0o600 });
}

export function releaseCluster(clusterDir: string): void {
  rmSync(ownerFile(clusterDir), { force: true });
}

/** Stops the PostgreSQL that a killed process left on this cluster, and waits until it is gone. */
export async function stopOrphan(clusterDir: string): Promise<void> {
  const pid = readPostmasterPid(clusterDir);
  if (pid === undefined || !isAlive(pid) || !isPostgresOf(pid, clusterDir)) return;
  // A zombie ignores it, and waits for its new parent only.
  process.kill(pid, 'SIGINT');
  for (let waitedMs = 0; waitedMs < ORPHAN_WAIT_MS; waitedMs += POLL_MS) {
    if (!isAlive(pid)) return;
    await sleep(POLL_MS);
  }
  throw new Error(`The PostgreSQL of an earlier run (process ${pid}, in ${clusterDir}) does not stop. End it by hand, then start again.`);
}

/** First line of postmaster.pid; undefined: no server has the cluster. */
export function readPostmasterPid(clusterDir: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(join(clusterDir, 'postmaster.pid'), 'utf8'), 10);
    return pid > 1 ? pid : undefined;
  } catch {
    return undefined;
  }
}

function ownerFile(clusterDir: string): string {
  return `${clusterDir}.owner`;
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid < 2) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Guards against a pid that was given to another program since. Zombies have no command line; they count as ours. */
function isPostgresOf(pid: number, clusterDir: string): boolean {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return command === '' || command.includes(clusterDir);
  } catch {
    return process.platform !== 'linux';
  }
}

/** When the process began, in the kernel's ticks (proc(5), field 22 of stat); '' where /proc is not there. */
function processStart(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
