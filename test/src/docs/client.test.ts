import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { buildApp } from '../../../src/app.ts';
import { isGenuine } from '../../../src/docs/verifiers/verify.ts';
import { startApiHarness } from '../../support/api-harness.ts';
import { until } from '../../support/until.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const TYPES = { compilerOptions: { target: 'es2024', module: 'nodenext', strict: true, noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true, lib: ['es2024', 'dom'], types: ['node'] }, files: ['journey.ts'] };
const run = promisify(execFile);
const tool = (...parts: string[]): string => path.join(ROOT, 'node_modules', ...parts);

/** What the program tells of its journey. */
interface Journey { agentId: string; replayedId: string; leads: string[]; backwards: string[]; appointmentId: string; webhookSecret: string }
interface Received { body: Buffer; headers: IncomingHttpHeaders; event: { event: string; data: { id: string } } }

t.test('a client made from the document does a customer\'s work against a listening gateway', async (t) => {
  const received: Received[] = [];
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => {
      const body = Buffer.concat(chunks);
      received.push({ body, headers: request.headers, event: JSON.parse(body.toString()) as Received['event'] });
      response.writeHead(204).end();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const hostPort = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const api = await startApiHarness({ allowPrivateAddresses: [hostPort] });
  const app = await buildApp({ ...api.context, events: api.context.webhooks });
  const directory = mkdtempSync(path.join(tmpdir(), 'wv-client-'));
  t.teardown(async () => {
    await app.close();
    await api.close();
    receiver.close();
    rmSync(directory, { recursive: true });
  });
  const baseUrl = await app.listen({ port: 0, host: '127.0.0.1' });

  writeFileSync(path.join(directory, 'openapi.json'), await (await fetch(`${baseUrl}/openapi.json`)).text());
  writeFileSync(path.join(directory, 'package.json'), '{"type":"module"}');
  writeFileSync(path.join(directory, 'tsconfig.json'), JSON.stringify(TYPES));
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(directory, 'node_modules'));
  copyFileSync(path.join(import.meta.dirname, 'client-journey.ts.txt'), path.join(directory, 'journey.ts'));
  await run(process.execPath, [tool('oazapfts/dist/cli.js'), 'openapi.json', 'client.ts'], { cwd: directory });

  const types = await run(process.execPath, [tool('typescript/bin/tsc'), '-p', directory]).then(() => '', (error: { stdout: string }) => error.stdout);
  t.equal(types, '', 'the program fits the types of the client');

  const { travel } = await import(pathToFileURL(path.join(directory, 'journey.ts')).href) as { travel: (baseUrl: string, key: string, webhookUrl: string) => Promise<Journey> };
  const journey = await travel(baseUrl, api.account.live, `http://${hostPort}/hook`);
  t.match(journey, {
    agentId: /^[0-9a-f]{24}$/, replayedId: journey.agentId, imported: { created: 25, skipped: 1 }, slotTaken: 'slot_taken',
    rotated: { from: /^[0-9a-f]{24}$/, readsAgent: journey.agentId }, missing: 'agent_not_found', webhookSecret: /^whsec_/,
  });
  t.same(journey.leads.toSorted(), Array.from({ length: 25 }, (_, index) => `Lead ${index}`).toSorted(), 'three pages, nothing twice');
  t.same(journey.backwards, journey.leads.slice(10, 20), 'and the page before the last');

  await until('the delivery', 10_000, () => received.length > 0);
  const [delivery] = received;
  t.match(delivery?.event, { event: 'appointmentBooked', data: { id: journey.appointmentId, object: 'appointment', event_key: String } });
  t.equal(isGenuine(delivery?.body ?? Buffer.alloc(0), String(delivery?.headers['x-service-signature']), journey.webhookSecret), true, 'signed with the secret that was shown once');
  t.equal(received.length, 1, 'an import tells of nothing');
});
