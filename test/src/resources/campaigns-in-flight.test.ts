import t from 'tap';
import { newId } from '../../../src/db/id.ts';
import { haltCampaign, releaseLeads } from '../../../src/resources/campaigns/moves.ts';
import { noteCall, settleLapsed, type ClaimedLead } from '../../../src/resources/campaigns/queue.ts';
import { campaignRig, COUNTS } from './campaigns-rig.ts';

t.test('calls in flight and moves', async (t) => {
  const rig = await campaignRig();
  t.teardown(() => rig.api.close());
  const { api } = rig;
  const { context } = api;

  await t.test('a pause hangs up and puts back', async (t) => {
    const id = await rig.started({ lead_ids: await rig.leads(4) });
    const [one, two] = [await rig.dial(id), await rig.dial(id)];
    const [claimed] = await rig.claim(id);
    const seen: string[] = [];
    api.liveCalls.onHangUp = async (callId) => { seen.push(`${callId} ${String((await rig.get(id))['status'])}`); };
    const answer = await rig.move(id, 'pause');
    t.match(answer, { status: 200, body: { status: 'paused', paused_reason: 'requested', counts: { ...COUNTS, pending: 4 } } });
    t.same(seen.sort(), [`${one.callId} paused`, `${two.callId} paused`], 'once the pause is committed');
    t.match((await rig.rows(id))[0], { status: 'pending', attempts: 0, last_call_id: one.callId }, 'the attempt does not count');
    t.equal(await noteCall(context, (claimed as ClaimedLead).lease, newId()), false, 'what was only claimed is not dialled any more');
    t.equal(await rig.settle(one, 'conversation'), false);
    await rig.move(id, 'resume');
    t.match(await rig.dial(id), { leadId: one.leadId, attempt: 1 });
    api.liveCalls.onHangUp = () => Promise.resolve();
  });

  await t.test('a call that another node has, or that cannot be hung up, stays in flight', async (t) => {
    const id = await rig.started({ lead_ids: await rig.leads(2) });
    const call = await rig.dial(id);
    const { hangUp } = api.liveCalls;
    api.liveCalls.hangUp = () => Promise.resolve(false);
    t.match(await rig.move(id, 'pause'), { status: 200, body: { status: 'paused', counts: { ...COUNTS, pending: 1, in_flight: 1 } } });
    t.match(await context.db.query('SELECT hang_up FROM campaign_lead WHERE campaign_id = $1 AND position = 0', [id]), [{ hang_up: true }], 'that node is told');
    api.liveCalls.hangUp = () => Promise.reject(new Error('gone'));
    t.match(await rig.move(id, 'pause'), { status: 200, body: { counts: { in_flight: 1 } } });
    api.liveCalls.hangUp = hangUp.bind(api.liveCalls);
    await releaseLeads(context, id, [call.lease]);
    t.match(await rig.get(id), { status: 'paused', counts: { ...COUNTS, pending: 2 } });
  });

  await t.test('a stop lets them finish; a pause afterwards does not', async (t) => {
    const id = await rig.started({ lead_ids: await rig.leads(4) });
    const [one, two] = [await rig.dial(id), await rig.dial(id)];
    const [claimed] = await rig.claim(id);
    const before = api.liveCalls.hungUp.length;
    t.match(await rig.move(id, 'stop'), { body: { status: 'stopped', counts: { ...COUNTS, pending: 2, in_flight: 2 } } });
    t.equal(api.liveCalls.hungUp.length, before);
    t.equal(await noteCall(context, (claimed as ClaimedLead).lease, newId()), false);
    await rig.settle(one, 'conversation');
    t.match(await rig.get(id), { status: 'stopped', counts: { ...COUNTS, pending: 2, in_flight: 1, completed: 1 } });
    t.match(await rig.move(id, 'pause'), { status: 200, body: { status: 'stopped', paused_reason: null, counts: { ...COUNTS, pending: 3, completed: 1 } } });
    t.same(api.liveCalls.hungUp.slice(before), [two.callId]);
  });

  await t.test('its last call may end while it is stopped: the next start completes it', async (t) => {
    const id = await rig.started();
    const call = await rig.dial(id);
    await rig.move(id, 'stop');
    await rig.settle(call, 'conversation');
    t.match(await rig.get(id), { status: 'stopped', completed_at: null });
    t.same(rig.completions(id), []);
    t.match(await rig.move(id, 'start'), { status: 200, body: { status: 'completed' } });
    t.equal(rig.completions(id).length, 1);
  });

  await t.test('a call noted after the pause is refused and its lead put back', async (t) => {
    const id = await rig.started();
    const [claimed] = await rig.claim(id);
    await context.db.query("UPDATE campaign SET status = 'paused' WHERE id = $1", [id]);
    t.equal(await noteCall(context, (claimed as ClaimedLead).lease, newId()), false);
    t.match(await rig.get(id), { counts: { ...COUNTS, pending: 1 } });
  });

  await t.test('deleting one whose calls go on', async (t) => {
    const id = await rig.started();
    const call = await rig.dial(id);
    await rig.move(id, 'stop');
    t.equal((await api.call('DELETE', `/v1/campaigns/${id}`)).status, 200);
    t.equal(await rig.settle(call, 'conversation'), false);
    t.equal(await settleLapsed(context), 0);
  });

  await t.test('pauses that nobody asked for', async (t) => {
    for (const reason of ['insufficient_credits', 'failure_breaker', 'agent_deleted', 'no_trunk', 'cost_limit'] as const) {
      const id = await rig.started({ lead_ids: await rig.leads(3) });
      const call = await rig.dial(id);
      await rig.claim(id);
      await haltCampaign(context, id, reason);
      t.match(await rig.get(id), { status: 'paused', paused_reason: reason, counts: { ...COUNTS, pending: 2, in_flight: 1 } }, reason);
      await haltCampaign(context, id, 'no_trunk');
      t.match(await rig.get(id), { paused_reason: reason }, 'the first reason stays');
      t.equal(await rig.settle(call, 'conversation'), true, 'calls go on to their end');
      t.match(await rig.move(id, 'resume'), { body: { status: 'running', paused_reason: null } });
    }
    const { id } = await rig.campaign();
    await haltCampaign(context, id, 'no_trunk');
    t.match(await rig.get(id), { status: 'idle', paused_reason: null });
    await haltCampaign(context, newId(), 'no_trunk');
  });

  await t.test('too many calls failed', async (t) => {
    const id = await rig.started({ lead_ids: await rig.leads(9), failure_breaker: { failure_pct: 50, window_calls: 4 }, max_concurrent_calls: 9 });
    const calls = await rig.claim(id, 5);
    for (const [index, result] of (['failed', 'busy', 'failed', 'conversation'] as const).entries()) {
      t.match(await rig.get(id), { status: 'running' });
      await rig.settle(calls[index] as ClaimedLead, result);
    }
    t.match(await rig.get(id), { status: 'paused', paused_reason: 'failure_breaker', counts: { pending: 5, in_flight: 0 } }, 'what was claimed meanwhile is put back');
    await rig.move(id, 'resume');
    await rig.settle(await rig.dial(id), 'failed');
    t.match(await rig.get(id), { status: 'running' }, 'it begins to count again');
  });

  await t.test('it cost too much', async (t) => {
    const id = await rig.started({ lead_ids: await rig.leads(4), max_cost_micros: 1000 });
    await rig.settle(await rig.dial(id), 'conversation', 999);
    t.match(await rig.get(id), { status: 'running', cost_micros: 999 });
    await rig.settle(await rig.dial(id), 'conversation', 1);
    t.match(await rig.get(id), { status: 'paused', paused_reason: 'cost_limit', cost_micros: 1000 });
    await rig.move(id, 'resume');
    t.same(await rig.claim(id), [], 'not a call more');
    t.match(await rig.get(id), { status: 'paused', paused_reason: 'cost_limit' });
    await api.call('PATCH', `/v1/campaigns/${id}`, { body: { max_cost_micros: 5000 } });
    await rig.move(id, 'resume');
    await rig.dial(id);
    const last = await rig.started({ max_cost_micros: 1 });
    await rig.settle(await rig.dial(last), 'conversation', 5);
    t.match(await rig.get(last), { status: 'completed' }, 'a list that is done is done');
  });

  await t.test('its agent is gone', async (t) => {
    const id = await rig.started();
    await context.db.query('UPDATE agent SET deleted_at = now() WHERE id = $1', [rig.agentId]);
    t.same(await rig.claim(id), []);
    t.match(await rig.get(id), { status: 'paused', paused_reason: 'agent_deleted' });
    await context.db.query('UPDATE agent SET deleted_at = NULL WHERE id = $1', [rig.agentId]);
  });
});
