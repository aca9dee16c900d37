import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import t from 'tap';
import { isGenuine } from '../../../src/docs/verifiers/verify.ts';
import { startApiHarness } from '../../support/api-harness.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../../src/docs/verifiers');

interface Case { what: string; body: Buffer; signature: string | undefined; secret: string }

const run = async (command: string, args: string[], input: string | Buffer, env: Record<string, string> = {}): Promise<{ code: number; output: string }> => {
  const child = spawn(command, args, { env: { PATH: process.env['PATH'], ...env }, stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => { output += chunk.toString(); });
  child.stdin.on('error', () => undefined).end(input);
  const [code] = await once(child, 'close') as [number];
  return { code, output };
};

const PYTHON = `import base64, json, sys; sys.dont_write_bytecode = True; sys.path.insert(0, ${JSON.stringify(FOLDER)})
from verify import is_genuine
print(json.dumps([is_genuine(base64.b64decode(c["body"]), c.get("signature"), c["secret"]) for c in json.load(sys.stdin)]))`;

/** The programs of the events page, run as a reader would run them. */
const VERIFIERS: Record<string, (cases: Case[]) => Promise<boolean[]>> = {
  TypeScript: (cases) => Promise.resolve(cases.map(({ body, signature, secret }) => isGenuine(body, signature, secret))),
  Python: async (cases) => JSON.parse((await run('python3', ['-c', PYTHON], JSON.stringify(cases.map(({ body, ...rest }) => ({ ...rest, body: body.toString('base64') }))))).output) as boolean[],
  Bash: (cases) => Promise.all(cases.map(async ({ body, signature, secret }) => (await run('bash', [path.join(FOLDER, 'verify.sh'), ...(signature === undefined ? [] : [signature])], body, { WEBHOOK_SECRET: secret })).code === 0)),
};

t.test('the programs of the events page tell a real delivery from a false one', async (t) => {
  const received: { body: Buffer; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => {
      received.push({ body: Buffer.concat(chunks), headers: request.headers });
      response.writeHead(204).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const hostPort = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const api = await startApiHarness({ allowPrivateAddresses: [hostPort] });
  t.teardown(async () => {
    await api.close();
    server.close();
  });

  const { body: { secret } } = await api.call('PATCH', '/v1/webhook', { body: { url: `http://${hostPort}/hook` } });
  t.match(await api.call('POST', '/v1/webhook/test', { body: { event: 'callCompleted' } }), { status: 200, body: { status: 'succeeded' } });
  const [delivery] = received;
  if (!delivery) return t.fail('nothing was delivered');
  const { body } = delivery;
  const signature = String(delivery.headers['x-service-signature']);

  const real = { what: 'as it came', body, signature, secret };
  const cases: Case[] = [
    real,
    { ...real, what: 'another body', body: Buffer.from(body.toString().replace('"test":true', '"test":null')) },
    { ...real, what: 'a byte more', body: Buffer.concat([body, Buffer.from('\n')]) },
    { ...real, what: 'another secret', secret: `${secret}x` },
    { ...real, what: 'no signature', signature: undefined },
    { ...real, what: 'half a signature', signature: signature.slice(0, 32) },
    { ...real, what: 'more than a signature', signature: `${signature}00` },
    { ...real, what: 'no hex', signature: `é${signature.slice(1)}` },
  ];
  for (const [name, verify] of Object.entries(VERIFIERS)) {
    const verdicts = await verify(cases);
    t.same(cases.filter((_, index) => verdicts[index]).map(({ what }) => what), ['as it came'], name);
  }
});
