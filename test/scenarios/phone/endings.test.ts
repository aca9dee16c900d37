/** Every way a telephone call ends: each once, with its reason, told to both sides. */
import t, { type Test } from 'tap';
import { encodePcmu } from '../../../media/codec/g711.ts';
import type { CallView } from '../../support/api-client.ts';
import { startRunningGateway } from '../../support/running-gateway.ts';
import { answered, bye, cancel, hungUp, invite, pause, play, sipp, type Sipp } from '../../support/sipp.ts';
import { asteriskPrompt, readSpeechFile } from '../../support/speech-fixtures.ts';
import { until } from '../../support/until.ts';

const MEDIA_TIMEOUT_SECONDS = 2;
const RATE = 8000;
/** Of an agent with one short word to say, so that callers are heard soon. */
const NUMBER = '+15550100077';

const service = await startRunningGateway({ mediaTimeoutSeconds: MEDIA_TIMEOUT_SECONDS });
t.teardown(() => service.stop());
const ids: string[] = [];

const agent = await service.api.request('POST', '/v1/agents', { name: 'Brief', opening_message: 'Hi.', system_prompt: 'The shop is at 12 Mill Street.' });
const [trunk] = (await service.api.request('GET', '/v1/sip-trunks')).body['data'] as { id: string }[];
await service.api.request('POST', '/v1/phone-numbers', { phone_number: NUMBER, agent_id: agent.body['id'], sip_trunk_id: trunk?.id });

/** Half a minute of a quiet room in mu-law; a person says `prompt` in it after `afterMs`. */
function line(prompt?: string, afterMs = 0): Record<string, Uint8Array> {
  const pcm = new Int16Array(30 * RATE);
  if (prompt !== undefined) pcm.set(readSpeechFile(asteriskPrompt(prompt).path, RATE), (afterMs * RATE) / 1000);
  const coded = new Uint8Array(pcm.length);
  encodePcmu(pcm, 0, pcm.length, coded);
  return { 'line.ul': coded };
}

function telephone(caller: string, steps: string[], sounds: Record<string, Uint8Array> = line(), number = NUMBER): Sipp {
  return sipp({ port: service.sipPort, number, caller, steps, sounds, withinMs: 12_000 });
}

async function live(caller: string): Promise<CallView> {
  return service.api.call(({ from, status }) => from === caller && status === 'in_progress');
}

/** The call after its end; remembers it for the count of events. */
async function over(caller: string): Promise<CallView> {
  const { id } = await service.api.call(({ from }) => from === caller);
  ids.push(id);
  return service.api.ended(id);
}

async function talkThenSee(t: Test, caller: string, phone: Sipp, expected: Partial<CallView>): Promise<CallView> {
  const { code, output } = await phone.done;
  t.equal(code, 0, code === 0 ? 'the telephone saw what it should' : output);
  const call = await over(caller);
  t.match(call, expected);
  return call;
}

t.test('the caller hangs up: caller_hangup', async (t) => {
  const phone = telephone('hangs-up', [invite(), answered(), play('line.ul'), pause(1200), bye()]);
  const call = await talkThenSee(t, 'hangs-up', phone, { status: 'completed', end_reason: 'caller_hangup', outcome: 'no_conversation' });
  t.ok((call.duration_ms ?? 0) >= 1100 && (call.recording.duration_ms ?? 0) >= 1000, `${call.duration_ms} ms, recorded ${call.recording.duration_ms} ms`);
});

t.test('the caller gives up while it rings: canceled', async (t) => {
  // The demo agent's opening takes a tenth of a second to render: the CANCEL is there long before.
  const phone = telephone('gives-up', [invite(), cancel()], line(), service.number);
  const call = await talkThenSee(t, 'gives-up', phone, { status: 'canceled', end_reason: 'caller_hangup', outcome: 'not_connected', answered_at: null });
  t.equal(call.duration_ms, 0);
});

