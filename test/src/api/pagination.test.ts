import { randomBytes } from 'node:crypto';
import t from 'tap';
import { decodeCursor, encodeCursor } from '../../../src/api/cursor.ts';
import { makeKeyring } from '../../../src/api/keyring.ts';
import { startApiHarness, type Answer } from '../../support/api-harness.ts';

t.test('cursors', (t) => {
  const keyring = makeKeyring(randomBytes(32));
  const position = { atMs: 1_795_000_000_123, id: '0123456789abcdef01234567' };
  const cursor = encodeCursor(keyring, 'agents', position);
  t.equal(cursor.length, 51);
  t.same(decodeCursor(keyring, 'agents', cursor), position);
  let accepted = 0;
  const bytes = Buffer.from(cursor, 'base64url');
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const forged = Buffer.from(bytes);
    forged[bit >> 3] = (forged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    if (decodeCursor(keyring, 'agents', forged.toString('base64url'))) accepted++;
  }
  for (const other of [`${cursor}=`, `${cursor}A`, cursor.slice(0, -1), ` ${cursor}`, `${cursor}\n`, '', 'A'.repeat(51), Buffer.from(bytes).toString('base64')]) {
    if (other !== cursor && decodeCursor(keyring, 'agents', other)) accepted++;
  }
  for (let n = 0; n < 5000; n++) if (decodeCursor(keyring, 'agents', randomBytes(38).toString('base64url'))) accepted++;
  if (decodeCursor(keyring, 'calls', cursor) || decodeCursor(makeKeyring(randomBytes(32)), 'agents', cursor)) accepted++;
  t.equal(accepted, 0);
  t.end();
});

t.test('lists', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const made: string[] = [];
  const add = async (): Promise<void> => {
    const { body } = await api.call('POST', '/v1/agents', { body: { name: 'A', system_prompt: 'P', opening_message: 'O' } });
    made.unshift(body.id);
    // Some share a millisecond.
    if (made.length % 3 === 0) api.clock.advance(1);
  };
  for (let n = 0; n < 11; n++) await add();
  const ids = (answer: Answer): string[] => answer.body.data.map(({ id }: { id: string }) => id);

  const seen: string[] = [];
  let url = '/v1/agents?limit=4';
  let last;
  for (let pages = 0; pages < 3; pages++) {
    last = await api.call('GET', url);
    seen.push(...ids(last));
    t.equal(last.body.has_more, pages < 2);
    url = `/v1/agents?limit=4&starting_after=${last.body.next_cursor}`;
  }
  t.same(seen, made, 'newest first, none twice, none left out');
  t.equal(last?.body.next_cursor, null);

  const back = await api.call('GET', `/v1/agents?limit=4&ending_before=${last?.body.previous_cursor}`);
  t.same(ids(back), made.slice(4, 8), 'towards the newer, still newest first');
  t.equal(back.body.has_more, true);
  const further = await api.call('GET', `/v1/agents?limit=10&ending_before=${back.body.next_cursor}`);
  t.same(ids(further), made.slice(0, 4));
  t.match(further.body, { has_more: false, next_cursor: null });
  const onward = await api.call('GET', `/v1/agents?limit=4&starting_after=${back.body.previous_cursor}`);
  t.same(ids(onward), made.slice(8), 'and back again');

  const first = await api.call('GET', '/v1/agents?limit=2');
  await add();
  t.same(ids(await api.call('GET', `/v1/agents?ending_before=${first.body.previous_cursor}`)), made.slice(0, 1), 'what is newer than a first page');
  t.equal((await api.call('GET', '/v1/agents')).body.data.length, 12, 'twenty fit by default');

  const cursor = first.body.next_cursor;
  const refused = { status: 400, body: { error: { code: 'invalid_cursor', param: 'starting_after' } } };
  t.match(await api.call('GET', `/v1/agents?starting_after=${cursor}&ending_before=${cursor}`), { status: 400, body: { error: { code: 'conflicting_cursors' } } });
  t.match(await api.call('GET', `/v1/phone-numbers?starting_after=${cursor}`), refused, 'another list');
  t.match(await api.call('GET', `/v1/agents?starting_after=${cursor}`, { key: api.account.test }), refused, 'another mode');
  t.match(await api.call('GET', `/v1/agents?starting_after=${cursor}`, { key: (await api.newAccount()).live }), refused, 'another account');
  t.match(await api.call('GET', '/v1/agents?starting_after=nonsense'), refused);
  t.match(await api.call('GET', `/v1/agents?starting_after=${'x'.repeat(513)}`), { status: 400, body: { error: { code: 'invalid_parameter' } } });
  t.match(await api.call('GET', `/v1/agents?limit=3&starting_after=${cursor}`), { status: 200 }, 'the limit may change');
});
