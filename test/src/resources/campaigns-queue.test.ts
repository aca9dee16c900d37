import t from 'tap';
import { newId } from '../../../src/db/id.ts';
import { releaseLeads } from '../../../src/resources/campaigns/moves.ts';
import { noteCall, renewLease, settleLapsed, settleLead, type ClaimedLead } from '../../../src/resources/campaigns/queue.ts';
import { campaignRig, COUNTS, HOUR_MS, MINUTE_MS } from './campaigns-rig.ts';

t.test('the queue', async (t) => {
  const rig = await campaignRig();
  t.teardown(() => rig.api.close());
  const { api } = rig;
  const { context } = api;

  await t.test('a list is called to its end', async (t) => {
    const lead_ids = await rig.leads(3);
    const id = await rig.started({ lead_ids });
    const first = await rig.dial(id);
    t.match(first, { leadId: lead_ids[0], phoneNumber: /^\+1415/, attempt: 1, lease: { campaignId: id, node: 'node_a' } });
    t.match((await rig.rows(id))[0], { status: 'in_flight', attempts: 1, last_call_id: first.callId });
    t.match(await rig.get(id), { status: 'running', counts: { ...COUNTS, pending: 2, in_flight: 1 } });
    t.equal(await rig.settle(first, 'conversation', 1500), true);
    t.match((await rig.rows(id))[0], { status: 'completed', outcome: 'conversation', last_call_id: first.callId, next_attempt_at: null });
    const rest = await rig.claim(id, 9);
    t.same(rest.map(({ leadId }) => leadId), lead_ids.slice(1), 'in the order of the list');
    await rig.settle(rest[0] as ClaimedLead, 'voicemail', 500);
    t.same(rig.completions(id), []);
    api.clock.advance(1000);
    await rig.settle(rest[1] as ClaimedLead, 'no_answer');
    const done = await rig.get(id);
    t.match(done, { status: 'completed', completed_at: new Date(api.clock.now()).toISOString(), cost_micros: 2000, counts: { ...COUNTS, completed: 2, failed: 1 } });
    t.match(rig.completions(id), [{ accountId: api.account.id, livemode: true, eventKey: `campaignCompleted:${id}` }]);
    t.same(rig.completions(id)[0]?.data, done, 'with the campaign as its GET shows it');
    t.same(await rig.claim(id, 9), []);
    for (const move of ['start', 'resume', 'stop'] as const) t.match(await rig.move(id, move), { status: 409, body: { error: { code: 'invalid_campaign_state' } } }, move);
    t.match(await rig.move(id, 'pause'), { status: 200, body: { status: 'completed', paused_reason: null } });
    t.equal(rig.completions(id).length, 1);
  });

  await t.test('nothing is claimed but from a running campaign', async (t) => {
    const { id } = await rig.campaign({ scheduled_at: new Date(api.clock.now() + HOUR_MS).toISOString() });
    t.same(await rig.claim(id), []);
    await rig.move(id, 'pause');
    t.same(await rig.claim(id), []);
    await rig.move(id, 'stop');
    t.same(await rig.claim(id), []);
    t.same(await rig.claim(newId()), []);
    await rig.move(id, 'start');
    t.equal((await rig.claim(id)).length, 1);
  });

  await t.test('claimers never get the same lead', async (t) => {
    const lead_ids = await rig.leads(60);
    const id = await rig.started({ lead_ids, max_concurrent_calls: 500 });
    const claims = await Promise.all(Array.from({ length: 30 }, (_, n) => rig.claim(id, 1 + (n % 4), `node_${n % 3}`)));
    const leads = claims.flat().map(({ leadId }) => leadId);
    t.equal(new Set(leads).size, leads.length);
    t.same([...leads].sort(), [...lead_ids].sort(), 'and none is left out');
    t.match(await rig.get(id), { counts: { ...COUNTS, in_flight: 60 } });
    await Promise.all(claims.flat().map((claimed) => rig.settle(claimed, 'conversation')));
    t.match(await rig.get(id), { status: 'completed', counts: { ...COUNTS, completed: 60 } });
    t.equal(rig.completions(id).length, 1, 'completed once, whoever settled last');
  });

  await t.test('limits: at once, and in a minute', async (t) => {
    const at = await rig.started({ lead_ids: await rig.leads(6), max_concurrent_calls: 2 });
    const claims = (await Promise.all([rig.claim(at, 5), rig.claim(at, 5), rig.claim(at, 5)])).flat();
    t.equal(claims.length, 2);
    await rig.settle(claims[0] as ClaimedLead, 'conversation');
    t.equal((await rig.claim(at, 5)).length, 1);

    const paced = await rig.started({ lead_ids: await rig.leads(9), calls_per_minute: 3, max_concurrent_calls: 9 });
    t.equal((await rig.claim(paced, 2)).length, 2);
    api.clock.advance(30_000);
    t.equal((await rig.claim(paced, 9)).length, 1);
    api.clock.advance(29_999);
    t.equal((await rig.claim(paced, 9)).length, 0);
    api.clock.advance(1);
    t.equal((await rig.claim(paced, 9)).length, 2, 'those of a minute ago no longer count');
  });

  await t.test('do_not_call and deleted leads are skipped', async (t) => {
    const [fine = '', gone = ''] = await rig.leads(2);
    const refused = await rig.leads(2, { doNotCall: true });
    const id = await rig.started({ lead_ids: [...refused, gone, fine] });
    await api.call('DELETE', `/v1/leads/${gone}`);
    t.same((await rig.claim(id)).map(({ leadId }) => leadId), [fine], 'the claim goes past them');
    t.match(await rig.rows(id), [{ status: 'skipped', outcome: 'do_not_call', attempts: 0 }, { status: 'skipped', outcome: 'do_not_call' }, { status: 'skipped', outcome: 'lead_deleted' }, { status: 'in_flight' }]);
    t.match(await rig.get(id), { counts: { ...COUNTS, in_flight: 1, skipped: 3 } });
    const all = await rig.started({ lead_ids: await rig.leads(60, { doNotCall: true }) });
    t.same(await rig.claim(all), []);
    t.match(await rig.get(all), { status: 'completed', counts: { ...COUNTS, skipped: 60 } }, 'a list of nobody else is done');
    t.equal(rig.completions(all).length, 1);
  });

  await t.test('what changes between the claim and the call', async (t) => {
    const [asked = '', gone = '', fine = ''] = await rig.leads(3);
    const now = new Date(api.clock.now());
    const end = `${String((now.getUTCHours() + 1) % 24).padStart(2, '0')}:00`;
    const start = `${String(now.getUTCHours()).padStart(2, '0')}:00`;
    const id = await rig.started({ lead_ids: [asked, gone, fine], calling_hours: { timezone: 'UTC', start, end } });
    const claims = await rig.claim(id, 3);
    await api.call('PATCH', `/v1/leads/${asked}`, { body: { do_not_call: true } });
    await api.call('DELETE', `/v1/leads/${gone}`);
    api.clock.advance(HOUR_MS);
    for (const { lease } of claims) t.equal(await noteCall(context, lease, newId()), false);
    t.match(await rig.rows(id), [{ status: 'skipped', outcome: 'do_not_call', attempts: 0 }, { status: 'skipped', outcome: 'lead_deleted' }, { status: 'pending', attempts: 0, last_call_id: null }]);
    t.match(await rig.get(id), { status: 'running', counts: { ...COUNTS, pending: 1, skipped: 2 } }, 'the hours ended');
  });

  await t.test('another attempt after the wait', async (t) => {
    const lead_ids = await rig.leads(2);
    const id = await rig.started({ lead_ids, retry: { max_attempts: 3, interval_minutes: 10, on: ['busy', 'failed'] }, failure_breaker: null });
    await rig.settle(await rig.dial(id), 'busy');
    t.match((await rig.rows(id))[0], { status: 'pending', attempts: 1, outcome: 'busy', next_attempt_at: new Date(api.clock.now() + 10 * MINUTE_MS).toISOString() });
    t.match((await rig.dial(id)).leadId, lead_ids[1]);
    api.clock.advance(10 * MINUTE_MS - 1);
    t.same(await rig.claim(id), []);
    api.clock.advance(1);
    const second = await rig.dial(id);
    t.match(second, { leadId: lead_ids[0], attempt: 2 });
    await rig.settle(second, 'failed');
    api.clock.advance(10 * MINUTE_MS);
    await rig.settle(await rig.dial(id), 'busy');
    t.match((await rig.rows(id))[0], { status: 'failed', attempts: 3, outcome: 'busy', next_attempt_at: null });

    const again = await rig.started({ lead_ids: await rig.leads(3), retry: { max_attempts: 2, interval_minutes: 1, on: ['no_answer'] } });
    const tried = await rig.dial(again);
    await rig.settle(tried, 'no_answer');
    api.clock.advance(MINUTE_MS);
    t.equal((await rig.dial(again)).leadId, tried.leadId, 'who waits goes before who was never called');
  });

  await t.test('calling hours', async (t) => {
    // The clock stands at Saturday noon, UTC, and a little: later parts go on from there.
    const now = new Date(api.clock.now());
    const hour = (offset: number): string => `${String((now.getUTCHours() + offset + 24) % 24).padStart(2, '0')}:00`;
    const closed = await rig.started({ calling_hours: { timezone: 'UTC', start: hour(2), end: hour(4) } });
    t.same(await rig.claim(closed), []);
    t.match(await rig.rows(closed), [{ status: 'pending', next_attempt_at: null }]);
    const open = await rig.started({ calling_hours: { timezone: 'UTC', start: hour(0), end: hour(2) } });
    t.equal((await rig.claim(open)).length, 1);
    const ofAgent = await rig.started({ calling_hours: { start: hour(1), end: hour(2) } });
    t.equal((await rig.claim(ofAgent)).length, 1, 'Berlin is an hour ahead');

    const [near] = await rig.leads(1, { timezone: 'UTC' });
    const far = await rig.leads(1100, { timezone: 'Asia/Tokyo' });
    const own = await rig.started({ lead_ids: [...far, near], calling_hours: { timezone: 'lead', start: hour(0), end: hour(2) } });
    t.same((await rig.claim(own)).map(({ leadId }) => leadId), [near], 'a claim goes past a whole zone that sleeps');
    const opening = new Date(Math.floor(api.clock.now() / HOUR_MS) * HOUR_MS + 15 * HOUR_MS);
    t.match((await rig.rows(own))[0], { status: 'pending', attempts: 0, next_attempt_at: opening.toISOString() }, 'it waits for its own morning');
    t.match(await rig.get(own), { counts: { ...COUNTS, pending: 1100, in_flight: 1 } });
    await rig.move(own, 'stop');
    await api.call('PATCH', `/v1/campaigns/${own}`, { body: { calling_hours: null } });
    t.match((await rig.rows(own))[0], { next_attempt_at: null }, 'without hours nobody waits for them');
    await rig.move(own, 'start');
    t.equal((await rig.claim(own)).length, 1);

    const retried = await rig.started({ lead_ids: await rig.leads(1, { timezone: 'UTC' }), retry: { max_attempts: 2, interval_minutes: 200, on: ['busy'] }, calling_hours: { timezone: 'lead', start: hour(0), end: hour(2) } });
    await rig.settle(await rig.dial(retried), 'busy');
    api.clock.advance(200 * MINUTE_MS);
    t.same(await rig.claim(retried), [], 'a retry that falls outside waits too');
    t.match((await rig.rows(retried))[0], { status: 'pending', attempts: 1 });
    t.ok(String((await rig.rows(retried))[0]?.['next_attempt_at']) > new Date(api.clock.now()).toISOString());
  });

  await t.test('a lease fences', async (t) => {
    const id = await rig.started({ lead_ids: await rig.leads(2), retry: { max_attempts: 2, interval_minutes: 1, on: ['busy'] } });
    const first = await rig.dial(id);
    for (const lease of [{ ...first.lease, node: 'node_b' }, { ...first.lease, claim: newId() }, { ...first.lease, leadId: newId() }, { ...first.lease, campaignId: newId() }]) {
      t.equal(await settleLead(context, lease, { result: 'conversation' }), false, 'of nobody else');
      t.equal(await noteCall(context, lease, newId()), false);
      t.equal(await renewLease(context.db, lease, new Date()), false);
    }
    const both = await Promise.all([rig.settle(first, 'busy', 7), rig.settle(first, 'busy', 7)]);
    t.equal(both.filter((settled) => settled).length, 1, 'settled once');
    t.match(await rig.get(id), { cost_micros: 7, counts: { ...COUNTS, pending: 2 } });
    await releaseLeads(context, id, [first.lease]);
    t.match(await rig.get(id), { counts: { ...COUNTS, pending: 2 } }, 'what is not held is not released');
    api.clock.advance(MINUTE_MS);
    const again = await rig.dial(id);
    t.equal(again.leadId, first.leadId);
    t.equal(await rig.settle(first, 'conversation'), false, 'the old lease of the same node neither');
  });
});

