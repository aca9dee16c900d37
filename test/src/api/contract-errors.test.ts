import t from 'tap';
import { CATALOGUE } from '../../../src/api/error-catalogue.ts';
import type { ErrorCode } from '../../../src/api/errors.ts';
import { startApiHarness, type Answer, type ApiHarness } from '../../support/api-harness.ts';
import { AGENT } from '../../support/examples/agents.ts';

const UNKNOWN = 'f'.repeat(24);
const DAY_MS = 24 * 3_600_000;
/** Which statuses each type may have. */
const STATUSES: Readonly<Record<string, readonly number[]>> = {
  invalid_request_error: [400, 405, 408, 413, 415, 416, 422, 431], authentication_error: [401], insufficient_credits: [402], permission_error: [403],
  not_found_error: [404], conflict_error: [409], rate_limit_error: [429], api_error: [500, 502, 503, 504],
};

t.test('every code of the catalogue has a type, a status that goes with it, and a meaning', (t) => {
  t.same(new Set(Object.values(CATALOGUE).map(({ type }) => type)), new Set(Object.keys(STATUSES)), 'eight types');
  for (const [code, { type, status, meaning }] of Object.entries(CATALOGUE)) {
    t.match(code, /^[a-z]+(_[a-z]+)*$/);
    t.ok(STATUSES[type]?.includes(status), `${code}: ${type} ${status}`);
    t.match(meaning, /^\S.+\.$/, code);
  }
  t.end();
});

/** How each general code comes about. */
async function refusals(api: ApiHarness): Promise<[code: ErrorCode, answer: Promise<Answer>, param?: string][]> {
  const { account } = api;
  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> => api.call('POST', '/v1/agents', { body, headers });
  const get = (url: string, key: string | null = account.live, headers: Record<string, string> = {}): Promise<Answer> => api.call('GET', url, { key, headers });
  const revoked = (await api.call('POST', '/v1/api-keys', { body: { name: 'K', scopes: ['agents:read'] } })).body;
  await api.call('DELETE', `/v1/api-keys/${revoked.id}`);
  const rotated = (await api.call('POST', '/v1/api-keys', { body: { name: 'K', scopes: ['agents:read'] } })).body;
  await api.call('POST', `/v1/api-keys/${rotated.id}/rotate`);
  api.clock.advance(DAY_MS);
  const agent = (await post(AGENT)).body.id;
  await post(AGENT);
  const cursor = (await get('/v1/agents?limit=1')).body.next_cursor;
  await post(AGENT, { 'Idempotency-Key': 'used' });
  await post(AGENT, { 'Idempotency-Key': 'running' });
  await api.context.db.query("UPDATE idempotency SET status = NULL, answer = NULL WHERE key = 'running'");
  return [
    ['missing_parameter', post({ name: 'A' }), 'system_prompt'],
    ['invalid_parameter', post({ ...AGENT, name: '' }), 'name'],
    ['unknown_parameter', post({ ...AGENT, voice: { tts: { pitch: 1 } } }), 'voice.tts.pitch'],
    ['invalid_id', get('/v1/agents/x'), 'id'],
    ['invalid_json', api.call('POST', '/v1/agents', { raw: '{' })],
    ['unsupported_media_type', api.call('POST', '/v1/agents', { raw: '<a/>', headers: { 'content-type': 'application/xml' } })],
    ['body_too_large', post({ ...AGENT, description: 'x'.repeat(1024 * 1024) })],
    ['invalid_cursor', get('/v1/agents?starting_after=x'), 'starting_after'],
    ['conflicting_cursors', get(`/v1/agents?starting_after=${cursor}&ending_before=${cursor}`), 'ending_before'],
    ['invalid_version', get('/v1/agents', account.live, { 'Service-Version': '2026-09-02' }), 'Service-Version'],
    ['missing_api_key', get('/v1/agents', null)],
    ['invalid_api_key', get('/v1/agents', `${account.live}x`)],
    ['revoked_api_key', get('/v1/agents', revoked.secret)],
    ['expired_api_key', get('/v1/agents', rotated.secret)],
    ['missing_scope', get('/v1/agents', await api.newKey(account, ['calls:read']))],
    ['key_mode_mismatch', get(`/v1/agents/${agent}`, account.test), 'id'],
    ['route_not_found', get('/v1/agent')],
    ['method_not_allowed', api.call('PUT', '/v1/agents')],
    ['agent_not_found', get(`/v1/agents/${UNKNOWN}`), 'id'],
    ['knowledge_base_not_found', post({ ...AGENT, knowledge_base_id: UNKNOWN }), 'knowledge_base_id'],
    ['idempotency_key_reused', post({ ...AGENT, name: 'Other' }, { 'Idempotency-Key': 'used' })],
    ['idempotency_in_progress', post(AGENT, { 'Idempotency-Key': 'running' })],
    ['internal_error', get('/v1/broken')],
    ['service_unavailable', get('/v1/away')],
  ];
}

t.test('the general codes, each with its status, type and body', async (t) => {
  const api = await startApiHarness({
    extensions: [(app) => {
      app.get('/v1/broken', { config: { scope: 'any_key' } }, async () => { throw new Error('canary of the inside'); });
      app.get('/v1/away', { config: { scope: 'any_key' } }, async () => { throw Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:5432'), { code: 'ECONNREFUSED' }); });
    }],
  });
  t.teardown(() => api.close());
  for (const [code, answering, param] of await refusals(api)) {
    const { status, headers, body } = await answering;
    const { type, status: expected } = CATALOGUE[code];
    t.equal(status, expected, code);
    t.match(headers['content-type'], /^application\/json/, code);
    t.strictSame(body, { error: { type, code, message: body.error.message, ...(param === undefined ? {} : { param }), doc_url: `http://localhost:8080/docs/errors#${code}`, request_id: headers['request-id'] } }, code);
    t.match(body.error.message, /^\S.{5,}\.$/s, code);
    t.equal('retry-after' in headers, status === 429 || status === 503 || code === 'idempotency_in_progress', `${code}: Retry-After`);
    t.notMatch(JSON.stringify(body), /canary|10\.0\.0\.5|\.ts:/, 'nothing of the inside');
  }
  const { error } = (await api.call('GET', '/v1/agents', { key: await api.newKey(api.account, ['calls:read']) })).body;
  t.match(error.message, 'agents:read', 'a missing scope is named');
});
