import { request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { settleLead } from '../../../src/resources/campaigns/queue.ts';
import { until } from '../../support/until.ts';
import { campaignRig, COUNTS, type CampaignRig } from './campaigns-rig.ts';

interface Told { event: string; data: Record<string, unknown> }
interface Watching { told: Told[]; text(): string; ended: Promise<void>; isOpen(): boolean; leave(): void; response: IncomingMessage }

const SECOND_MS = 1000;

/** Opens the stream as a client does, over a socket. */
function watch(rig: CampaignRig, id: string, key = rig.api.account.live): Promise<Watching> {
  const { port } = rig.api.app.server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const asking = request({ port, host: '127.0.0.1', path: `/v1/campaigns/${id}/events`, headers: { authorization: `Bearer ${key}` } }, (response) => {
      const told: Told[] = [];
      let text = '';
      let read = 0;
      let open = true;
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        for (let end = text.indexOf('\n\n', read); end >= 0; end = text.indexOf('\n\n', read)) {
          const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(text.slice(read, end)) ?? [];
          if (event !== undefined && data !== undefined) told.push({ event, data: JSON.parse(data) as Record<string, unknown> });
          read = end + 2;
        }
      });
      const ended = new Promise<void>((done) => { response.once('close', () => { open = false; done(); }); });
      response.on('error', () => undefined);
      resolve({ told, text: () => text, ended, isOpen: () => open, leave: () => asking.destroy(), response });
    });
    asking.on('error', reject);
    asking.end();
  });
}

