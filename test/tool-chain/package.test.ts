/** A fresh machine can install what package.json and the lock say, and runs only the install scripts we chose. */
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';

interface Locked { version?: string; optionalDependencies?: Record<string, string>; hasInstallScript?: boolean; resolved?: string; link?: boolean }

const root = path.resolve(import.meta.dirname, '../..');
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const locked: Record<string, Locked> = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')).packages;

/** Looked up as Node would, from the package outwards. */
function isLocked(from: string, name: string): boolean {
  const parts = from.split('/node_modules/');
  return parts.some((_, depth) => `${parts.slice(0, parts.length - depth).join('/node_modules/')}/node_modules/${name}` in locked) || `node_modules/${name}` in locked;
}

t.test('the lock names optional packages of every platform, which npm ci insists on', (t) => {
  for (const [from, entry] of Object.entries(locked)) {
    if (from === '') continue;
    const missing = Object.keys(entry.optionalDependencies ?? {}).filter((name) => !isLocked(from, name));
    t.strictSame(missing, [], from);
  }
  t.end();
});

t.test('the lock agrees with package.json', (t) => {
  for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
    const inLock = (locked[''] as Record<string, unknown>)[kind];
    t.strictSame(inLock, manifest[kind], kind);
  }
  t.end();
});

t.test('every install script is allowed or refused by name', (t) => {
  for (const [from, entry] of Object.entries(locked)) {
    if (!entry.hasInstallScript || from.endsWith('node_modules/fsevents')) continue;
    const name = from.replace(/^.*node_modules\//, '');
    t.type(manifest.allowScripts[name], 'boolean', name);
  }
  t.strictSame(Object.keys(manifest.allowScripts).filter((name) => manifest.allowScripts[name]), ['node']);
  t.end();
});

t.test('the lock points to no registry of one machine', (t) => {
  const odd = Object.values(locked).map((entry) => entry.resolved).filter((url) => url !== undefined && !/(^|\/)config\/npm-stubs\/empty$/.test(url) && !url.startsWith('https://registry.npmjs.org/'));
  t.strictSame(odd, []);
  t.end();
});

t.test('what the scripts of package.json name is there', (t) => {
  for (const [name, command] of Object.entries<string>(manifest.scripts)) {
    const file = command.split(' ').find((word) => word.endsWith('.ts'));
    t.ok(file !== undefined && existsSync(path.join(root, file)), `${name}: ${command}`);
  }
  t.doesNotThrow(() => accessSync(path.join(root, '.ci/run'), constants.X_OK));
  t.end();
});
