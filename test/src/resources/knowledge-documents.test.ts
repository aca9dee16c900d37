import t from 'tap';
import { handleDocumentJobs } from '../../../src/resources/knowledge-bases/processing.ts';
import { PARSER_LIMITS } from '../../../src/resources/knowledge-bases/parser-thread.ts';
import { beginRun, lockRun, markFailed, markReady, noteProgress } from '../../../src/resources/knowledge-bases/document-store.ts';
import { startApiHarness, type ApiHarness } from '../../support/api-harness.ts';
import { makeDocx, makeDocxOf, makePdf, makeZip } from '../../support/document-files.ts';

const MIB = 1024 * 1024;

async function upload(api: ApiHarness, base: string, files: readonly (readonly [name: string, data: Buffer<ArrayBuffer> | string, type?: string])[], fields: Record<string, string> = {}, headers: Record<string, string> = {}) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  for (const [name, data, type] of files) form.append('file', new Blob([data], { type: type ?? 'application/octet-stream' }), name);
  const encoded = new Response(form);
  const answer = await api.app.inject({
    method: 'POST', url: `/v1/knowledge-bases/${base}/documents`, payload: Buffer.from(await encoded.arrayBuffer()),
    headers: { authorization: `Bearer ${api.account.live}`, 'content-type': String(encoded.headers.get('content-type')), ...headers },
  });
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
}

const newBase = async (api: ApiHarness): Promise<string> => String((await api.call('POST', '/v1/knowledge-bases', { body: { name: 'B' } })).body.id);

async function processAll(api: ApiHarness): Promise<void> {
  for (let left = 1; left > 0;) {
    await api.context.jobs.runDue();
    api.clock.advance(2000);
    left = (await api.context.db.query('SELECT 1 FROM job')).length;
  }
}

