/** kill -9 in mid-call: the next start opens, ends the call with `node_lost`, and has all that was acknowledged. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { resampleAll } from '../../../media/resampler.ts';
import { apiClient, type ApiClient, type TranscriptView } from '../../support/api-client.ts';
import { freePorts, startGatewayChild, type GatewayChild } from '../../support/gateway-child.ts';
import { findPieces, readRecording } from '../../support/sound-analysis.ts';
import { asteriskPrompt, readSpeechFile } from '../../support/speech-fixtures.ts';
import { Telephone } from '../../support/telephone.ts';
import { until } from '../../support/until.ts';
import { startWebhookReceiver } from '../../support/webhook-receiver.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'wv-crash-'));
const ports = await freePorts();
const webhooks = await startWebhookReceiver();
const url = `http://127.0.0.1:${ports.http}`;
const start = (): Promise<GatewayChild> => startGatewayChild({
  PORT: String(ports.http), SIP_PORT: String(ports.sip), HOST: '127.0.0.1', PUBLIC_ADDRESS: '127.0.0.1', PUBLIC_URL: '', RTP_PORTS: '22000-22399', BROWSER_PORTS: '',
  DATA_DIR: dataDir, DATABASE_URL: '', MASTER_KEY: '', LLM_BASE_URL: '', LLM_MODEL: '', LOG_LEVEL: 'warn', DRAIN_SECONDS: '0', ALLOW_PRIVATE_ADDRESSES: webhooks.hostPort,
});

/** Blocks of a second reach the disk as they fill. */
const UNWRITTEN_MS = 1500;
const KEYS = /^ {2}(live|test) {2}(wv_\w+)$/gm;
const NUMBER = '+15550100001';

let service = await start();
t.teardown(async () => {
  await service.stop();
  await webhooks.close();
  rmSync(dataDir, { recursive: true, force: true });
});
const keys = Object.fromEntries([...service.output().matchAll(KEYS)].map(([, mode, key]) => [mode, key]));
const api = apiClient(url, keys['live'] ?? '');
const testApi = apiClient(url, keys['test'] ?? '');
webhooks.secret = String((await api.request('PATCH', '/v1/webhook', { url: webhooks.url })).body['secret']);

/** What a new installation has, as the API shows it. */
async function furniture(of: ApiClient): Promise<unknown[]> {
  return Promise.all(['agents', 'phone-numbers', 'sip-trunks', 'api-keys'].map(async (resource) => {
    const { status, body } = await of.request('GET', `/v1/${resource}`);
    const rows = (body['data'] ?? []) as Record<string, unknown>[];
    return [resource, status, rows.map((row) => ({ ...row, last_used_at: undefined }))];
  }));
}

/** A call in which the caller has spoken and was answered, as far as the API has acknowledged it. */
async function liveCall(): Promise<{ phone: Telephone; id: string; items: TranscriptView[] }> {
  const before = new Set(((await api.request('GET', '/v1/calls')).body['data'] as { id: string }[]).map(({ id }) => id));
  const phone = await Telephone.call({ sipPort: ports.sip, number: NUMBER, caller: 'crash' });
  const { id } = await api.call((call) => !before.has(call.id) && call.status === 'in_progress');
  phone.say(new Int16Array(8000));
  phone.say(readSpeechFile(asteriskPrompt('cannot-complete-as-dialed').path, 8000));
  let items: TranscriptView[] = [];
  await until('the caller was answered', 20_000, async () => {
    items = await api.transcript(id);
    return items.some(({ role }) => role === 'caller') && items.at(-1)?.role === 'agent';
  }, () => items);
  return { phone, id, items };
}

const before = await Promise.all([furniture(api), furniture(testApi)]);
let lost: { id: string; items: TranscriptView[]; killedAfterMs: number };

t.test('the first start says whom to call and prints its keys, once', async (t) => {
  t.same(Object.keys(keys), ['live', 'test']);
  t.match(service.output(), `sip:${NUMBER}@127.0.0.1:${ports.sip}`);
  t.match(service.output(), /\/talk\/sign-in\?token=\S{20,}/);
  t.comment(`ready after ${Math.round(service.startMs)} ms`);
});

t.test('kill -9 of every process, PostgreSQL too, in mid-call', async (t) => {
  const { phone, id, items } = await liveCall();
  const tree = service.tree();
  t.ok(tree.length >= 3, `${tree.length} processes`);
  const { answered_at: answeredAt } = await api.call((call) => call.id === id);
  const killedAfterMs = Date.now() - Date.parse(answeredAt ?? '');
  await service.kill(tree);
  lost = { id, items, killedAfterMs };
  await phone.close();
});

t.test('the next start opens, with everything as it was and no new keys', async (t) => {
  service = await start();
  t.comment(`ready after ${Math.round(service.startMs)} ms`);
  t.notMatch(service.output(), /wv_(live|test)_/);
  t.match(service.output(), /\/talk\/sign-in\?token=\S{20,}/);
  t.same(await Promise.all([furniture(api), furniture(testApi)]), before);
});

t.test('the call is ended with node_lost and keeps its words and its sound', async (t) => {
  const call = await api.ended(lost.id, 100);
  t.match(call, { status: 'completed', end_reason: 'node_lost', outcome: 'conversation', recording: { available: true } });
  const items = await api.transcript(lost.id);
  t.same(items.slice(0, lost.items.length).map(({ role, text }) => ({ role, text })), lost.items.map(({ role, text }) => ({ role, text })), 'what was acknowledged is there');
  const { status, bytes } = await api.recording(lost.id);
  t.equal(status, 200);
  const { durationMs, caller, sampleRate } = await readRecording(bytes);
  t.equal(durationMs, call.recording.duration_ms);
  t.equal(bytes.readUInt32LE(40), bytes.length - 44, 'its header says what it holds');
  t.ok(durationMs <= lost.killedAfterMs + 100 && durationMs > lost.killedAfterMs - UNWRITTEN_MS, `recorded ${durationMs} ms of ${lost.killedAfterMs} ms`);
  t.equal(call.duration_ms, durationMs);
  const words = readSpeechFile(asteriskPrompt('cannot-complete-as-dialed').path, 8000);
  const { likeness } = findPieces(words.subarray(1600, -3200), resampleAll(caller, sampleRate, 8000), 8000, 1300, 400);
  t.ok(likeness >= 0.5, `${Math.round(likeness * 100)} % of the caller's words are in it`);
  await until('callCompleted', 5000, () => webhooks.of(lost.id).length >= 2);
  t.same(webhooks.of(lost.id).map(({ event, signed }) => [event, signed]), [['inboundCall', true], ['callCompleted', true]]);
});

t.test('kill -9 of the service alone, its PostgreSQL left behind: the next start opens and works', async (t) => {
  const { phone, id } = await liveCall();
  await service.kill([service.pid]);
  await phone.close();
  service = await start();
  t.match(await api.ended(id, 100), { end_reason: 'node_lost' });
  const again = await liveCall();
  await again.phone.hangUp();
  t.match(await api.ended(again.id), { status: 'completed', end_reason: 'caller_hangup' });
});

t.test('SIGTERM ends it in order', async (t) => {
  t.equal(await service.stop(), 0);
});
