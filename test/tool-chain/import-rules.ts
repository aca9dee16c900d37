/**
 * Who may import whom (docs/architecture.md), cycles, and the words we do not use. oxlint's `no-restricted-imports` looks at
 * specifiers, not at the file they lead to, so it cannot say "sip may not reach media from any depth, type imports included".
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

export interface Finding { rule: string; file: string; line: number; message: string }

/** A file's relative imports, resolved to paths from the project's root, with the line each stands in. */
export interface SourceFile { path: string; imports: { path: string; line: number }[]; names: { name: string; line: number }[] }

/** `from` may not import `to`; patterns are path.matchesGlob globs over project-relative paths. */
interface Arrow { rule: string; from: string[]; exceptFrom?: string[]; to: string[]; exceptTo?: string[]; because: string }

const OURS = ['config/**', 'media/**', 'sip/**', 'src/**', 'bench/**', 'test/**'];
const WORKER_SIDE = ['src/worker.ts', 'src/session/**', 'src/conversation/**', 'src/engines/**'];
const CONTROL_SIDE = ['src/resources/**', 'src/api/**', 'src/calls/**', 'src/db/**', 'src/events/**', 'src/jobs/**', 'src/docs/**'];
const PROTOCOL = 'src/calls/worker-protocol.ts';

export const ARROWS: Arrow[] = [
  { rule: 'media-imports-nothing', from: ['media/**'], to: OURS, exceptTo: ['media/**'], because: 'media knows no call, vendor, SIP or HTTP' },
  { rule: 'sip-imports-nothing', from: ['sip/**'], to: OURS, exceptTo: ['sip/**'], because: 'sip is RFC 3261 and its friends, nothing else' },
  { rule: 'config-imports-nothing', from: ['config/**'], to: OURS, exceptTo: ['config/**'], because: 'settings are plain values' },
  { rule: 'config-at-the-doors-only', from: ['src/**'], exceptFrom: ['src/main.ts', 'src/worker.ts'], to: ['config/**'], because: 'everyone but main.ts and worker.ts receives plain options' },
  { rule: 'worker-side', from: WORKER_SIDE, to: [...CONTROL_SIDE, 'sip/**', 'src/console/**'], exceptTo: [PROTOCOL], because: 'the control side is another thread; both meet in worker-protocol.ts' },
  { rule: 'control-side', from: CONTROL_SIDE, exceptFrom: [PROTOCOL], to: ['src/session/**', 'src/conversation/**', 'media/**'], exceptTo: ['media/wav.ts'], because: 'the media side is another thread; both meet in worker-protocol.ts' },
  { rule: 'protocol-stands-alone', from: [PROTOCOL], to: OURS, exceptTo: ['src/end-reason.ts'], because: 'both threads load it' },
  { rule: 'resources-own-live-calls', from: ['src/resources/**'], to: ['src/calls/**'], because: 'calls implements the interface that resources/calls owns' },
  { rule: 'one-sql-file', from: ['src/resources/**'], to: ['src/resources/*/store.ts'], because: 'a resource uses another through its actions.ts' },
  { rule: 'tests-stay-outside', from: ['config/**', 'media/**', 'sip/**', 'src/**'], to: ['test/**', 'bench/**'], because: 'the product runs without its tests' },
];

const matches = (file: string, globs: string[] = []): boolean => globs.some((glob) => path.matchesGlob(file, glob));

const sameFolder = (a: string, b: string): boolean => path.dirname(a) === path.dirname(b);

/** Every arrow of the graph that a rule forbids. */
export function forbiddenArrows(files: SourceFile[]): Finding[] {
  const findings: Finding[] = [];
  for (const file of files) {
    for (const target of file.imports) {
      for (const arrow of ARROWS) {
        if (!matches(file.path, arrow.from) || matches(file.path, arrow.exceptFrom)) continue;
        if (!matches(target.path, arrow.to) || matches(target.path, arrow.exceptTo)) continue;
        if (arrow.rule === 'one-sql-file' && sameFolder(file.path, target.path)) continue;
        findings.push({ rule: arrow.rule, file: file.path, line: target.line, message: `may not import ${target.path}: ${arrow.because}` });
      }
    }
  }
  return findings;
}

