import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { AddressGuard } from '../../../src/events/address-guard.ts';
import { fetchDocument } from '../../../src/resources/knowledge-bases/document-fetch.ts';
import { handleDocumentJobs } from '../../../src/resources/knowledge-bases/processing.ts';
import { startApiHarness } from '../../support/api-harness.ts';
import { makePdf } from '../../support/document-files.ts';
import { startHttpPeer } from '../../support/mcp-peer.ts';

const MIB = 1024 * 1024;

t.test('documents from addresses', async (t) => {
  const forbidden = await startHttpPeer((_request, response) => { response.end('secret'); });
  const send = (response: ServerResponse, type: string, body: Buffer | string, more: Record<string, string> = {}): void => { response.writeHead(200, { 'content-type': type, ...more }).end(body); };
  const redirect = (response: ServerResponse, location: string): void => { response.writeHead(302, { location }).end(); };
  const pages: Record<string, (response: ServerResponse) => void> = {
    '/page': (response) => send(response, 'text/html; charset=utf-8', '<h1>Hours</h1><p>Nine to five.</p>'),
    '/packed': (response) => send(response, 'text/plain', gzipSync('Packed words.'), { 'content-encoding': 'gzip' }),
    '/paper': (response) => send(response, 'application/octet-stream', makePdf(['A page of words.'])),
    '/list.csv': (response) => send(response, 'text/plain', 'Name,Price\nBread,2\n'),
    '/one': (response) => redirect(response, '/two'),
    '/two': (response) => redirect(response, '/three'),
    '/three': (response) => redirect(response, '/page'),
    '/zero': (response) => redirect(response, '/one'),
    '/inside': (response) => redirect(response, `http://${forbidden.authority}/`),
    '/metadata': (response) => redirect(response, 'http://169.254.169.254/latest/meta-data'),
    '/file': (response) => redirect(response, 'file:///etc/passwd'),
    '/missing': (response) => { response.writeHead(404).end(); },
    '/json': (response) => send(response, 'application/json', '{}'),
    '/nothing': (response) => send(response, 'text/plain', ''),
    '/flood': (response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const pour = (): void => { while (!response.destroyed && response.write(Buffer.alloc(256 * 1024, 'x'))) { /* until it is full */ } };
      response.on('drain', pour);
      pour();
    },
    '/bomb': (response) => send(response, 'text/plain', gzipSync(Buffer.alloc(26 * MIB, 'x')), { 'content-encoding': 'gzip' }),
    '/cut': (response) => { response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' }).write('half', () => response.destroy()); },
  };
  const peer = await startHttpPeer((request, response) => { pages[request.url ?? '']?.(response); });
  const api = await startApiHarness({ allowPrivateAddresses: [peer.authority] });
  t.teardown(async () => {
    await api.close();
    await Promise.all([peer.close(), forbidden.close()]);
  });
  handleDocumentJobs(api.context);
  const base = (await api.call('POST', '/v1/knowledge-bases', { body: { name: 'B' } })).body.id;
  const documents = `/v1/knowledge-bases/${base}/documents`;
  const processAll = async (): Promise<void> => {
    for (let left = 1; left > 0;) {
      await api.context.jobs.runDue();
      api.clock.advance(2000);
      left = (await api.context.db.query('SELECT 1 FROM job')).length;
    }
  };
  const add = async (path: string): Promise<string> => {
    const made = await api.call('POST', documents, { body: { url: `http://${peer.authority}${path}` } });
    t.match(made, { status: 201, body: { source: 'url', url: `http://${peer.authority}${path}`, title: `${peer.authority}${path}`, format: null, size_bytes: null, status: 'processing' } }, path);
    return String(made.body.id);
  };

  t.test('addresses that may not be asked are refused when they are named', async (t) => {
    for (const url of [`http://${forbidden.authority}/`, 'http://10.0.0.1/', 'https://[::1]/', 'http://169.254.169.254/', 'ftp://203.0.112.1/', 'nonsense', 'https://u:p@203.0.112.1/', '', `https://203.0.112.1/${'x'.repeat(2048)}`]) {
      t.match(await api.call('POST', documents, { body: { url } }), { status: 400, body: { error: { type: 'invalid_request_error', code: 'unsafe_url', param: 'url' } } }, url.slice(0, 40));
    }
    t.equal(forbidden.requests.length, 0);
    t.match(await api.call('POST', documents, { body: { url: `http://${peer.authority}/page`, title: 'Mine' } }), { status: 201, body: { title: 'Mine' } });
  });

  t.test('what an address answers is read by its media type', async (t) => {
    const cases = [['/page', 'html', 'Nine to five.'], ['/packed', 'txt', 'Packed words.'], ['/paper', 'pdf', 'A page of words.'], ['/list.csv', 'csv', 'Name: Bread\nPrice: 2'], ['/one', 'html', 'Nine to five.']] as const;
    const ids = await Promise.all(cases.map(([path]) => add(path)));
    await processAll();
    for (const [index, [path, format, text]] of cases.entries()) {
      t.match((await api.call('GET', `${documents}/${ids[index]}`)).body, { status: 'ready', format, size_bytes: Number, error: null }, path);
      t.match(await api.context.db.query('SELECT text FROM knowledge_passage WHERE document_id = $1', [ids[index] ?? '']), [{ text }], path);
    }
  });

  t.test('what cannot be fetched says why', async (t) => {
    const cases = [
      ['/zero', 'The address redirects more than 3 times.'], ['/inside', /^unsafe_url: /], ['/metadata', /^unsafe_url: /], ['/file', /^unsafe_url: /], ['/missing', /^The address answered HTTP 404\./],
      ['/json', /^The address answered with application\/json, which is none of/], ['/nothing', 'The address answered with nothing.'], ['/flood', 'The document is larger than 25 MiB.'],
      ['/bomb', 'The document is larger than 25 MiB.'], ['/cut', /^The address could not be fetched \(\w+\)\.$/],
    ] as const;
    const ids: string[] = [];
    for (const [path] of cases) ids.push(await add(path));
    await processAll();
    for (const [index, [path, error]] of cases.entries()) t.match((await api.call('GET', `${documents}/${ids[index]}`)).body, { status: 'failed', error }, path);
    t.equal(forbidden.requests.length, 0, 'nothing inside was asked');
    pages['/missing'] = (response) => send(response, 'text/plain', 'Here now.');
    await api.call('POST', `${documents}/${ids[4]}/retry`);
    await processAll();
    t.match((await api.call('GET', `${documents}/${ids[4]}`)).body, { status: 'ready', chunk_count: 1 }, 'a retry fetches again');
  });
});

t.test('an address that does not answer in time, or not at all', async (t) => {
  const peer = await startHttpPeer((request, response) => { if (request.url === '/slow') response.writeHead(200, { 'content-type': 'text/plain' }).write('half'); });
  t.teardown(() => peer.close());
  const guard = new AddressGuard({ allowed: [peer.authority] });
  const { signal } = new AbortController();
  for (const path of ['/silent', '/slow']) {
    await t.rejects(fetchDocument(guard, `http://${peer.authority}${path}`, signal, 200), { name: 'DocumentFault', message: 'The address did not answer in full within 0.2 s.' }, path);
  }
  const stopping = AbortSignal.abort(new Error('stopping'));
  await t.rejects(fetchDocument(guard, `http://${peer.authority}/silent`, stopping), { message: 'stopping' }, 'the end of the service is no fault of the document');
  const { authority } = await startHttpPeer(() => undefined).then(async (gone) => { await gone.close(); return gone; });
  await t.rejects(fetchDocument(new AddressGuard({ allowed: [authority] }), `http://${authority}/`, signal), { message: 'The address could not be fetched (ECONNREFUSED).' });
  await t.rejects(fetchDocument(guard, `http://localhost:${peer.authority.split(':')[1]}/`, signal), { message: /^unsafe_url: / }, 'a name is judged by what it resolves to, when it is connected to');
});
