import t from 'tap';
import { startApiHarness } from '../../support/api-harness.ts';
import { AGENT } from '../../support/examples/agents.ts';

t.test('every filter of the list of calls', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const agents: string[] = [];
  for (let n = 0; n < 2; n++) agents.push((await api.call('POST', '/v1/agents', { body: AGENT })).body.id);
  const startMs = api.clock.now();
  const calls: string[] = [];
  for (const agent_id of [agents[0], agents[1], agents[0]]) {
    calls.push((await api.call('POST', '/v1/realtime/sessions', { body: { agent_id } })).body.call_id);
    api.clock.advance(60_000);
  }
  const [first, second, third] = calls as [string, string, string];
  const { db } = api.context;
  await db.query("UPDATE call SET lead_id = $2, campaign_id = $3, from_address = '+14155550101', to_address = '+14155550102' WHERE id = $1", [second, 'a'.repeat(24), 'b'.repeat(24)]);
  await db.query("UPDATE call SET status = 'completed', ended_at = created_at WHERE id = $1", [third]);
  const at = (minutes: number): string => encodeURIComponent(new Date(startMs + minutes * 60_000).toISOString());
  for (const [query, expected] of [
    ['', [third, second, first]], [`agent_id=${agents[0]}`, [third, first]], ['status=queued', [second, first]], ['status=completed', [third]], ['status=busy', []],
    ['direction=realtime', [third, second, first]], ['direction=outbound', []], [`lead_id=${'a'.repeat(24)}`, [second]], [`campaign_id=${'b'.repeat(24)}`, [second]],
    ['from=%2B14155550101', [second]], ['to=%2B14155550102', [second]], ['to=%2B14155550101', []],
    [`created_after=${at(1)}`, [third, second]], [`created_before=${at(1)}`, [first]], [`created_after=${at(1)}&created_before=${at(2)}`, [second]], [`created_after=${at(3)}`, []],
    [`status=queued&agent_id=${agents[0]}&created_before=${at(9)}`, [first]],
  ] as const) t.same((await api.call('GET', `/v1/calls?${query}`)).body.data.map(({ id }: { id: string }) => id), expected, query);
  for (const query of ['status=talking', 'direction=sideways', 'agent_id=x', 'lead_id=x', 'campaign_id=x', 'from=', 'to=', 'created_after=yesterday', 'created_before=2026-11-21']) {
    t.match(await api.call('GET', `/v1/calls?${query}`), { status: 400, body: { error: { param: query.split('=', 1)[0] } } }, query);
  }
});
