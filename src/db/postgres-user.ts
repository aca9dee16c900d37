import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PostgresBinaries } from './postgres-binaries.ts';

/**
 * How PostgreSQL, which refuses to run as root, is started:
 * - `direct`: we are not root;
 * - `namespace`: root in a user namespace that shows it as nobody. Reaches everything root reaches, no chown;
 * - `nobody`: really as nobody, on directories given to nobody.
 */
export type RunAs = 'direct' | 'namespace' | 'nobody';

/** Numeric id of `nobody`; an id without a passwd entry is refused by initdb. */
const NOBODY = 65_534;
const COPY_ROOT = '/var/lib/wirevoice';

/** Chooses how to run. The namespace comes before nobody, as the data directory is closed (0700) to every other user. */
export function chooseRunAs(): RunAs {
  if (process.platform === 'win32' || process.getuid?.() !== 0) return 'direct';
  if (succeeds('unshare', [...NAMESPACE, 'true'])) return 'namespace';
  return 'nobody';
}

const NAMESPACE = ['--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--'];

/** The command line that runs `command` so, and, where `setpriv` is there, sends it SIGINT once this process is gone. */
export function commandFor(runAs: RunAs, command: string[], bindToParent: boolean): string[] {
  const deathSignal = bindToParent && canBindToParent() ? ['setpriv', '--pdeathsig', 'INT', '--'] : [];
  switch (runAs) {
    case 'direct': return [...deathSignal, ...command];
    case 'namespace': return ['unshare', ...NAMESPACE, ...deathSignal, ...command];
    case 'nobody': return ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...(bindToParent ? ['--pdeathsig', 'INT'] : []), '--', ...command];
  }
}

let bindable: boolean | undefined;
function canBindToParent(): boolean {
  bindable ??= succeeds('setpriv', ['--pdeathsig', 'INT', '--', 'true']);
  return bindable;
}

/**
 * Makes files reachable for `nobody`: gives it the cluster's and the socket's directory, opens the parents for search
 * and copies the programs out of directories it cannot enter.
 */
export function prepareForNobody(binaries: PostgresBinaries, directories: string[]): PostgresBinaries {
  for (const directory of directories) {
    execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, directory]);
    const parent = dirname(directory);
    if ((statSync(parent).mode & 0o001) === 0) chmodSync(parent, 0o711);
    if (!reachable(parent)) {
      throw new Error(`PostgreSQL cannot run as root, and the user nobody cannot reach ${directory}. Start as another user, set DATA_DIR to a directory that others may enter, or set DATABASE_URL to a server of your own.`);
    }
  }
  if (binaries.root === undefined || reachable(binaries.root)) return binaries;
  return copyPrograms(binaries, binaries.root);
}

function copyPrograms(binaries: PostgresBinaries, root: string): PostgresBinaries {
  const copy = join(COPY_ROOT, `postgresql-${binaries.major}-${statSync(binaries.postgres).size}`);
  if (!existsSync(copy)) {
    mkdirSync(COPY_ROOT, { recursive: true, mode: 0o755 });
    const unfinished = `${copy}.${process.pid}`;
    cpSync(root, unfinished, { recursive: true, verbatimSymlinks: true });
    renameSync(unfinished, copy);
  }
  return { ...binaries, root: copy, initdb: join(copy, 'bin', 'initdb'), postgres: join(copy, 'bin', 'postgres') };
}

/** Whether every directory on the way lets other users search it. */
function reachable(path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (statSync(at).isDirectory() && (statSync(at).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

function succeeds(command: string, argumentList: string[]): boolean {
  return spawnSync(command, argumentList, { stdio: 'ignore', timeout: 5000 }).status === 0;
}