t.test('events of a campaign', async (t) => {
  const rig = await campaignRig();
  t.teardown(() => rig.api.close());
  const { api } = rig;
  await api.app.listen({ port: 0, host: '127.0.0.1' });
  /** Lets the pause between messages pass, as often as it takes. */
  const told = (watching: Watching, count: number): Promise<Told[]> => until(`${count} messages`, 5000, () => {
    api.clock.advance(SECOND_MS / 4);
    return watching.told.length >= count && watching.told;
  }, () => watching.text());

  await t.test('progress from the connection to the end', async (t) => {
    const id = await rig.started({ lead_ids: await rig.leads(2) });
    const one = await watch(rig, id);
    t.match(one.response, { statusCode: 200, headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no' } });
    t.same(await told(one, 1), [{ event: 'progress', data: { campaign_id: id, status: 'running', paused_reason: null, lead_count: 2, counts: { ...COUNTS, pending: 2 } } }], 'at once');
    const first = await rig.dial(id);
    t.match((await told(one, 2))[1], { event: 'progress', data: { counts: { pending: 1, in_flight: 1 } } });
    await rig.move(id, 'stop');
    t.match((await told(one, 3))[2], { event: 'progress', data: { status: 'stopped' } });
    await settleLead(api.context, first.lease, { result: 'busy' });
    t.match((await told(one, 4))[3], { event: 'progress', data: { counts: { pending: 1, failed: 1 } } });
    await rig.move(id, 'start');
    await told(one, 5);
    const last = await rig.dial(id);
    await told(one, 6);
    await settleLead(api.context, last.lease, { result: 'conversation' });
    const [progress, completed] = (await told(one, 8)).slice(6);
    t.match(progress, { event: 'progress', data: { status: 'completed', counts: { completed: 1, failed: 1 } } });
    t.same(completed, { event: 'completed', data: progress?.data });
    await one.ended;
    t.equal(one.told.length, 8, 'nothing after that');

    const late = await watch(rig, id);
    await late.ended;
    t.same(late.told.map(({ event }) => event), ['progress', 'completed'], 'a completed one says so');
  });

  await t.test('at most four messages a second, the last with everything', async (t) => {
    const id = await rig.started({ lead_ids: await rig.leads(10), max_concurrent_calls: 10 });
    const one = await watch(rig, id);
    await until('the first', 5000, () => one.told.length === 1);
    for (let n = 0; n < 10; n++) await rig.dial(id);
    api.clock.advance(SECOND_MS / 4 - 1);
    // Another stream, opened after all that, is told: so is the database's notice.
    const two = await watch(rig, id);
    await until('the other\'s', 5000, () => two.told.length === 1);
    t.equal(one.told.length, 1, 'not before a quarter of a second');
    const [, second] = await told(one, 2);
    t.match(second, { data: { counts: { pending: 0, in_flight: 10 } } }, 'ten changes, one message');
    two.leave();
    one.leave();
  });

  await t.test('a change by anybody is heard through the database', async (t) => {
    const id = await rig.started();
    const one = await watch(rig, id);
    await told(one, 1);
    await api.context.db.query('UPDATE campaign SET skipped = 1, pending = 0 WHERE id = $1', [id]);
    await api.context.db.query("SELECT pg_notify('wirevoice_campaign', $1)", [id]);
    t.match((await told(one, 2))[1], { data: { counts: { skipped: 1, pending: 0 } } });
    one.leave();
  });

  await t.test('a comment now and then', async (t) => {
    const { id } = await rig.campaign();
    const one = await watch(rig, id);
    await told(one, 1);
    const comments = (): number => one.text().match(/^: /gm)?.length ?? 0;
    const before = comments();
    api.clock.advance(15 * SECOND_MS);
    await until('a comment', 5000, () => comments() > before);
    api.clock.advance(15 * SECOND_MS);
    await until('another', 5000, () => comments() > before + 1);
    t.equal(one.told.length, 1);
    one.leave();
  });

  await t.test('a bounded number for each account', async (t) => {
    const { id } = await rig.campaign();
    // Earlier clients are gone once the server has noticed.
    const streams: Watching[] = [];
    await until('twenty streams', 5000, async () => {
      const one = await watch(rig, id);
      if (one.response.statusCode === 200) streams.push(one);
      return streams.length === 20;
    });
    const refused = await watch(rig, id);
    t.match(refused.response, { statusCode: 429, headers: { 'retry-after': '1' } });
    await refused.ended;
    t.match(JSON.parse(refused.text()), { error: { type: 'rate_limit_error', code: 'rate_limited' } });
    streams.pop()?.leave();
    await until('a free place', 5000, async () => {
      const one = await watch(rig, id);
      if (one.response.statusCode === 200) streams.push(one);
      return streams.length === 20;
    });
    for (const stream of streams) stream.leave();
  });

  await t.test('deleted while watched', async (t) => {
    const { id } = await rig.campaign();
    const one = await until('a place', 5000, async () => {
      const stream = await watch(rig, id);
      return stream.response.statusCode === 200 && stream;
    });
    await told(one, 1);
    await api.call('DELETE', `/v1/campaigns/${id}`);
    await until('the end', 5000, () => {
      api.clock.advance(SECOND_MS);
      return !one.isOpen();
    });
    t.same(one.told.length, 1);
  });

  await t.test('who may watch', async (t) => {
    const { id } = await rig.campaign();
    const stranger = await api.newAccount();
    t.match(await api.call('GET', `/v1/campaigns/${id}/events`, { key: stranger.live }), { status: 404, body: { error: { code: 'campaign_not_found' } } });
    t.match(await api.call('GET', `/v1/campaigns/${id}/events`, { key: api.account.test }), { status: 403, body: { error: { code: 'key_mode_mismatch' } } });
    t.match(await api.call('GET', `/v1/campaigns/${id}/events`, { key: await api.newKey(api.account, ['campaigns:write']) }), { status: 403, body: { error: { code: 'missing_scope' } } });
    t.equal((await api.call('HEAD', `/v1/campaigns/${id}/events`)).status, 405);
  });

  await t.test('the process stops', async (t) => {
    const id = await rig.started();
    const one = await until('a place', 5000, async () => {
      const stream = await watch(rig, id);
      return stream.response.statusCode === 200 && stream;
    });
    await told(one, 1);
    await api.app.close();
    await one.ended;
    t.notOk(one.told.some(({ event }) => event === 'completed'));
  });
});
