/** The service is told to stop while somebody talks: no new calls, the live one to its end, and every watcher is told. */
import t from 'tap';
import { startRunningGateway } from '../../support/running-gateway.ts';
import { invite, refused, sipp } from '../../support/sipp.ts';
import { Telephone } from '../../support/telephone.ts';
import { until } from '../../support/until.ts';

const DRAIN_MS = 60_000;

t.setTimeout(90_000);
const service = await startRunningGateway();
t.teardown(() => service.stop());
const ready = async (): Promise<{ status: number; body: unknown; retryAfter: string | null }> => {
  const answer = await fetch(`${service.httpUrl}/readyz`);
  return { status: answer.status, body: await answer.json(), retryAfter: answer.headers.get('retry-after') };
};

t.test('a service that stops lets the live call end, and takes no other', async (t) => {
  t.match(await ready(), { status: 200, body: { status: 'ready' } });
  t.same(service.gateway.context.checks.map(({ name }) => name).toSorted(), ['database', 'draining', 'media', 'sip'], 'what readiness means');
  const telephone = await Telephone.call({ sipPort: service.sipPort, number: service.number, caller: 'stays' });
  const { id } = await service.api.call(({ status }) => status === 'in_progress');
  const [agent] = (await service.api.request('GET', '/v1/agents')).body['data'] as { id: string }[];

  let stopped = false;
  const stopping = service.stop(DRAIN_MS).then(() => { stopped = true; });
  t.match(await until('it says that it drains', 5000, async () => {
    const answer = await ready();
    return answer.status === 503 && answer;
  }), { body: { status: 'not_ready', failing: { draining: /shutting down/ } }, retryAfter: /\d/ });
  t.equal((await fetch(`${service.httpUrl}/healthz`)).status, 200, 'the process is up');
  const late = await sipp({ port: service.sipPort, number: service.number, caller: 'is-late', steps: [invite(), refused(503, 'Retry-After: [1-9]')], withinMs: 15_000 }).done;
  t.equal(late.code, 0, late.output);
  t.match(await service.api.request('POST', '/v1/realtime/sessions', { agent_id: agent?.id }), { status: 503, body: { error: { code: 'service_unavailable' } } });
  t.match(await service.api.request('GET', `/v1/calls/${id}`), { body: { status: 'in_progress' } }, 'the live call goes on');
  t.equal(stopped, false);

  await telephone.hangUp();
  await stopping;
  t.match(service.webhooks.of(id).at(-1), { event: 'callCompleted', signed: true, data: { status: 'completed', end_reason: 'caller_hangup' } });
  await t.rejects(fetch(`${service.httpUrl}/healthz`), 'nothing listens any more');
});