t.test('the caller vanishes, no RTP and no BYE: media_timeout, and the gateway says BYE', async (t) => {
  const phone = telephone('vanishes', [invite(), answered(), hungUp()]);
  const call = await talkThenSee(t, 'vanishes', phone, { status: 'completed', end_reason: 'media_timeout' });
  const { duration_ms: ms } = call;
  t.ok(ms !== null && ms >= MEDIA_TIMEOUT_SECONDS * 1000 && ms < MEDIA_TIMEOUT_SECONDS * 1000 + 2500, `after ${ms} ms`);
});

t.test('the caller\'s machine dies in mid-call: media_timeout', async (t) => {
  const phone = telephone('dies', [invite(), answered(), play('line.ul'), hungUp()]);
  const { answered_at: answeredAt } = await live('dies');
  const talkedMs = (): number => Date.now() - Date.parse(answeredAt ?? '');
  await until('a second of talk', 5000, () => talkedMs() > 1000);
  await phone.kill();
  const silentFromMs = talkedMs();
  const call = await over('dies');
  t.match(call, { status: 'completed', end_reason: 'media_timeout' });
  t.ok((call.duration_ms ?? 0) > silentFromMs + MEDIA_TIMEOUT_SECONDS * 1000 - 200, `killed after ${silentFromMs} ms, over after ${call.duration_ms} ms: its RTP counted`);
});

t.test('POST hangup: api_hangup, answered once the call has ended', async (t) => {
  const phone = telephone('is-hung-up', [invite(), answered(), play('line.ul'), hungUp()]);
  const { id } = await live('is-hung-up');
  const answer = await service.api.request('POST', `/v1/calls/${id}/hangup`);
  t.equal(answer.status, 200);
  t.match(answer.body, { id, status: 'completed', end_reason: 'api_hangup' });
  await talkThenSee(t, 'is-hung-up', phone, { end_reason: 'api_hangup' });
  const again = await service.api.request('POST', `/v1/calls/${id}/hangup`);
  t.match([again.status, again.body.error?.code], [409, 'call_not_in_progress']);
});

t.test('the caller says goodbye: the agent does too, and hangs up', async (t) => {
  const phone = telephone('says-goodbye', [invite(), answered(), play('line.ul'), hungUp()], line('goodbye', 1500));
  const call = await talkThenSee(t, 'says-goodbye', phone, { status: 'completed', end_reason: 'agent_hangup', outcome: 'conversation' });
  const items = await service.api.transcript(call.id);
  t.same(items.map(({ role }) => role), ['agent', 'caller', 'agent']);
  t.match(items.at(-1), { text: /goodbye/i, heard_text: /goodbye/i });
});

t.test('the media worker dies: internal_error, BYE, and the next call works', async (t) => {
  const phone = telephone('loses-worker', [invite(), answered(), play('line.ul'), hungUp()]);
  const { id } = await live('loses-worker');
  await service.gateway.pool.killWorkerOf(id);
  await talkThenSee(t, 'loses-worker', phone, { status: 'completed', end_reason: 'internal_error', end_detail: /media worker died/ as unknown as string });
  await until('a new worker', 10_000, () => service.gateway.pool.ready);
  const next = telephone('calls-next', [invite(), answered(), play('line.ul'), pause(500), bye()]);
  await talkThenSee(t, 'calls-next', next, { status: 'completed', end_reason: 'caller_hangup' });
  t.equal((await fetch(`${service.httpUrl}/readyz`)).status, 200);
});

t.test('the service stops: service_shutdown, BYE', async (t) => {
  const phone = telephone('outlives', [invite(), answered(), play('line.ul'), hungUp()]);
  const { id } = await live('outlives');
  ids.push(id);
  await service.stop(0);
  const { code, output } = await phone.done;
  t.equal(code, 0, code === 0 ? 'the telephone got its BYE' : output);
  t.match(service.webhooks.of(id).at(-1), { event: 'callCompleted', signed: true, data: { status: 'completed', end_reason: 'service_shutdown' } });
});

t.test('each call began once and ended once, and said so signed', async (t) => {
  t.equal(ids.length, 9);
  for (const id of ids) t.same(service.webhooks.of(id).map(({ event, signed }) => [event, signed]), [['inboundCall', true], ['callCompleted', true]], id);
});