t.test('a lease that ran out: failed, unknown, and never called again', async (t) => {
  const rig = await campaignRig();
  t.teardown(() => rig.api.close());
  const { api } = rig;
  const { context } = api;
  const id = await rig.started({ lead_ids: await rig.leads(2), retry: { max_attempts: 5, interval_minutes: 1, on: ['busy', 'no_answer', 'voicemail', 'failed'] } });
  const [lost, kept] = [await rig.dial(id, 'node_dead'), await rig.dial(id, 'node_alive')];
  api.clock.advance(4 * MINUTE_MS);
  t.equal(await renewLease(context.db, kept.lease, new Date(api.clock.now() + 5 * MINUTE_MS)), true);
  t.equal(await settleLapsed(context), 0);
  api.clock.advance(MINUTE_MS);
  t.same(await rig.claim(id), []);
  t.same((await Promise.all([settleLapsed(context), settleLapsed(context)])).sort((a, b) => a - b), [0, 1], 'reported once');
  t.match((await rig.rows(id))[0], { status: 'failed', outcome: 'unknown', attempts: 1, last_call_id: lost.callId, next_attempt_at: null });
  t.equal(await rig.settle(lost, 'conversation'), false, 'it comes too late');
  api.clock.advance(HOUR_MS);
  t.same(await rig.claim(id), []);
  t.match(await rig.get(id), { status: 'running', counts: { ...COUNTS, in_flight: 1, failed: 1 } });
  t.equal(await settleLapsed(context), 1);
  t.match(await rig.get(id), { status: 'completed', counts: { ...COUNTS, failed: 2 } }, 'the end of the last one ends the list');
  t.equal(rig.completions(id).length, 1);
  const stopped = await rig.started();
  await rig.dial(stopped);
  await rig.move(stopped, 'stop');
  api.clock.advance(HOUR_MS);
  t.equal(await settleLapsed(context), 1);
  t.match(await rig.get(stopped), { status: 'stopped', counts: { ...COUNTS, failed: 1 } });
});
