/** `npm test` cannot be green by accident: what crashes, hangs, is empty, never starts or leaves a process behind has failed. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { installCommand, missingPackages } from '../support/debian-packages.ts';
import { runningOf } from '../support/left-behind.ts';
import { plainNode } from '../support/plain-node.ts';
import { runArea, type AreaRun } from '../support/run-area.ts';
import { builtPlugins } from '../support/tap-build.ts';
import { findAreas } from '../support/test-areas.ts';
import { until } from '../support/until.ts';

const root = path.resolve(import.meta.dirname, '../..');

const FILES = {
  'good.test.ts': "import t from 'tap';\nt.test('two', (t) => { t.ok(1); t.ok(1); t.ok(1, 'later', { skip: 'no' }); t.end(); });\n",
  'wrong.test.ts': "import t from 'tap';\nt.test('sum', (t) => { t.equal(1, 2, 'one is two'); t.ok(1); t.end(); });\n",
  'crash.test.ts': "import './nowhere.ts';\n",
  'exit.test.ts': "import t from 'tap';\nt.ok(1);\nsetTimeout(() => process.exit(3), 50);\n",
  'empty.test.ts': "import t from 'tap';\nif (process.pid < 0) t.ok(1);\n",
  'plan.test.ts': "import t from 'tap';\nt.test('three', (t) => { t.plan(3); t.ok(1); setTimeout(() => process.exit(0), 50); });\n",
};

function write(dir: string, files: Record<string, string>): string[] {
  return Object.entries(files).map(([name, text]) => {
    writeFileSync(path.join(dir, name), text);
    return path.relative(root, path.join(dir, name));
  });
}

const run = (files: string[], options: { limitMs?: number; graceMs?: number; fileTimeoutSeconds?: number } = {}): Promise<AreaRun> =>
  runArea({ root, area: 'probe', files, jobs: 2, limitMs: 60_000, graceMs: 2_000, fileTimeoutSeconds: 20, onFile: () => undefined, signal: new AbortController().signal, ...options });

const of = (area: AreaRun, name: string) => area.results.filter((result) => result.file.endsWith(`/${name}`));

t.test('each way to fail is a failure of its file, and the good file is counted', async (t) => {
  const area = await run(write(t.testdir(), FILES));
  t.match(of(area, 'good.test.ts'), [{ passed: 2, skipped: 1, failures: [] }]);
  t.match(of(area, 'wrong.test.ts'), [{ passed: 1, failures: [{ name: /one is two/, detail: /-2\n[^]*\+1/ }] }]);
  t.match(of(area, 'crash.test.ts'), [{ passed: 0, failures: [{ name: /crash/, detail: /no test ran|crashed/ }] }]);
  t.match(of(area, 'exit.test.ts'), [{ failures: [{ detail: /exitCode: 3/ }] }]);
  t.match(of(area, 'empty.test.ts'), [{ passed: 0, failures: [{ detail: /no test ran/ }] }]);
  t.ok((of(area, 'plan.test.ts')[0]?.failures.length ?? 0) > 0);
  t.equal(area.results.length, Object.keys(FILES).length);
});

t.test('a file that hangs fails alone; files behind it still run', async (t) => {
  const hang = "import t from 'tap';\nt.test('hangs', () => new Promise(() => { setInterval(() => undefined, 1000); }));\n";
  const area = await run(write(t.testdir(), { 'a-hang.test.ts': hang, 'b.test.ts': FILES['good.test.ts'], 'c.test.ts': FILES['good.test.ts'], 'd.test.ts': FILES['good.test.ts'] }), { fileTimeoutSeconds: 2 });
  t.ok((of(area, 'a-hang.test.ts')[0]?.failures.length ?? 0) > 0);
  for (const name of ['b.test.ts', 'c.test.ts', 'd.test.ts']) t.match(of(area, name), [{ passed: 2, failures: [] }], name);
});

t.test('an area past its limit is killed, and says so', async (t) => {
  const hang = "import t from 'tap';\nt.test('hangs', () => new Promise(() => { setInterval(() => undefined, 1000); }));\n";
  const area = await run(write(t.testdir(), { 'hang.test.ts': hang }), { limitMs: 3_000 });
  t.ok(area.timeMs < 15_000, `${area.timeMs} ms`);
  t.match(area.results.flatMap((result) => result.failures), [{ name: /hang\.test\.ts/ }]);
});

t.test('a process left behind is a failure, and does not live on', async (t) => {
  const dir = t.testdir();
  const pidFile = path.join(dir, 'pid');
  const leak = `import { spawn } from 'node:child_process';\nimport { writeFileSync } from 'node:fs';\nimport t from 'tap';\nconst child = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' });\nchild.unref();\nwriteFileSync(${JSON.stringify(pidFile)}, String(child.pid));\nt.ok(1);\n`;
  const area = await run(write(dir, { 'leak.test.ts': leak }), { graceMs: 300 });
  t.match(area.results.flatMap((result) => result.failures), [{ name: 'probe', detail: /left behind a process: \d+ sleep 300/ }]);
  // A killed process takes a moment to go.
  const pid = Number(readFileSync(pidFile, 'utf8'));
  await until('the process is gone', 5000, () => runningOf('', pid).length === 0, () => runningOf('', pid));
});

t.test('nothing to run is a failure; the last line counts it', (t) => {
  const child = spawnSync(...plainNode(['test/run.ts', 'no-such-test-anywhere']), { cwd: root, encoding: 'utf8', timeout: 60_000 });
  t.equal(child.status, 1);
  t.equal(child.stdout.trimEnd().split('\n').at(-1), '0 passed, 1 failed');
  t.match(child.stdout, /no test file matches no-such-test-anywhere/);
  t.end();
});

t.test('a run of one file ends with its count alone on the last line', (t) => {
  const child = spawnSync(...plainNode(['test/run.ts', 'test/tool-chain/import-rules']), { cwd: root, encoding: 'utf8', timeout: 60_000 });
  t.match(child.stdout.trimEnd().split('\n').at(-1), /^\d+ passed, \d+ failed$/);
  t.match(child.stdout, /slowest files\n +\d+\.\d s {2}test\/tool-chain\/import-rules\.test\.ts/);
  t.end();
});

t.test('filters are areas, paths, or parts of them', (t) => {
  t.ok(findAreas(root, []).length >= 3);
  t.match(findAreas(root, ['sip']), [{ name: 'sip' }]);
  t.match(findAreas(root, ['tool-chain/run.test']), [{ name: 'tool-chain', files: ['test/tool-chain/run.test.ts'] }]);
  t.strictSame(findAreas(root, ['no-such-test-anywhere']), []);
  const large = findAreas(root, []).filter(({ name }) => name === 'src/resources');
  t.ok(large.length > 1 && large.every(({ files }) => files.length <= 15), 'a large area runs in parts');
  t.equal(new Set(large.flatMap(({ files }) => files)).size, large.flatMap(({ files }) => files).length);
  t.end();
});

t.test('missing Debian packages are named by area, with the line that installs them', (t) => {
  const absent = { name: 'wirevoice-none', proof: '/nonexistent/bin/none', areas: ['sip'], purpose: 'none' };
  t.strictSame(missingPackages(new Set(['sip']), [absent]), [absent]);
  t.strictSame(missingPackages(new Set(['media']), [absent]), []);
  t.strictSame(missingPackages(new Set(['sip']), [{ ...absent, proof: '/' }]), []);
  t.match(installCommand([absent]), /^apt-get update && apt-get install -y .* wirevoice-none$/);
  t.end();
});

t.test('tap is built without its TypeScript plugin', (t) => {
  const plugins = builtPlugins(root);
  t.ok(plugins.includes('@tapjs/snapshot'), 'the list was found');
  t.notOk(plugins.includes('@tapjs/typescript'));
  t.end();
});
