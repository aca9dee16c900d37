import t from 'tap';
import { startApiHarness } from '../../support/api-harness.ts';
import { AGENT } from '../../support/examples/agents.ts';

const nested = (levels: number): unknown => Array.from({ length: levels }).reduce((inner) => ({ a: inner }), 'x');

t.test('text that no database stores is a malformed request, wherever it stands', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const refused = (param: string) => ({ status: 400, body: { error: { type: 'invalid_request_error', code: 'invalid_parameter', param } } });

  t.test('in bodies: U+0000 and halves of surrogate pairs, in values and in names', async (t) => {
    for (const text of ['\0', 'a\0b', '\ud800', 'x\udc00', '\udc00\ud800']) {
      t.match(await api.call('POST', '/v1/agents', { body: { ...AGENT, name: text } }), refused('name'), JSON.stringify(text));
      t.match(await api.call('POST', '/v1/agents', { body: { ...AGENT, variables: { city: text } } }), refused('variables.city'));
      t.match(await api.call('POST', '/v1/agents', { body: { ...AGENT, variables: { [text]: 'x' } } }), refused('variables'));
      t.match(await api.call('POST', '/v1/leads', { body: { name: 'Ada', phone_number: '+14155550100', tags: ['a', text] } }), refused('tags[1]'));
      t.match(await api.call('POST', '/v1/leads', { body: { name: 'Ada', phone_number: '+14155550100', fields: { a: [{ b: text }] } } }), refused('fields.a[0].b'));
    }
    const csv = 'name,phone_number\nA\0,+14155550101\nB,+14155550102\n';
    t.match(await api.call('POST', '/v1/leads/bulk', { raw: csv, headers: { 'content-type': 'text/csv' } }), { status: 201, body: { created: 1, errors: [{ row: 0, code: 'invalid_parameter' }] } }, 'in an import, of its row only');
  });

  t.test('in queries and paths', async (t) => {
    t.match(await api.call('GET', '/v1/leads?tag=a%00b'), refused('tag'));
    t.match(await api.call('GET', '/v1/leads?starting_after=%00'), refused('starting_after'));
    t.match(await api.call('GET', `/v1/agents/${'a'.repeat(23)}%00`), { status: 400 });
  });

  t.test('whole pairs and everything else of Unicode are taken as they are', async (t) => {
    const name = '👩‍👩‍👧‍👦 Ünï\u202e\uffff\t';
    t.match(await api.call('POST', '/v1/agents', { body: { ...AGENT, name } }), { status: 201, body: { name } });
  });

  t.test('bodies are at most 32 levels deep', async (t) => {
    const lead = { name: 'Ada', phone_number: '+14155550199' };
    t.match(await api.call('POST', '/v1/leads', { body: { ...lead, fields: nested(31) } }), { status: 201 });
    t.match(await api.call('POST', '/v1/leads', { body: { ...lead, fields: nested(32) } }), refused('fields'));
    t.match(await api.call('POST', '/v1/leads', { raw: `${'['.repeat(50_000)}${']'.repeat(50_000)}` }), { status: 400 });
    t.match(await api.call('POST', '/v1/leads', { raw: '['.repeat(500_000) }), { status: 400, body: { error: { code: 'invalid_json' } } });
  });
});
