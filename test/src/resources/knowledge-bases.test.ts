import t from 'tap';
import { handleDocumentJobs } from '../../../src/resources/knowledge-bases/processing.ts';
import { searchKnowledge } from '../../../src/resources/knowledge-bases/search.ts';
import { startApiHarness } from '../../support/api-harness.ts';

t.test('knowledge bases', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  handleDocumentJobs(api.context);
  const addBase = async (fields: object = {}, key = api.account.live): Promise<string> => String((await api.call('POST', '/v1/knowledge-bases', { key, body: { name: 'Shop', ...fields } })).body.id);
  const addText = async (base: string, title: string, text: string): Promise<string> => String((await api.call('POST', `/v1/knowledge-bases/${base}/documents`, { body: { title, text } })).body.id);
  /** Documents that found no place wait two seconds. */
  const processAll = async (): Promise<void> => {
    for (let left = 1; left > 0;) {
      await api.context.jobs.runDue();
      api.clock.advance(2000);
      left = (await api.context.db.query('SELECT 1 FROM job')).length;
    }
  };
  const search = (base: string, query: string, limit?: number) => api.call('POST', `/v1/knowledge-bases/${base}/search`, { body: { query, ...(limit === undefined ? {} : { limit }) } });
  const found = async (base: string, query: string): Promise<string[]> => (await search(base, query)).body.data.map((passage: { text: string }) => passage.text);

  t.test('created, read, changed, listed, deleted', async (t) => {
    const made = await api.call('POST', '/v1/knowledge-bases', { body: { name: 'Shop', description: 'All about it' } });
    t.strictSame([made.status, made.body], [201, {
      id: made.body.id, object: 'knowledge_base', livemode: true, name: 'Shop', description: 'All about it', status: 'empty', document_count: 0, chunk_count: 0,
      created_at: made.body.created_at, updated_at: made.body.created_at,
    }]);
    const { id } = made.body;
    t.strictSame((await api.call('GET', `/v1/knowledge-bases/${id}`)).body, made.body);
    api.clock.advance(1);
    t.match((await api.call('PATCH', `/v1/knowledge-bases/${id}`, { body: { name: 'Store' } })).body, { name: 'Store', description: 'All about it', updated_at: new Date(api.clock.now()).toISOString() });
    t.match((await api.call('PATCH', `/v1/knowledge-bases/${id}`, { body: { description: null } })).body, { name: 'Store', description: null });
    const newer = await addBase();
    const page = await api.call('GET', '/v1/knowledge-bases?limit=1');
    t.match(page.body, { object: 'list', data: [{ id: newer }], has_more: true });
    t.match((await api.call('GET', `/v1/knowledge-bases?limit=1&starting_after=${page.body.next_cursor}`)).body, { data: [{ id, status: 'empty' }], has_more: false });
    t.strictSame((await api.call('DELETE', `/v1/knowledge-bases/${id}`)).body, { id, object: 'knowledge_base', deleted: true });
    t.match(await api.call('GET', `/v1/knowledge-bases/${id}`), { status: 404, body: { error: { code: 'knowledge_base_not_found', param: 'id' } } });
  });

  t.test('names have 1 to 200 characters, descriptions up to 1000', async (t) => {
    for (const body of [{ name: '' }, { name: 'x'.repeat(201) }, { name: 'a\0b' }, { name: 5 }]) t.match(await api.call('POST', '/v1/knowledge-bases', { body }), { status: 400, body: { error: { code: 'invalid_parameter', param: 'name' } } });
    t.match(await api.call('POST', '/v1/knowledge-bases', { body: {} }), { status: 400, body: { error: { code: 'missing_parameter', param: 'name' } } });
    t.match(await api.call('POST', '/v1/knowledge-bases', { body: { name: 'x', status: 'ready' } }), { status: 400, body: { error: { code: 'unknown_parameter', param: 'status' } } });
    t.match(await api.call('POST', '/v1/knowledge-bases', { body: { name: 'x', description: 'x'.repeat(1001) } }), { status: 400, body: { error: { param: 'description' } } });
    t.match(await api.call('POST', '/v1/knowledge-bases', { body: { name: 'x'.repeat(200), description: 'x'.repeat(1000) } }), { status: 201 });
  });

  t.test('one that an agent uses stays', async (t) => {
    const base = await addBase();
    const agent = { name: 'A', system_prompt: 'P', opening_message: 'O', knowledge_base_id: base };
    const made = await api.call('POST', '/v1/agents', { body: agent });
    t.equal(made.body.knowledge_base_id, base);
    t.match(await api.call('DELETE', `/v1/knowledge-bases/${base}`), { status: 409, body: { error: { type: 'conflict_error', code: 'knowledge_base_in_use', param: 'id' } } });
    await api.call('PATCH', `/v1/agents/${made.body.id}`, { body: { knowledge_base_id: null } });
    t.match(await api.call('DELETE', `/v1/knowledge-bases/${base}`), { status: 200 });
    t.match(await api.call('POST', '/v1/agents', { body: agent }), { status: 404, body: { error: { code: 'knowledge_base_not_found', param: 'knowledge_base_id' } } });
    t.match(await api.call('POST', '/v1/agents', { body: { ...agent, knowledge_base_id: await addBase({}, api.account.test) } }), { status: 403, body: { error: { code: 'key_mode_mismatch', param: 'knowledge_base_id' } } });
    for (let round = 0; round < 5; round++) {
      const id = await addBase();
      const [named, deleted] = await Promise.all([api.call('POST', '/v1/agents', { body: { ...agent, knowledge_base_id: id } }), api.call('DELETE', `/v1/knowledge-bases/${id}`)]);
      t.ok((named.status === 201 && deleted.status === 409) || (named.status === 404 && deleted.status === 200), `at once: ${named.status} ${deleted.status}`);
    }
  });

  t.test('a base tells how far its documents are', async (t) => {
    const base = await addBase();
    const state = async () => (await api.call('GET', `/v1/knowledge-bases/${base}`)).body;
    const document = await addText(base, 'Hours', 'We open at nine.');
    t.match(await state(), { status: 'indexing', document_count: 1, chunk_count: 0 });
    await processAll();
    t.match(await state(), { status: 'ready', document_count: 1, chunk_count: 1 });
    await api.context.db.query('UPDATE knowledge_document SET status = \'failed\' WHERE id = $1', [document]);
    t.match(await state(), { status: 'error' });
    await api.call('DELETE', `/v1/knowledge-bases/${base}/documents/${document}`);
    t.match(await state(), { status: 'empty', document_count: 0, chunk_count: 0 });
  });

  t.test('a question in words finds the passage that answers it', async (t) => {
    const base = await addBase();
    const text = [
      '# Opening hours', 'We are open Monday to Friday from nine to five.', '# Prices', '## Repairs', 'A bicycle repair costs forty euros, spare parts not included.',
      '## Rental', 'Renting a bicycle costs fifteen euros a day.', '# Delivery', 'We deliver within the city. It\'s free above a hundred euros; \\ otherwise five.',
    ].join('\n\n');
    const document = await addText(base, 'All about the shop', text);
    await addText(base, 'Café', 'Im Café gibt es für alle Gäste Kuchen und auch Brötchen, die wir selbst backen.');
    t.strictSame((await search(base, 'anything')).body, { object: 'knowledge_search', data: [] }, 'nothing has been read yet');
    await processAll();
    const answer = await search(base, 'How much is it to have my bicycle repaired?');
    t.match(answer, { status: 200, body: { object: 'knowledge_search', data: [{ object: 'knowledge_passage', document_id: document, title: 'All about the shop', heading: 'Prices > Repairs', text: 'A bicycle repair costs forty euros, spare parts not included.' }] } });
    const { data } = answer.body;
    for (const passage of data) t.equal(text.slice(passage.start, passage.end), passage.text, 'offsets are those of the text that was sent');
    t.strictSame(data.map(({ score }: { score: number }) => score), data.map(({ score }: { score: number }) => score).toSorted((a: number, b: number) => b - a));
    t.match((await found(base, 'When do you open on Mondays'))[0], /Monday to Friday/);
    t.match((await found(base, 'opening hours'))[0], /Monday to Friday/, 'words of a heading count');
    t.match((await found(base, 'kuchen im cafe'))[0], /Im Café/, 'with or without accents, in the document\'s language');
    t.match((await found(base, '"); DROP TABLE knowledge_passage; -- it\'s \\ free & | ! <-> :* delivery'))[0], /free above/, 'operators and quotes are words like others');
    t.strictSame(await found(base, 'the of and is'), [], 'stop words alone find nothing');
    t.strictSame(await found(base, 'xylophone'), []);
    t.equal((await search(base, 'bicycle euros', 1)).body.data.length, 1);
    t.ok((await found(base, 'x '.repeat(900) + 'bicycle'.repeat(20))).length >= 0, 'long questions are answered');

    await api.call('DELETE', `/v1/knowledge-bases/${base}/documents/${document}`);
    t.strictSame(await found(base, 'bicycle'), [], 'what was deleted is found no more');
  });

  t.test('rare words decide, not frequent ones', async (t) => {
    const base = await addBase();
    await addText(base, 'Manual', Array.from({ length: 30 }, (_, n) => `# Part ${n}\n\nThe machine needs oil. The machine, the machine, the machine needs care, says the machine.`).join('\n\n'));
    await addText(base, 'Note', 'A machine of type Zephyr needs water.');
    await processAll();
    t.match((await found(base, 'What does the Zephyr machine need?'))[0], /Zephyr/);
  });

  t.test('a search stays in its base', async (t) => {
    const [mine, other] = [await addBase(), await addBase()];
    await addText(other, 'Secret', 'The hidden treasure lies under the oak.');
    await addText(mine, 'Plain', 'Nothing lies here.');
    await processAll();
    t.strictSame(await found(mine, 'treasure oak'), []);
    t.equal((await found(other, 'treasure')).length, 1);
    t.equal((await searchKnowledge(api.context.db, other, 'treasure', 3)).length, 1, 'as the tool in a call asks');
    t.strictSame(await searchKnowledge(api.context.db, 'f'.repeat(24), 'treasure', 3), []);
    const stranger = await api.newAccount();
    t.match(await api.call('POST', `/v1/knowledge-bases/${other}/search`, { key: stranger.live, body: { query: 'treasure' } }), { status: 404, body: { error: { code: 'knowledge_base_not_found' } } });
  });

  t.test('texts without spaces between words are found too', async (t) => {
    const base = await addBase();
    await addText(base, '案内', '当店の営業時間は午前九時から午後五時までです。日曜日は休みです。');
    await processAll();
    t.equal((await found(base, '日曜日')).length, 1);
  });

  t.test('bounds of a search', async (t) => {
    const base = await addBase();
    for (const body of [{ query: '' }, { query: 'x'.repeat(2001) }, { query: 5 }, { query: 'a\0b' }]) t.match(await api.call('POST', `/v1/knowledge-bases/${base}/search`, { body }), { status: 400, body: { error: { code: 'invalid_parameter', param: 'query' } } });
    t.match(await api.call('POST', `/v1/knowledge-bases/${base}/search`, { body: {} }), { status: 400, body: { error: { code: 'missing_parameter', param: 'query' } } });
    for (const limit of [0, 51, 1.5, '5']) t.match(await api.call('POST', `/v1/knowledge-bases/${base}/search`, { body: { query: 'x', limit } }), { status: 400, body: { error: { code: 'invalid_parameter', param: 'limit' } } });
    for (const limit of [1, 50]) t.equal((await search(base, 'x'.repeat(2000), limit)).status, 200);
    const reader = await api.newKey(api.account, ['knowledge_bases:read']);
    t.match(await api.call('POST', `/v1/knowledge-bases/${base}/search`, { key: reader, body: { query: 'x' } }), { status: 200 }, 'a search is a read');
    t.match(await api.call('POST', '/v1/knowledge-bases', { key: reader, body: { name: 'x' } }), { status: 403 });
  });

  t.test('a deleted base takes everything with it', async (t) => {
    const base = await addBase();
    await addText(base, 'Gone', 'Canary text.');
    await processAll();
    await addText(base, 'Going', 'Another canary.');
    t.equal((await api.call('DELETE', `/v1/knowledge-bases/${base}`)).status, 200);
    await processAll();
    for (const table of ['knowledge_passage', 'knowledge_source', 'knowledge_document']) {
      t.strictSame(await api.context.db.query(`SELECT 1 FROM ${table} WHERE ${table}::text ILIKE '%canary%' OR ${table}::text LIKE '%Gone%'`), [], table);
    }
  });

  t.test('a create with an Idempotency-Key is made once', async (t) => {
    const headers = { 'Idempotency-Key': 'base once' };
    const first = await api.call('POST', '/v1/knowledge-bases', { body: { name: 'Once' }, headers });
    const again = await api.call('POST', '/v1/knowledge-bases', { body: { name: 'Once' }, headers });
    t.strictSame([again.body, again.headers['idempotent-replayed']], [first.body, 'true']);
  });
});
