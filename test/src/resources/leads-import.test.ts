import t from 'tap';
import { deleteImportsBefore } from '../../../src/resources/leads/actions.ts';
import { startApiHarness, type Answer, type ApiHarness } from '../../support/api-harness.ts';
import { inNewAccount } from '../../support/new-account.ts';

const number = (n: number): string => `+1415${String(5_550_000 + n)}`;
const lead = (n: number, more: object = {}): object => ({ name: `N${n}`, phone_number: number(n), ...more });
const bulk = (api: ApiHarness, body: unknown, headers: Record<string, string> = {}): Promise<Answer> => api.call('POST', '/v1/leads/bulk', { body, headers });
const csv = (api: ApiHarness, text: string, query = '', type = 'text/csv'): Promise<Answer> => api.call('POST', `/v1/leads/bulk${query}`, { raw: text, headers: { 'content-type': type } });
const now = (api: ApiHarness): string => new Date(api.clock.now()).toISOString();
const all = async (api: ApiHarness, query = ''): Promise<Record<string, unknown>[]> => (await api.call('GET', `/v1/leads?limit=100${query}`)).body.data;
const find = async (api: ApiHarness, n: number): Promise<Record<string, unknown>> => (await all(api, `&phone_number=%2B${number(n).slice(1)}`))[0] ?? {};

