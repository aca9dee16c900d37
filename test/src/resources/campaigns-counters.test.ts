import fc from 'fast-check';
import t from 'tap';
import { newId } from '../../../src/db/id.ts';
import { ATTEMPT_RESULTS } from '../../../src/resources/campaigns/attempt.ts';
import { haltCampaign } from '../../../src/resources/campaigns/moves.ts';
import { noteCall, settleLapsed, type ClaimedLead } from '../../../src/resources/campaigns/queue.ts';
import { campaignRig, COUNTS, MINUTE_MS } from './campaigns-rig.ts';

t.test('the counters are what the rows say, whatever happens', async (t) => {
  const rig = await campaignRig();
  t.teardown(() => rig.api.close());
  const { api } = rig;
  const { context } = api;
  const step = fc.oneof(
    fc.record({ kind: fc.constant('claim' as const), most: fc.integer({ min: 1, max: 4 }), note: fc.boolean() }),
    fc.record({ kind: fc.constant('settle' as const), result: fc.constantFrom(...ATTEMPT_RESULTS) }),
    fc.record({ kind: fc.constantFrom('start' as const, 'pause' as const, 'resume' as const, 'stop' as const) }),
    fc.record({ kind: fc.constantFrom('wait' as const, 'lapse' as const, 'halt' as const, 'forbid' as const) }),
  );
  const check = async (id: string): Promise<void> => {
    const rows = await context.db.query<{ status: string; count: number }>('SELECT status, count(*) AS count FROM campaign_lead WHERE campaign_id = $1 GROUP BY status', [id]);
    const counts = { ...COUNTS, ...Object.fromEntries(rows.map(({ status, count }) => [status, count])) };
    const campaign = await rig.get(id);
    if (JSON.stringify(campaign['counts']) !== JSON.stringify(counts)) throw new Error(`${JSON.stringify(campaign['counts'])} is not ${JSON.stringify(counts)}`);
    const left = counts.pending + counts.in_flight;
    if (campaign['status'] === 'running' && left === 0) throw new Error('it runs with nobody left');
    if (campaign['status'] === 'completed' && left > 0) throw new Error('it is completed with somebody left');
    if (rig.completions(id).length !== (campaign['status'] === 'completed' ? 1 : 0)) throw new Error('completed, and told so, once');
  };
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 20 }), async (steps) => {
    const id = await rig.started({ lead_ids: await rig.leads(6), max_concurrent_calls: 4, retry: { max_attempts: 2, interval_minutes: 1, on: ['busy', 'failed'] }, failure_breaker: { window_calls: 5 } });
    const held: ClaimedLead[] = [];
    for (const one of steps) {
      if (one.kind === 'claim') {
        const claimed = await rig.claim(id, one.most);
        if (one.note) for (const { lease } of claimed) await noteCall(context, lease, newId());
        held.push(...claimed);
      } else if (one.kind === 'settle') {
        await Promise.all(held.splice(0, 2).map((claimed) => rig.settle(claimed, one.result)));
      } else if (one.kind === 'wait') api.clock.advance(MINUTE_MS);
      else if (one.kind === 'lapse') {
        api.clock.advance(6 * MINUTE_MS);
        await Promise.all([settleLapsed(context), ...held.slice(0, 1).map((claimed) => rig.settle(claimed, 'conversation'))]);
      } else if (one.kind === 'halt') await haltCampaign(context, id, 'no_trunk');
      else if (one.kind === 'forbid') await context.db.query("UPDATE lead SET do_not_call = true WHERE id IN (SELECT lead_id FROM campaign_lead WHERE campaign_id = $1 AND status = 'pending' LIMIT 1)", [id]);
      else await rig.move(id, one.kind);
    }
    await check(id);
  }), { numRuns: 15 });
  t.pass('15 random lives');
});
