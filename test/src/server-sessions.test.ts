import t from 'tap';
import { rateLimits } from '../../src/api/rate-limit.ts';
import { serverSessions } from '../../src/server-sessions.ts';
import { startApiHarness } from '../support/api-harness.ts';
import { made } from '../support/examples/example.ts';
import { AGENT } from '../support/examples/agents.ts';

t.test('a server opens sessions with its key, no faster than it may place calls', async (t) => {
  const api = await startApiHarness({ rateLimits: { ...rateLimits(), call: { perSecond: 1, burst: 2 }, public: { perSecond: 1, burst: 2 } } });
  t.teardown(() => api.close());
  const open = serverSessions(api.context);
  const agent = await made(api, api.account.live, '/v1/agents', AGENT);
  const bearer = `Bearer ${api.account.live}`;
  t.match(await open(bearer, agent), { sessionId: /^[0-9a-f]{24}$/, secret: String });
  t.same(await open(bearer, 'f'.repeat(24)), { status: 404 });
  t.same(await open(bearer, agent), { status: 429 });
  api.clock.advance(1000);
  t.match(await open(bearer, agent), { sessionId: String });
  const reader = await api.newKey(api.account, ['calls:read']);
  t.same(await open(`Bearer ${reader}`, agent), { status: 403 });
  for (const status of [401, 401, 429]) t.same(await open('Bearer wv_live_wrong', agent), { status });
});
