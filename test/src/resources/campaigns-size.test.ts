import t from 'tap';
import { campaignRig, COUNTS } from './campaigns-rig.ts';

t.test('100 000 leads', async (t) => {
  const rig = await campaignRig();
  t.teardown(() => rig.api.close());
  const { api, agentId } = rig;
  const lead_ids = await rig.leads(100_000, { tags: ['all'] });
  const made = await api.call('POST', '/v1/campaigns', { body: { name: 'Everybody', agent_id: agentId, lead_ids } });
  t.match(made, { status: 201, body: { lead_count: 100_000, counts: { ...COUNTS, pending: 100_000 } } }, '2.7 MB of ids');
  t.match(await api.call('POST', '/v1/campaigns', { body: { name: 'C', agent_id: agentId, lead_filter: { tags: ['all'] } } }), { status: 201, body: { lead_count: 100_000 } });
  const [extra = ''] = await rig.leads(1, { tags: ['all'] });
  t.match(await api.call('POST', '/v1/campaigns', { body: { name: 'C', agent_id: agentId, lead_ids: [...lead_ids, extra] } }), { status: 400, body: { error: { code: 'invalid_parameter', param: 'lead_ids' } } });
  t.match(await api.call('POST', '/v1/campaigns', { body: { name: 'C', agent_id: agentId, lead_filter: { tags: ['all'] } } }), { status: 400, body: { error: { code: 'invalid_parameter', param: 'lead_filter' } } });
  const padded = JSON.stringify({ name: 'C', agent_id: agentId, lead_ids: [extra] });
  t.equal((await api.call('POST', '/v1/campaigns', { raw: padded + ' '.repeat(4 * 1024 * 1024 - padded.length) })).status, 201, '4 MiB');
  t.match(await api.call('POST', '/v1/campaigns', { raw: padded + ' '.repeat(4 * 1024 * 1024 - padded.length + 1) }), { status: 413, body: { error: { code: 'body_too_large' } } }, 'and a byte more');

  const { id } = made.body;
  const plan = await api.context.db.query<{ 'QUERY PLAN': string }>(`EXPLAIN SELECT position FROM campaign_lead WHERE campaign_id = '${id}' AND position > 99000 ORDER BY position LIMIT 21`);
  t.notMatch(JSON.stringify(plan), /Seq Scan/, 'a deep page is read through an index');
  await rig.move(id, 'start');
  t.equal((await rig.claim(id, 5)).length, 5);
  t.match((await api.call('GET', '/v1/campaigns')).body.data.find((one: { id: string }) => one.id === id), { counts: { pending: 99_995, in_flight: 5 } });
  await rig.move(id, 'stop');
  t.equal((await api.call('DELETE', `/v1/campaigns/${id}`)).status, 200);
});
