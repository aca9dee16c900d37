import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const UNWANTED_PLUGIN = '@tapjs/typescript';

/** The generated test class lists the plugins it was built with; a fresh install has tap's own list. */
export function builtPlugins(root: string): string[] {
  const tapRequire = createRequire(createRequire(path.join(root, 'package.json')).resolve('tap'));
  const text = readFileSync(tapRequire.resolve('@tapjs/test/test-built'), 'utf8');
  return /signature = `([^`]*)`/.exec(text)?.[1]?.split('\n') ?? [];
}

/** Without a list nothing was built. */
const isBuilt = (plugins: string[]): boolean => plugins.length > 0 && !plugins.includes(UNWANTED_PLUGIN);

/**
 * After an install tap carries the TypeScript plugin that .taprc turns off; the run that notices rebuilds it but reports no
 * tests. So it is rebuilt before. Throws when the build fails.
 */
export function ensureTapBuilt(root: string, say: (line: string) => void): void {
  if (isBuilt(builtPlugins(root))) return;
  say('building tap without its TypeScript plugin (once after an install)');
  const run = spawnSync(process.execPath, [path.join(root, 'node_modules/tap/dist/esm/run.mjs'), 'build'], { cwd: root, encoding: 'utf8', timeout: 180_000 });
  if (run.status !== 0 || !isBuilt(builtPlugins(root))) throw new Error(`tap build failed: ${run.stdout}${run.stderr}. Run: npx tap build`);
}