/** One finding for each cycle that a depth-first walk closes; type-only imports count. */
export function cycles(files: SourceFile[]): Finding[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const trail: string[] = [];
  const findings: Finding[] = [];
  const visit = (file: SourceFile): void => {
    trail.push(file.path);
    for (const target of file.imports) {
      const start = trail.indexOf(target.path);
      const next = byPath.get(target.path);
      if (start >= 0) findings.push({ rule: 'no-cycle', file: file.path, line: target.line, message: [...trail.slice(start), target.path].join(' -> ') });
      else if (next && !done.has(target.path)) visit(next);
    }
    trail.pop();
    done.add(file.path);
  };
  for (const file of files) if (!done.has(file.path)) visit(file);
  return findings;
}

/** `ServiceVersion` is the API's header, `ServiceUnavailable` and `ServiceShutdown` are its codes. */
const VAGUE_NAME = /Manager|Helper|Handler2|Util(?:s|ity|ities)?(?![a-z])|Service(?!Version|Unavailable|Shutdown)/;
const VAGUE_PATH = /(?:^|[/-])(?:managers?|helpers?|services?|handler2|utils?|utilities|common|misc)(?=[/.-]|$)/;
const SERVICE_VERSION_FILE = /(?:^|\/)service-version\b/;

/** Vague words in the names of files and of declared classes, interfaces, types and functions; file names that are not kebab-case; barrels. */
export function words(files: SourceFile[]): Finding[] {
  const findings: Finding[] = [];
  for (const file of files) {
    const say = (rule: string, line: number, message: string): void => { findings.push({ rule, file: file.path, line, message }); };
    if (VAGUE_PATH.test(file.path) && !SERVICE_VERSION_FILE.test(file.path)) say('vague-word', 1, 'the path says what kind of thing it is, not what it does');
    if (/[A-Z_ ]/.test(path.basename(file.path))) say('kebab-case', 1, 'file names are kebab-case');
    if (/^src\/(?:.*\/)?index\.ts$/.test(file.path)) say('no-barrel', 1, 'import the file that has it; no barrels inside src');
    for (const { name, line } of file.names) if (VAGUE_NAME.test(name)) say('vague-word', line, `${name}: name what it does`);
  }
  return findings;
}

/** Reads a TypeScript file's relative imports (static, re-export, dynamic, `import('…')` types) and the names it declares. */
export function readSource(root: string, file: string): SourceFile {
  const text = readFileSync(path.join(root, file), 'utf8');
  const lineAt = (offset: number): number => text.slice(0, offset).split('\n').length;
  const { program, errors } = parseSync(file, text);
  if (errors[0]) throw new Error(`${file} does not parse: ${errors[0].message}`);
  const source: SourceFile = { path: file, imports: [], names: [] };
  const imported = (from: unknown, start: number): void => {
    if (typeof from === 'string' && from.startsWith('.')) source.imports.push({ path: path.posix.join(path.posix.dirname(file), from), line: lineAt(start) });
  };
  const named = (id: { name: string; start: number } | null): void => { if (id) source.names.push({ name: id.name, line: lineAt(id.start) }); };
  new Visitor({
    ImportDeclaration: (node) => imported(node.source.value, node.start),
    ExportAllDeclaration: (node) => imported(node.source.value, node.start),
    ExportNamedDeclaration: (node) => imported(node.source?.value, node.start),
    ImportExpression: (node) => { if (node.source.type === 'Literal') imported(node.source.value, node.start); },
    TSImportType: (node) => imported(node.source.value, node.start),
    ClassDeclaration: (node) => named(node.id),
    FunctionDeclaration: (node) => named(node.id),
    TSInterfaceDeclaration: (node) => named(node.id),
    TSTypeAliasDeclaration: (node) => named(node.id),
  }).visit(program);
  return source;
}

/** Checks the tree under `root`: the product's folders, tests and benchmarks. */
export function checkTree(root: string): { files: number; findings: Finding[] } {
  const paths = globSync('{config,media,sip,src,bench,test}/**/*.{ts,mts,js,mjs}', { cwd: root, exclude: ['**/fixtures/**', '**/npm-stubs/**', '**/node_modules/**'] });
  const files = paths.map((file) => readSource(root, file.split(path.sep).join('/'))).sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files: files.length, findings: [...forbiddenArrows(files), ...cycles(files), ...words(files)] };
}

if (import.meta.main) {
  const { files, findings } = checkTree(process.argv[2] ?? process.cwd());
  for (const finding of findings) console.log(`${finding.file}:${finding.line} ${finding.rule}: ${finding.message}`);
  console.log(`import rules: ${findings.length} findings in ${files} files`);
  if (findings.length > 0 || files === 0) process.exitCode = 1;
}
