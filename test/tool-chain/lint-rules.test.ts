/** The linters fail, and say why, on one small tree that breaks one rule per file; and the same linters pass a clean tree. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { lintSteps } from '../support/lint-steps.ts';
import { plainNode } from '../support/plain-node.ts';

const root = path.resolve(import.meta.dirname, '../..');

const CLEAN = { 'src/clean.ts': 'export const half = (n: number): number => n / 2;\n' };

const BROKEN: [string, string, string][] = [
  ['no-floating-promises', 'src/floating.ts', 'const later = async (): Promise<number> => 1;\nexport function go(): void { later(); }\n'],
  ['no-misused-promises', 'src/misused.ts', 'export const all = (list: number[]): void => { list.forEach(async (n) => { await Promise.resolve(n); }); };\n'],
  ['switch-exhaustiveness-check', 'src/switch.ts', "export function f(k: 'a' | 'b'): number { switch (k) { case 'a': return 1; } return 0; }\n"],
  ['await-thenable', 'src/thenable.ts', 'export async function f(): Promise<number> { return await 1; }\n'],
  ['no-explicit-any', 'src/any.ts', 'export const f = (x: any): unknown => x;\n'],
  ['eqeqeq', 'src/equal.ts', 'export const same = (a: number, b: number): boolean => a == b;\n'],
  ['no-console', 'src/console-log.ts', "console.log('x');\n"],
  ['no-process-env', 'src/environment.ts', 'export const port = process.env.PORT;\n'],
  ['max-lines', 'src/long.ts', `${'// a line\n\n'.repeat(200)}export const x = 1;\n`],
  ['max-lines-per-function', 'src/long-function.ts', `export function f(n: number): number {\n${'  n += 1;\n'.repeat(60)}  return n;\n}\n`],
  ['complexity', 'src/complex.ts', `export function f(n: number): number {\n${Array.from({ length: 12 }, (_, i) => `  if (n === ${i}) return ${i + 1};\n`).join('')}  return n;\n}\n`],
  ['no-cycle', 'src/cycle-a.ts', "import { b } from './cycle-b.ts';\nexport const a = (): number => b();\n"],
  ['no-cycle', 'src/cycle-b.ts', "import { a } from './cycle-a.ts';\nexport const b = (): number => a();\n"],
  ['media-imports-nothing', 'media/arrow.ts', "import { half } from '../src/clean.ts';\nexport const quarter = half(half(1));\n"],
  ['TS2532', 'src/unchecked.ts', 'export const first = (list: { n: number }[]): number => list[0].n;\n'],
  ['TS2375', 'src/optional.ts', 'export const o: { n?: number } = { n: undefined };\n'],
  ['TS1294', 'src/enumeration.ts', 'export enum Colour { Red }\n'],
];

/** Outside the repository: oxlint skips what .gitignore names. */
function makeTree(files: Record<string, string>): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'wirevoice-lint-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  copyFileSync(path.join(root, '.oxlintrc.json'), path.join(dir, '.oxlintrc.json'));
  writeFileSync(path.join(dir, 'package.json'), '{ "type": "module" }');
  const config = JSON.parse(readFileSync(path.join(root, 'tsconfig.json'), 'utf8'));
  config.compilerOptions.types = [];
  config.compilerOptions.lib.push('dom');
  writeFileSync(path.join(dir, 'tsconfig.json'), JSON.stringify(config));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.join(dir, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(dir, file), text);
  }
  return dir;
}

/** The tree has no node_modules, so oxlint is told where its type-aware half is. */
function lint(dir: string): { status: number | null; output: string }[] {
  return lintSteps(root, dir).map((step) => {
    const env = { ...process.env, OXLINT_TSGOLINT_PATH: path.join(root, 'node_modules/.bin/tsgolint') };
    const run = spawnSync(...plainNode([...step.command, ...step.args]), { cwd: dir, env, encoding: 'utf8', timeout: 20_000 });
    return { status: run.status, output: run.stdout + run.stderr };
  });
}

t.test('a clean tree passes all three', (t) => {
  for (const { status, output } of lint(makeTree(CLEAN))) t.equal(status, 0, output);
  t.end();
});

t.test('a broken tree fails all three, each rule named with its file', (t) => {
  const results = lint(makeTree({ ...CLEAN, ...Object.fromEntries(BROKEN.map(([, file, text]) => [file, text])) }));
  for (const { status } of results) t.not(status, 0);
  const blocks = results.flatMap(({ output }) => output.split(/\n(?=\n|src\/|media\/)|\n\s*\n/));
  for (const [rule, file] of BROKEN) t.ok(blocks.some((block) => block.includes(rule) && block.includes(file)), `${rule} in ${file}`);
  t.end();
});

t.test('tests may be long functions, benchmarks may print', (t) => {
  const long = BROKEN.find(([rule]) => rule === 'max-lines-per-function')?.[2] ?? '';
  const results = lint(makeTree({ ...CLEAN, 'test/long.test.ts': long, 'bench/print.ts': "console.log('x');\n" }));
  for (const { status, output } of results) t.equal(status, 0, output);
  t.end();
});
