import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';

/** A Debian package that tests use: a path that proves it is there, and the areas of test/ that need it. */
export interface DebianPackage { name: string; proof: string; areas: string[]; purpose: string }

/** Areas that listen to human speech. */
const SPEECH_AREAS = ['media', 'src', 'bench', 'scenarios'];

export const DEBIAN_PACKAGES: DebianPackage[] = [
  { name: 'sip-tester', proof: '/usr/bin/sipp', areas: ['sip', 'bench', 'scenarios'], purpose: 'sipp: a SIP peer with scenarios' },
  { name: 'baresip-core', proof: '/usr/bin/baresip', areas: ['scenarios'], purpose: 'a real softphone, headless' },
  { name: 'chromium', proof: '/usr/bin/chromium', areas: ['src/console', 'scenarios'], purpose: 'the browser that opens /talk' },
  { name: 'ffmpeg', proof: '/usr/bin/ffmpeg', areas: ['src/resources'], purpose: 'encodes recordings as mp3 and ogg' },
  { name: 'asterisk-core-sounds-en', proof: '/usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz', areas: SPEECH_AREAS, purpose: 'what the prompts say' },
  { name: 'asterisk-core-sounds-en-wav', proof: '/usr/share/asterisk/sounds/en_US_f_Allison/activated.wav', areas: SPEECH_AREAS, purpose: 'prompts spoken by a person' },
  { name: 'pocketsphinx-testdata', proof: '/usr/share/pocketsphinx/test/data', areas: SPEECH_AREAS, purpose: 'read speech by several people, with transcripts' },
];

/** Of the packages that these areas need, those that are not installed. */
export function missingPackages(areas: ReadonlySet<string>, packages: DebianPackage[] = DEBIAN_PACKAGES): DebianPackage[] {
  return packages.filter((one) => [...areas].some((area) => one.areas.some((folder) => `${area}/`.startsWith(`${folder}/`))) && !existsSync(one.proof));
}

/** The line that installs them by hand. */
export function installCommand(packages: DebianPackage[]): string {
  return `apt-get update && apt-get install -y --no-install-recommends ${packages.map((one) => one.name).join(' ')}`;
}

function aptGet(args: string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const run = spawnSync('apt-get', ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3', '-qq', ...args], { env, stdio: ['ignore', 'ignore', 'inherit'], timeout: 900_000 });
  return run.status === 0;
}

const hasPackageLists = (): boolean => {
  try {
    return readdirSync('/var/lib/apt/lists').some((file) => file.includes('_Packages'));
  } catch {
    return false;
  }
};

/** Installs what is missing where this process may (root, apt-get). Throws an Error that holds the line to run by hand. */
export function ensurePackages(areas: ReadonlySet<string>, say: (line: string) => void, packages: DebianPackage[] = DEBIAN_PACKAGES): void {
  const missing = missingPackages(areas, packages);
  if (missing.length === 0) return;
  const refuse = (why: string): never => { throw new Error(`${why}. Run: ${installCommand(missing)}`); };
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) refuse(`the tests need Debian packages (${missing.map((one) => `${one.name}: ${one.purpose}`).join('; ')})`);
  say(`installing ${missing.map((one) => one.name).join(', ')}`);
  if (!hasPackageLists()) aptGet(['update']);
  const install = ['install', '-y', '--no-install-recommends', ...missing.map((one) => one.name)];
  // Stale lists name packages that the mirror no longer has: one update, one more try.
  if (!aptGet(install) && !(aptGet(['update']) && aptGet(install))) refuse('apt-get could not install what the tests need');
  const still = missingPackages(areas, packages);
  if (still.length > 0) refuse(`apt-get ended well but ${still.map((one) => one.proof).join(', ')} is not there`);
}
