/** A person (recordings of one) opens /talk in a real Chromium: three turns by microphone, one of them an interruption, and goodbye. */
import { once } from 'node:events';
import { join } from 'node:path';
import t from 'tap';
import { WebSocket } from 'ws';
import { callerScript } from '../../support/caller-script.ts';
import { withChromium, writeMicrophone } from '../../support/chromium.ts';
import { RealtimeClient } from '../../support/realtime-client.ts';
import { startRunningGateway } from '../../support/running-gateway.ts';
import { readRecording } from '../../support/sound-analysis.ts';
import { wordErrorRate } from '../../support/speech-fixtures.ts';
import { until } from '../../support/until.ts';

/** The opening lasts 6 s; the second turn begins in the midst of the answer to the first. */
const script = callerScript([
  { prompt: 'queue-callswaiting', afterMs: 9000 },
  { prompt: 'cannot-complete-as-dialed', afterMs: 3600 },
  { prompt: 'demo-thanks', afterMs: 7000 },
], 8000);
const MAX_WER = 0.35;

t.setTimeout(100_000);
const service = await startRunningGateway();
t.teardown(() => service.stop());

t.test('a call on /talk with the sign-in link alone', async (t) => {
  const microphone = join(t.testdir(), 'microphone.wav');
  await writeMicrophone(microphone, script.microphone, 8000);
  const signIn = new URL(service.gateway.firstStart.signInUrl);

  await withChromium({ microphone, timeoutMs: 55_000 }, async ({ page, complaints }) => {
    await page.goto(`${service.httpUrl}${signIn.pathname}${signIn.search}`);
    t.equal(new URL(page.url()).pathname, '/talk', 'the link leads to the page');
    await page.getByRole('button', { name: 'Talk' }).click();
    await page.locator('#transcript .agent .words').first().waitFor();
    await page.locator('#transcript .corrected').waitFor({ timeout: 30_000 });
    await until('the agent hangs up on goodbye', 30_000, async () => (await page.locator('#talk-label').textContent()) === 'Talk');
    t.ok((await page.locator('#transcript .caller:not(.partial)').count()) >= 3, 'the page shows the turns of the caller');
    t.ok((await page.locator('.turn-ms').count()) >= 2, 'and what each turn cost');
    t.same(complaints, []);
  });
});

t.test('what the API tells of it afterwards', async (t) => {
  const call = await service.api.ended((await service.api.call(({ ended_at }) => ended_at !== null)).id);
  t.match(call, { status: 'completed', end_reason: 'agent_hangup', outcome: 'conversation' });
  t.equal(call.interruptions.by_caller, 1);
  const items = await service.api.transcript(call.id);
  const caller = items.filter(({ role }) => role === 'caller');
  // A starved machine may answer a turn in two parts: every word counts, in order, wherever it stands.
  const rate = wordErrorRate([{ reference: script.turns.map(({ transcript }) => transcript).join(' '), heard: caller.map(({ text }) => text).join(' ') }]);
  t.ok(rate <= MAX_WER, `word error rate ${rate.toFixed(3)}: ${JSON.stringify(caller)}`);
  const cut = items.find(({ interrupted }) => interrupted);
  t.ok(cut?.heard_text !== undefined && cut.heard_text.length < cut.text.length, `heard "${cut?.heard_text}" of "${cut?.text}"`);
  const { bytes } = await service.api.recording(call.id);
  const recording = await readRecording(bytes);
  t.ok(Math.abs(recording.durationMs - (call.duration_ms ?? 0)) <= 200, `recording ${recording.durationMs} ms, call ${call.duration_ms} ms`);
});

t.test('the sign-in link works once', async (t) => {
  const signIn = new URL(service.gateway.firstStart.signInUrl);
  const again = await fetch(`${service.httpUrl}${signIn.pathname}${signIn.search}`, { redirect: 'manual' });
  t.equal(again.status, 403);
});

t.test('a server talks with its API key and an agent, on the public port alone', async (t) => {
  const agents = await service.api.request('GET', '/v1/agents');
  const agentId = (agents.body.data as { id: string }[])[0]?.id ?? '';
  const at = (query: string): string => `${service.httpUrl.replace('http', 'ws')}/v1/realtime?${query}`;
  const client = await RealtimeClient.join({ url: at(`agent_id=${agentId}`), authorization: `Bearer ${service.liveKey}` });
  const { call_id: callId } = await client.next('session.ready');
  await client.next('agent.audio.start');
  client.send({ type: 'session.end' });
  await client.closed;
  t.match(await service.api.ended(callId), { direction: 'realtime', end_reason: 'caller_hangup', agent_id: agentId });
  const plain = new WebSocket(at(`agent_id=${agentId}`), { headers: { authorization: `Bearer ${service.liveKey}` } });
  await once(plain, 'open');
  t.equal(plain.protocol, '', 'a client that offered no protocol is given none');
  plain.close();
  await once(plain, 'close');
  await t.rejects(RealtimeClient.join({ url: at(`agent_id=${agentId}`), authorization: 'Bearer wv_live_wrong' }), { message: 'HTTP 401' });
  await t.rejects(RealtimeClient.join({ url: at(`agent_id=${agentId}`) }), { message: 'HTTP 401' });
  await t.rejects(RealtimeClient.join({ url: at(`agent_id=${'0'.repeat(24)}`), authorization: `Bearer ${service.liveKey}` }), { message: 'HTTP 404' });
  await t.rejects(RealtimeClient.join({ url: at('agent_id=1'), authorization: `Bearer ${service.liveKey}` }), { message: 'HTTP 404' });
});