t.test('imports of leads', async (t) => {
  const shared = await startApiHarness();
  t.teardown(() => shared.close());

  t.test('JSON', async (t) => {
    const api = await inNewAccount(shared);
    const rows = [
      lead(1, { tags: ['a', 'a'], fields: { city: 'Bath', deep: { x: [1] } }, email: 'x@y.org', timezone: 'Europe/Berlin', do_not_call: true }), lead(2), { name: 'no number' }, 'text', null, [lead(3)],
      { ...lead(4), colour: 1 }, { name: 'A', phone_number: '0415' }, lead(5, { timezone: 'Mars/Olympus' }), lead(6, { fields: { x: 'y'.repeat(16_384) } }), lead(7, { name: 'a\0b' }),
      lead(8, { fields: { x: '\ud800' } }), lead(9, { tags: ['ok', ''] }), lead(10, { tags: null, fields: null, email: null, do_not_call: null }),
    ];
    const answer = await bulk(api, { leads: rows });
    t.match(answer, { status: 201, body: { id: /^[0-9a-f]{24}$/, object: 'lead_import', livemode: true, created: 3, updated: 0, skipped: 0, created_at: now(api) } });
    t.same(answer.body.errors.map(({ row, code, param }: Record<string, unknown>) => [row, code, param]), [
      [2, 'missing_parameter', 'leads[2].phone_number'], [3, 'invalid_parameter', 'leads[3]'], [4, 'invalid_parameter', 'leads[4]'], [5, 'invalid_parameter', 'leads[5]'],
      [6, 'unknown_parameter', 'leads[6].colour'], [7, 'invalid_phone_number', 'leads[7].phone_number'], [8, 'invalid_parameter', 'leads[8].timezone'],
      [9, 'invalid_parameter', 'leads[9].fields'], [10, 'invalid_parameter', 'leads[10].name'], [11, 'invalid_parameter', 'leads[11].fields.x'], [12, 'invalid_parameter', 'leads[12].tags[1]'],
    ], 'one bad row never loses the good ones');
    t.equal(answer.body.errors[0].message, 'leads[2].phone_number is required.');
    t.match(await find(api, 1), { name: 'N1', tags: ['a'], fields: { city: 'Bath', deep: { x: [1] } }, email: 'x@y.org', timezone: 'Europe/Berlin', do_not_call: true, qualified: false, created_at: now(api) });
    t.match(await find(api, 10), { tags: [], fields: {}, email: null, do_not_call: false });
    t.same((await all(api)).map(({ name }) => name), ['N10', 'N2', 'N1'], 'listed in the order of the rows');
    t.same(api.events, [], 'an import fires no events');
    t.same((await api.call('GET', '/v1/leads?q=n10')).body.data.length, 1, 'found by q');

    t.match(await bulk(api, { leads: [] }), { status: 201, body: { created: 0, errors: [] } });
    const whole: [body: unknown, code: string, param?: string][] = [
      [{}, 'missing_parameter', 'leads'], [[], 'invalid_parameter'], ['name,phone_number', 'invalid_parameter'], [null, 'invalid_parameter'], [{ leads: {} }, 'invalid_parameter', 'leads'],
      [{ leads: [], colour: 1 }, 'unknown_parameter', 'colour'], [{ leads: [], on_duplicate: 'merge' }, 'invalid_parameter', 'on_duplicate'],
      [{ leads: Array.from({ length: 5001 }, (_, n) => lead(100 + n)) }, 'invalid_parameter', 'leads'],
      [{ leads: [lead(50), { fields: JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`) }] }, 'invalid_parameter'],
    ];
    for (const [body, code, param] of whole) t.match(await bulk(api, body), { status: 400, body: { error: { code, ...(param === undefined ? {} : { param }) } } }, JSON.stringify(body).slice(0, 60));
    t.match(await api.call('POST', '/v1/leads/bulk'), { status: 400 }, 'no body');
    t.match(await api.call('POST', '/v1/leads/bulk', { raw: '{"leads":' }), { status: 400, body: { error: { code: 'invalid_json' } } });
    t.match(await api.call('POST', '/v1/leads/bulk?on_duplicate=merge', { body: { leads: [] } }), { status: 400, body: { error: { param: 'on_duplicate' } } });
    t.match(await csv(api, '<leads/>', '', 'application/xml'), { status: 415, body: { error: { code: 'unsupported_media_type' } } });
    const deepest = `{"leads":[${'['.repeat(100_000)}${']'.repeat(100_000)}]}`;
    t.match(await api.call('POST', '/v1/leads/bulk', { raw: deepest, headers: { 'Idempotency-Key': 'deep' } }), { status: 400 }, 'no nesting is too deep to be refused');
    t.equal((await all(api)).length, 3, 'what is refused as a whole makes nothing');
  });

  t.test('a sheet has so many columns, and rows of so much', async (t) => {
    const api = await inNewAccount(shared);
    const header = (columns: number): string => ['name', 'phone_number', ...Array.from({ length: columns - 2 }, (_, n) => `c${n}`)].join(',');
    t.match(await csv(api, `${header(1000)}\nA,${number(1)}\n`), { status: 201, body: { created: 1 } });
    t.match(await csv(api, `${header(1001)}\nA,${number(2)}\n`), { status: 400, body: { error: { code: 'invalid_csv' } } });
    t.match(await csv(api, `name,phone_number\nA,${number(2)}\n"${'x'.repeat(1024 * 1024)}","${'x'.repeat(100)}"\n`), { status: 400, body: { error: { code: 'invalid_csv' } } });
    t.equal((await all(api)).length, 1);
  });

  t.test('the size of an import', async (t) => {
    const api = await inNewAccount(shared);
    const limit = 10 * 1024 * 1024;
    const padded = (bytes: number): string => {
      const text = JSON.stringify({ leads: [lead(1)] });
      return text + ' '.repeat(bytes - text.length);
    };
    t.match(await api.call('POST', '/v1/leads/bulk', { raw: padded(limit) }), { status: 201, body: { created: 1 } });
    t.match(await api.call('POST', '/v1/leads/bulk', { raw: padded(limit + 1) }), { status: 413, body: { error: { type: 'invalid_request_error', code: 'body_too_large' } } });
    const leads = Array.from({ length: 5000 }, (_, n) => lead(10 + n, { fields: { city: 'Bath', note: 'x'.repeat(200) }, tags: ['a', 'b'] }));
    // A turn of the event loop that comes while the import runs.
    let turns = 0;
    let running = true;
    const turn = (): void => {
      turns++;
      if (running) setImmediate(turn);
    };
    setImmediate(turn);
    const answer = await bulk(api, { leads });
    running = false;
    t.match(answer, { status: 201, body: { created: 5000, errors: [] } });
    t.ok(turns > 25, 'others have their turn between slices');
    t.match(await bulk(api, { leads, on_duplicate: 'update' }), { status: 201, body: { created: 0, updated: 5000 } });
    const text = `name,phone_number\n${Array.from({ length: 5000 }, (_, n) => `N,${number(10 + n)}`).join('\n')}`;
    t.match(await csv(api, `${text}\n\n,\n`), { status: 201, body: { created: 0, skipped: 5000 } });
    t.match(await csv(api, `${text}\nN,+14155550000`), { status: 400, body: { error: { code: 'invalid_parameter', param: 'leads' } } });
    t.match(await csv(api, `name,phone_number\n${' '.repeat(limit)}`), { status: 413 });
  });

  t.test('duplicates', async (t) => {
    const api = await inNewAccount(shared);
    const known = { email: 'old@x.org', tags: ['old'], fields: { city: 'Bath', zip: '1' }, timezone: 'UTC', do_not_call: true };
    await bulk(api, { leads: [lead(1, known)] });
    const before = await find(api, 1);
    const qualified_at = now(api);
    await api.call('PATCH', `/v1/leads/${String(before['id'])}`, { body: { qualified: true } });
    api.clock.advance(1000);

    t.match(await bulk(api, { leads: [lead(1, { name: 'new' }), lead(2), lead(2, { name: 'later' })] }), { body: { created: 1, updated: 0, skipped: 2, errors: [] } }, 'skip, the default');
    t.match([await find(api, 1), await find(api, 2)], [{ name: 'N1', ...known }, { name: 'N2' }]);

    const error = await bulk(api, { leads: [lead(1), lead(3), lead(3), {}], on_duplicate: 'error' });
    t.match(error.body, { created: 1, updated: 0, skipped: 0 });
    t.same(error.body.errors.map(({ row, code, param }: Record<string, unknown>) => [row, code, param]), [[0, 'lead_exists', 'leads[0].phone_number'], [2, 'lead_exists', 'leads[2].phone_number'], [3, 'missing_parameter', 'leads[3].name']]);

    const update = await bulk(api, { leads: [lead(1, { name: 'Müller' }), lead(4, { email: 'a@x.org', tags: ['a'] }), lead(4, { name: 'last', email: null }), lead(2, known), { name: 'bad', phone_number: number(4), email: 'x' }], on_duplicate: 'update' });
    t.match(update.body, { created: 1, updated: 3, skipped: 0, errors: [{ row: 4, param: 'leads[4].email' }] });
    t.match(await find(api, 1), { ...before, name: 'Müller', qualified: true, qualified_at, updated_at: now(api) }, 'only what a row sends changes');
    t.match(await find(api, 2), { name: 'N2', ...known });
    t.match(await find(api, 4), { name: 'last', email: null, tags: ['a'] }, 'the last row wins, field by field');
    t.equal((await all(api, '&q=muller')).length, 1, 'a new name is found');
    await bulk(api, { leads: [lead(1, { tags: [], fields: {}, email: null, timezone: null, do_not_call: false })], on_duplicate: 'update' });
    t.match(await find(api, 1), { tags: [], fields: {}, email: null, timezone: null, do_not_call: false });
    t.strictSame((await find(api, 1))['fields'], {});

    t.match(await api.call('POST', '/v1/leads/bulk', { key: api.account.test, body: { leads: [lead(1)] } }), { body: { created: 1, livemode: false } }, 'the other mode has leads of its own');
    t.match(await api.call('POST', '/v1/leads/bulk', { key: (await api.newAccount()).live, body: { leads: [lead(1)], on_duplicate: 'update' } }), { body: { created: 1 } });
    t.match(await find(api, 1), { name: 'N1' }, 'and another account changes nothing here');

    const many = Array.from({ length: 700 }, (_, n) => lead(1000 + n));
    const answers = await Promise.all([bulk(api, { leads: many }), bulk(api, { leads: many.toReversed(), on_duplicate: 'update' }), bulk(api, { leads: many, on_duplicate: 'error' })]);
    t.same(answers.map(({ status }) => status), [201, 201, 201]);
    t.equal(answers.reduce((sum, { body }) => sum + body.created, 0), 700, 'imports at once make each lead once');
    t.equal((await find(api, 1699))['name'], 'N1699');
    t.same(api.events.map(({ event }) => event), ['leadQualified']);
  });

  t.test('CSV', async (t) => {
    const api = await inNewAccount(shared);
    const text = [
      '\ufeffName,PHONE_NUMBER,tags,email,timezone,do_not_call,city,First name,', `"Lovelace, Ada",${number(1)},"a; b|c;;",a@x.org,Europe/London,TRUE,Bath,Ada,`, `  Bob  ,${number(2)},,,,,,,`,
      '', `No number,,,,,,,,`, `Excel,${number(3).slice(1)},,,,,,,`, `X,${number(4)},,,,maybe,,,`, `Y,${number(5)},,,Mars,,,,`, ',,,,,,,,', `Z,${number(6)},a,a@x.org,UTC,false,Rome,Zed,,more`, `12" pipe,${number(7)}`,
      `"two\nlines ""quoted""",${number(8)},,,,0,,,`,
    ].join('\r\n');
    const answer = await csv(api, text, '', 'text/csv; charset=utf-8');
    t.match(answer, { status: 201, body: { object: 'lead_import', created: 4, skipped: 0 } });
    t.same(answer.body.errors.map(({ row, code, param }: Record<string, unknown>) => [row, code, param]), [
      [3, 'missing_parameter', 'leads[3].phone_number'], [4, 'invalid_phone_number', 'leads[4].phone_number'], [5, 'invalid_parameter', 'leads[5].do_not_call'],
      [6, 'invalid_parameter', 'leads[6].timezone'], [8, 'invalid_csv', 'leads[8]'],
    ], 'rows are counted from the one under the header, empty ones too');
    t.match(await find(api, 1), { name: 'Lovelace, Ada', tags: ['a', 'b', 'c'], email: 'a@x.org', timezone: 'Europe/London', do_not_call: true, fields: { city: 'Bath', 'First name': 'Ada' } });
    t.strictSame((await find(api, 2))['fields'], {});
    t.match(await find(api, 2), { name: 'Bob', tags: [], email: null, do_not_call: false });
    t.match([await find(api, 7), await find(api, 8)], [{ name: '12" pipe' }, { name: 'two\nlines "quoted"' }]);

    t.match(await csv(api, `phone_number;name;city\n${number(1)};Augusta;\n${number(9)};Neu;Köln`, '?on_duplicate=update'), { body: { created: 1, updated: 1 } }, 'semicolons');
    t.match(await find(api, 1), { name: 'Augusta', fields: { city: 'Bath' }, email: 'a@x.org' }, 'an empty cell says nothing');
    t.match(await csv(api, `phone_number\tname\n${number(1)}\tX`, '?on_duplicate=error'), { body: { errors: [{ row: 0, code: 'lead_exists' }] } }, 'tabs');
    t.match(await csv(api, `name,phone_number\rOld,${number(10)}\r`), { body: { created: 1 } }, 'line ends of old');
    t.match(await csv(api, `name,phone_number,__proto__,constructor\nP,${number(11)},x,y`), { body: { created: 1 } });
    t.equal((await find(api, 11))['fields'] instanceof Object, true);
    t.match(await csv(api, `name,phone_number\nA\0B,${number(12)}\nC,${number(13)}`), { body: { created: 1, errors: [{ row: 0, param: 'leads[0].name' }] } });
    t.match(await csv(api, 'name,phone_number'), { status: 201, body: { created: 0, errors: [] } });

    const refused: [text: string, message: RegExp][] = [
      ['', /./], ['\n', /no name/], ['name,phone\nA,1', /no phone_number/], ['name,phone_number,city,city', /city twice/], ['name,phone_number,name', /name twice/], ['name,,phone_number', /Column 2/],
      [`name,phone_number\n"A,${number(20)}\nB,${number(21)}`, /Quote/], [`name,phone_number\nM\ufffdller,${number(20)}`, /UTF-8/],
    ];
    for (const [bad, message] of refused) t.match(await csv(api, bad), { status: 400, body: { error: { code: bad === '' ? String : 'invalid_csv', message } } }, JSON.stringify(bad));
    const latin1 = await api.app.inject({ method: 'POST', url: '/v1/leads/bulk', headers: { authorization: `Bearer ${api.account.live}`, 'content-type': 'text/csv' }, payload: Buffer.from('name,phone_number\nMüller,+14155550199', 'latin1') });
    t.match(latin1.json(), { error: { code: 'invalid_csv' } });
    t.same(api.events, []);
  });

  t.test('a retry', async (t) => {
    const api = await inNewAccount(shared);
    const { db } = api.context;
    await db.query('DELETE FROM lead_import');
    const headers = { 'Idempotency-Key': 'import-1' };
    const body = { leads: [lead(1), {}, lead(2), lead(2)] };
    const first = await bulk(api, body, headers);
    t.match(first.body, { created: 2, skipped: 1, errors: [{ row: 1 }] });
    t.match(await bulk(api, body, headers), { status: 201, headers: { 'idempotent-replayed': 'true' }, body: first.body });
    await db.query('UPDATE idempotency SET status = NULL, answer = NULL, lease_until = $1 WHERE key = $2', [new Date(api.clock.now() - 1), 'import-1']);
    t.match(await bulk(api, body, headers), { status: 201, headers: { 'idempotent-replayed': 'true' }, body: first.body }, 'after a crash it finds what the import answered');
    t.equal((await all(api)).length, 2);
    t.match(await bulk(api, { leads: [lead(3)] }, headers), { status: 409, body: { error: { code: 'idempotency_key_reused' } } });
    const text = { raw: `name,phone_number\nA,${number(5)}`, headers: { 'content-type': 'text/csv', 'Idempotency-Key': 'import-2' } };
    const made = await api.call('POST', '/v1/leads/bulk', text);
    t.match(await api.call('POST', '/v1/leads/bulk', text), { headers: { 'idempotent-replayed': 'true' }, body: made.body });

    await bulk(api, { leads: [lead(6)] });
    const kept = async (): Promise<number> => (await db.query('SELECT 1 FROM lead_import')).length;
    t.equal(await kept(), 3);
    api.clock.advance(1000);
    await bulk(api, { leads: [lead(7)] });
    const before = new Date(api.clock.now());
    t.equal(await deleteImportsBefore(db, before, 2), 2);
    t.equal(await deleteImportsBefore(db, before, 2), 1);
    t.equal(await kept(), 1, 'the newer one stays');
  });
});