t.test('documents', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  handleDocumentJobs(api.context);
  const base = await newBase(api);
  const documents = `/v1/knowledge-bases/${base}/documents`;
  const passagesOf = (id: string) => api.context.db.query<{ heading: string; text: string }>('SELECT heading, text FROM knowledge_passage WHERE document_id = $1 ORDER BY position', [id]);
  const keptFor = async (id: string): Promise<number> => (await api.context.db.query('SELECT 1 FROM knowledge_source WHERE document_id = $1', [id])).length;

  t.test('text: added, read in the background, shown, listed, deleted', async (t) => {
    const made = await api.call('POST', documents, { body: { title: 'Hours', text: '# Hours\n\nNine to five.' } });
    t.strictSame([made.status, made.body], [201, {
      id: made.body.id, object: 'knowledge_document', livemode: true, knowledge_base_id: base, title: 'Hours', source: 'text', format: 'md', url: null, filename: null, size_bytes: 22,
      status: 'processing', error: null, progress: 0, chunk_count: 0, created_at: made.body.created_at, updated_at: made.body.created_at,
    }]);
    const { id } = made.body;
    t.match(await api.call('POST', `${documents}/${id}/retry`), { status: 409, body: { error: { code: 'document_not_failed', param: 'document_id' } } });
    await processAll(api);
    const ready = await api.call('GET', `${documents}/${id}`);
    t.match(ready.body, { status: 'ready', progress: 100, chunk_count: 1, error: null });
    t.equal(await keptFor(id), 0, 'what was sent is not kept once it has been read');
    t.match(await api.call('POST', `${documents}/${id}/retry`), { status: 409, body: { error: { type: 'conflict_error', code: 'document_not_failed' } } });
    const second = (await api.call('POST', documents, { body: { title: 'More', text: 'x' } })).body;
    const page = (await api.call('GET', `${documents}?limit=1`)).body;
    t.match(page, { object: 'list', data: [{ id: second.id }], has_more: true });
    t.match((await api.call('GET', `${documents}?limit=1&starting_after=${page.next_cursor}`)).body, { data: [ready.body], has_more: false });
    const other = await newBase(api);
    t.match(await api.call('GET', `/v1/knowledge-bases/${other}/documents?starting_after=${page.next_cursor}`), { status: 400, body: { error: { code: 'invalid_cursor' } } });
    for (const [method, path] of [['GET', ''], ['DELETE', ''], ['POST', '/retry']] as const) {
      t.match(await api.call(method, `/v1/knowledge-bases/${other}/documents/${id}${path}`), { status: 404, body: { error: { code: 'knowledge_document_not_found', param: 'document_id' } } }, 'a document is its own base\'s only');
    }
    t.strictSame((await api.call('DELETE', `${documents}/${id}`)).body, { id, object: 'knowledge_document', deleted: true });
    t.match(await api.call('GET', `${documents}/${id}`), { status: 404, body: { error: { code: 'knowledge_document_not_found' } } });
    t.strictSame(await passagesOf(id), []);
    t.equal((await api.call('DELETE', `${documents}/${second.id}`)).status, 200, 'also while it waits to be read');
    await processAll(api);
  });

  t.test('what is sent is one of text, url and file', async (t) => {
    for (const [body, code, param] of [
      [{}, 'missing_parameter', 'text'], [{ title: 'x' }, 'missing_parameter', 'text'], [{ text: 'x' }, 'missing_parameter', 'title'], [{ title: 'x', text: ' \n' }, 'invalid_parameter', 'text'],
      [{ title: '', text: 'x' }, 'invalid_parameter', 'title'], [{ title: 'x'.repeat(201), text: 'x' }, 'invalid_parameter', 'title'], [{ title: 'x', text: 'x', url: 'https://203.0.112.1/' }, 'invalid_parameter', 'url'],
      [{ title: 'x', text: 'x', format: 'md' }, 'unknown_parameter', 'format'],
    ] as const) t.match(await api.call('POST', documents, { body }), { status: 400, body: { error: { code, param } } }, JSON.stringify(body).slice(0, 60));
    t.match(await api.call('POST', documents, { body: { title: 'x'.repeat(200), text: 'x' } }), { status: 201 });
    t.match(await api.call('POST', documents, { body: { title: 'x', text: 'x'.repeat(MIB) } }), { status: 413, body: { error: { code: 'body_too_large' } } }, 'JSON takes 1 MiB');
    t.match(await upload(api, base, [['a.txt', 'x']], { text: 'y' }), { status: 400, body: { error: { code: 'invalid_parameter', param: 'file' } } });
    t.match(await upload(api, base, [['a.txt', 'x'], ['b.txt', 'y']]), { status: 400, body: { error: { code: 'invalid_parameter', param: 'file' } } });
    t.match(await upload(api, base, [['a.txt', '']]), { status: 400, body: { error: { code: 'invalid_parameter', param: 'file' } } });
    t.match(await upload(api, base, [], { title: 'no file' }), { status: 400, body: { error: { code: 'missing_parameter' } } });
    for (const [name, data] of [['a.exe', 'MZ\0'], ['sheet.xlsx', makeZip({ 'xl/workbook.xml': Buffer.from('x') })], ['a.pdf', 'no pdf'], ['a.bin', 'words']] as const) {
      t.match(await upload(api, base, [[name, data]]), { status: 400, body: { error: { code: 'unsupported_document', param: 'file' } } }, name);
    }
    await processAll(api);
  });

  t.test('each format is read', async (t) => {
    const latin1 = Buffer.from('<html><head><title>t</title><meta charset="iso-8859-1"></head><body><nav>Menu</nav><h1>Caf\xe9</h1><p>We bake <a href="/x">bread</a>.</p><script>alert(1)</script><table><tr><th>Cake</th><th>Price</th></tr><tr><td>Plum</td><td>4</td></tr></table></body></html>', 'latin1');
    const files = [
      ['notes.txt', 'Plain words.\r\n\r\nMore.', [['', 'Plain words.\r\n\r\nMore.']]],
      ['marked.md', '# One\nText of one.\n## Two\nText of two.', [['One', 'Text of one.'], ['One > Two', 'Text of two.']]],
      ['page.html', latin1, [['Café', /^We bake bread\.\s+Cake \| Price\s+Plum \| 4$/]]],
      ['list.csv', '\ufeffName;Price\n"Cake; plum";4\nBread;2\n', [['', 'Name: Cake; plum\nPrice: 4\n\nName: Bread\nPrice: 2']]],
      ['paper.pdf', makePdf(['First page says hel-\nlo to all.', 'Second page.']), [['Page 1', 'First page says hello to all.'], ['Page 2', 'Second page.']]],
      ['letter.docx', makeDocx(['# Dear all', 'We are open & glad.']), [['Dear all', 'We are open & glad.']]],
      ['wide.txt', Buffer.from('\ufeffWide words', 'utf16le'), [['', 'Wide words']]],
    ] as const;
    const ids: string[] = [];
    for (const [name, data] of files) {
      const made = await upload(api, base, [[name, data as string | Buffer<ArrayBuffer>]]);
      t.match(made, { status: 201, body: { source: 'file', filename: name, title: name, status: 'processing', format: name.split('.')[1], size_bytes: Buffer.from(data as string).length } }, name);
      ids.push(made.body.id);
    }
    await processAll(api);
    for (const [index, [name, , passages]] of files.entries()) {
      t.match((await api.call('GET', `${documents}/${ids[index]}`)).body, { status: 'ready', error: null }, name);
      t.match((await passagesOf(ids[index] ?? '')).map(({ heading, text }) => [heading, text]), passages, name);
    }
    t.match((await upload(api, base, [['x.txt', 'x']], { title: 'Mine' })).body, { title: 'Mine', filename: 'x.txt' });
  });

  t.test('a document that cannot be read says why; it can be tried again', async (t) => {
    const cases = [
      ['page.pdf', makePdf(['Good page.', undefined, 'Another.']), /^Page 2 of \d cannot be read/],
      ['cut.pdf', Buffer.from(makePdf(['Good page.']).subarray(0, 60)), /^The PDF is damaged/],
      ['empty.pdf', makePdf(['']), /^The PDF holds no text, only pictures/],
      ['cut.docx', Buffer.from(makeDocx(['Words']).subarray(0, -60)), /^The Word document is damaged/],
      ['quotes.csv', 'a,b\n"open,1\n', /^The CSV cannot be read/],
      ['blank.txt', ' \n ', 'The document holds no text.'],
    ] as const;
    const ids: string[] = [];
    for (const [name, data] of cases) ids.push((await upload(api, base, [[name, data as string | Buffer<ArrayBuffer>]])).body.id);
    await processAll(api);
    for (const [index, [name, , error]] of cases.entries()) {
      t.match((await api.call('GET', `${documents}/${ids[index]}`)).body, { status: 'failed', error, chunk_count: 0 }, name);
      t.equal(await keptFor(ids[index] ?? ''), 1, 'what was sent is kept to be tried again');
    }
    t.match((await api.call('GET', `/v1/knowledge-bases/${base}`)).body, { status: 'error' });
    const [id] = ids;
    t.match(await api.call('POST', `${documents}/${id}/retry`, { headers: { 'Idempotency-Key': 'again' } }), { status: 200, body: { status: 'processing', error: null, progress: 0 } });
    await processAll(api);
    t.match((await api.call('GET', `${documents}/${id}`)).body, { status: 'failed', error: /^Page 2 of/ });
    t.match(await api.call('POST', `${documents}/${id}/retry`, { headers: { 'Idempotency-Key': 'again' } }), { body: { status: 'processing' }, headers: { 'idempotent-replayed': 'true' } });
    t.match((await api.call('GET', `${documents}/${id}`)).body, { status: 'failed' }, 'the replay changed nothing');
    const fixed = makePdf(['Repaired.']);
    await api.context.db.query('UPDATE knowledge_source SET data = $2 WHERE document_id = $1', [id ?? '', fixed]);
    await api.context.db.query('UPDATE knowledge_document SET size_bytes = $2 WHERE id = $1', [id ?? '', fixed.length]);
    const tried = await Promise.all([api.call('POST', `${documents}/${id}/retry`), api.call('POST', `${documents}/${id}/retry`)]);
    t.strictSame(tried.map(({ status }) => status).toSorted((a, b) => a - b), [200, 409], 'of two at once one is refused');
    await processAll(api);
    t.match((await api.call('GET', `${documents}/${id}`)).body, { status: 'ready', chunk_count: 1 });
    for (const failed of ids) await api.call('DELETE', `${documents}/${failed}`);
  });

  t.test('a run that was overtaken changes nothing', async (t) => {
    const { db } = api.context;
    const { id } = (await api.call('POST', documents, { body: { title: 'T', text: 'Words.' } })).body;
    const read = async (): Promise<object> => (await api.call('GET', `${documents}/${id}`)).body;
    const [first, second] = [await beginRun(db, id), await beginRun(db, id)];
    if (!first || !second) return t.fail('both begin');
    const now = new Date(api.clock.now());
    await noteProgress(db, first, 50);
    await markFailed(db, first, 'too late', now);
    await markReady(db, first, { passages: 7, searchConfig: 'english' }, now);
    t.notOk(await lockRun(db, first));
    t.match(await read(), { status: 'processing', progress: 0, error: null, chunk_count: 0 });
    t.ok(await lockRun(db, second));
    await markFailed(db, second, 'in time', now);
    t.match(await read(), { status: 'failed', error: 'in time' });
    await api.call('DELETE', `${documents}/${id}`);
  });

  t.test('a retry in the moment between a run\'s failure and the end of its job is not lost', async (t) => {
    const { id } = (await api.call('POST', documents, { body: { title: 'T', text: 'Words.' } })).body;
    const job = "kind = 'knowledge_document' AND payload ->> 'document_id' = $1";
    await api.context.db.query(`UPDATE job SET lease_until = $2, attempts = 1 WHERE ${job}`, [id, new Date(api.clock.now() + 60_000)]);
    await api.context.db.query("UPDATE knowledge_document SET status = 'failed', error = 'x' WHERE id = $1", [id]);
    t.equal((await api.call('POST', `${documents}/${id}/retry`)).status, 200);
    await api.context.db.query(`DELETE FROM job WHERE ${job} AND attempts = 1`, [id]);
    await processAll(api);
    t.match((await api.call('GET', `${documents}/${id}`)).body, { status: 'ready' });
    await api.call('DELETE', `${documents}/${id}`);
  });

  t.test('a file may have 25 MiB, and not a byte more', async (t) => {
    const own = await newBase(api);
    const most = Buffer.alloc(25 * MIB, 'word. ');
    const made = await upload(api, own, [['big.txt', most]]);
    t.match(made, { status: 201, body: { size_bytes: 25 * MIB } });
    t.match(await upload(api, own, [['big.txt', Buffer.concat([most, Buffer.from('x')])]]), { status: 413, body: { error: { code: 'body_too_large', param: 'file[0]' } } });
    await processAll(api);
    t.match((await api.call('GET', `/v1/knowledge-bases/${own}/documents/${made.body.id}`)).body, { status: 'failed', error: /^The document holds more than 8 million characters/ });
  });

  t.test('an upload with an Idempotency-Key is taken once', async (t) => {
    const headers = { 'Idempotency-Key': 'upload once' };
    const own = await newBase(api);
    const first = await upload(api, own, [['a.txt', 'Same words']], { title: 'x' }, headers);
    // A form's boundary differs each time; what is in it counts.
    const again = await upload(api, own, [['a.txt', 'Same words']], { title: 'x' }, headers);
    t.strictSame([again.body.id, again.headers['idempotent-replayed']], [first.body.id, 'true']);
    t.match(await upload(api, own, [['a.txt', 'Other words']], { title: 'x' }, headers), { status: 409, body: { error: { code: 'idempotency_key_reused' } } });
    t.equal((await api.call('GET', `/v1/knowledge-bases/${own}`)).body.document_count, 1);
  });

  t.test('a base holds 10 000 passages, 1000 documents and 200 MiB of unread uploads', async (t) => {
    const own = await newBase(api);
    const path = `/v1/knowledge-bases/${own}/documents`;
    const [first, second] = [(await api.call('POST', path, { body: { title: 'one', text: 'Words.' } })).body.id, (await api.call('POST', path, { body: { title: 'two', text: '# A\nWords.\n# B\nWords.' } })).body.id];
    await api.context.db.query('UPDATE knowledge_document SET status = \'ready\', chunk_count = 9999 WHERE id = $1', [first]);
    await processAll(api);
    t.match((await api.call('GET', `${path}/${second}`)).body, { status: 'failed', error: /makes 2 passages.*holds at most 10000, has 9999 already/, chunk_count: 0 });
    t.strictSame(await passagesOf(second), []);
    await api.context.db.query('UPDATE knowledge_document SET chunk_count = 9998 WHERE id = $1', [first]);
    await api.call('POST', `${path}/${second}/retry`);
    await processAll(api);
    t.match((await api.call('GET', `${path}/${second}`)).body, { status: 'ready', chunk_count: 2 });
    const full = { status: 409, body: { error: { type: 'conflict_error', code: 'knowledge_base_full' } } };
    t.match(await api.call('POST', path, { body: { title: 'x', text: 'x' } }), full);
    await api.context.db.query('UPDATE knowledge_document SET chunk_count = 1, status = \'failed\', size_bytes = $2 WHERE id = $1', [first, 200 * MIB - 1]);
    t.match(await api.call('POST', path, { body: { title: 'x', text: 'xx' } }), full);
    t.match(await api.call('POST', path, { body: { title: 'x', text: 'x' } }), { status: 201 });
    await api.context.db.query(`INSERT INTO knowledge_document (id, account_id, livemode, knowledge_base_id, title, source, status, progress, created_at, updated_at)
      SELECT lpad(to_hex(n), 24, '0'), account_id, livemode, knowledge_base_id, 'many', 'text', 'ready', 100, created_at, created_at FROM knowledge_document, generate_series(1, 997) AS n WHERE id = $1`, [first]);
    t.equal((await api.call('GET', `/v1/knowledge-bases/${own}`)).body.document_count, 1000);
    await api.context.db.query('UPDATE knowledge_document SET size_bytes = 1 WHERE id = $1', [first]);
    t.match(await api.call('POST', path, { body: { title: 'x', text: 'x' } }), full);
    const big = (await api.call('POST', `${documents}`, { body: { title: 'many', text: '# H\nw\n'.repeat(10_001) } })).body.id;
    await processAll(api);
    t.match((await api.call('GET', `${documents}/${big}`)).body, { status: 'failed', error: /^The document makes 10001 passages; a knowledge base holds at most 10000/ });
  });

  t.test('a document that was being read when the process ended is read again, five times at most', async (t) => {
    const { id } = (await api.call('POST', documents, { body: { title: 'x', text: 'Words.' } })).body;
    await api.context.db.query('UPDATE knowledge_document SET attempts = 4 WHERE id = $1', [id]);
    await processAll(api);
    t.match((await api.call('GET', `${documents}/${id}`)).body, { status: 'ready' });
    const { id: deadly } = (await api.call('POST', documents, { body: { title: 'x', text: 'Words.' } })).body;
    await api.context.db.query('UPDATE knowledge_document SET attempts = 5 WHERE id = $1', [deadly]);
    await processAll(api);
    t.match((await api.call('GET', `${documents}/${deadly}`)).body, { status: 'failed', error: /never came to an end/ });
    t.match(await api.call('POST', `${documents}/${deadly}/retry`), { status: 200 });
    await processAll(api);
    t.match((await api.call('GET', `${documents}/${deadly}`)).body, { status: 'ready' }, 'a person\'s retry counts anew');
  });
});

t.test('documents that run away', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const base = await newBase(api);
  const after = async (name: string, data: Buffer<ArrayBuffer> | string): Promise<string> => {
    const { id } = (await upload(api, base, [[name, data]])).body;
    await processAll(api);
    const { status, error } = (await api.call('GET', `/v1/knowledge-bases/${base}/documents/${id}`)).body;
    return `${status}: ${error}`;
  };
  handleDocumentJobs(api.context, { ...PARSER_LIMITS, timeMs: 1 });
  t.match(await after('slow.txt', 'x'), /^failed: The document took longer than 0.001 s/);
  handleDocumentJobs(api.context, { ...PARSER_LIMITS, memoryBytes: 64 * MIB });
  const bomb = makeDocxOf(Buffer.alloc(300 * MIB));
  t.ok(bomb.length < MIB);
  t.match(await after('bomb.docx', bomb), /^failed: The document needs more than 64 MiB of memory/);
  handleDocumentJobs(api.context);
  t.match(await after('deep.html', '<div>'.repeat(20_000) + 'words'), /^(ready|failed): /, 'depth ends no process');
  t.match(await after('fine.txt', 'x'), /^ready/, 'the next document is read as ever');
});
