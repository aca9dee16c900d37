/** A person (recordings of one) calls the demo number with a real softphone: three turns, one of them an interruption. */
import t from 'tap';
import { resampleAll } from '../../../media/resampler.ts';
import type { CallView, TranscriptView } from '../../support/api-client.ts';
import { callWithBaresip, type SoftphoneCall } from '../../support/baresip.ts';
import { callerScript } from '../../support/caller-script.ts';
import { startRunningGateway } from '../../support/running-gateway.ts';
import { findPieces, levelDb, readRecording, type StereoRecording } from '../../support/sound-analysis.ts';
import { wordErrorRate } from '../../support/speech-fixtures.ts';
import { startTranscriber } from '../../support/transcriber.ts';
import { until } from '../../support/until.ts';

/**
 * The opening is over after 6 s. The answer to the first turn begins 0.6 s after it (2.5 s on a machine that is starved) and lasts
 * 5 s: the second turn begins in its midst.
 */
const script = callerScript([
  { prompt: 'queue-callswaiting', afterMs: 6500 },
  { prompt: 'cannot-complete-as-dialed', afterMs: 3600 },
  { prompt: 'goodbye', afterMs: 7000 },
], 8000);
const [asked, interrupted, goodbye] = script.turns;
const MAX_WER = 0.35;
const SILENT_DB = -60;
/** `started_ms` counts what was heard, which may be so far ahead of the recording. */
const AHEAD_MS = 120;

const service = await startRunningGateway();
t.teardown(() => service.stop());
let softphone: SoftphoneCall;
let call: CallView;
let items: TranscriptView[];
let recording: StereoRecording;

const byRole = (role: string): TranscriptView[] => items.filter((item) => item.role === role);
const cutReply = (): TranscriptView => items.find((item) => item.interrupted) ?? { role: 'agent', text: '', started_ms: 0, ended_ms: 0 };

t.test('the call is held and ends with the agent\'s goodbye', async (t) => {
  softphone = await callWithBaresip({ uri: service.sipUri, microphone: script.microphone, withinMs: 45_000 }).done;
  call = await service.api.ended((await service.api.call(({ to }) => to === service.number)).id);
  t.match(call, { status: 'completed', end_reason: 'agent_hangup', end_detail: null, outcome: 'conversation', from: 'caller', quality: { codec: 'PCMU', packets_lost_pct: 0 } });
  t.type(call.latency?.answer_to_first_audio_ms, 'number');
  t.ok((call.latency?.voice_to_voice.count ?? 0) >= 3);
  t.same(service.complaints, []);
});

t.test('the transcript: the opening first, three turns of the caller as they were said, an answer to each', async (t) => {
  items = await service.api.transcript(call.id);
  const [opening] = items;
  t.match(opening, { role: 'agent', text: /^Hello, this is Spoke and Chain/ });
  t.equal(opening?.heard_text, opening?.text, 'the opening was heard to its end');
  t.ok(byRole('caller').length >= 3 && byRole('agent').length >= 4, 'three turns, the opening and an answer to each');
  // A starved machine may answer a turn in two parts: every word counts, in order, wherever it stands.
  const rate = wordErrorRate([{ reference: script.turns.map(({ transcript }) => transcript).join(' '), heard: byRole('caller').map(({ text }) => text).join(' ') }]);
  t.comment(`word error rate of the caller's turns ${rate.toFixed(3)}, voice to voice p50 ${call.latency?.voice_to_voice.p50} ms`);
  t.ok(rate <= MAX_WER, `word error rate ${rate}: ${JSON.stringify(byRole('caller'))}`);
  t.match(items.at(-1)?.text, /goodbye/i);
});

t.test('the interruption: counted once, and the transcript holds what was heard', async (t) => {
  t.equal(call.interruptions.by_caller, 1);
  const cut = items.filter((item) => item.interrupted);
  t.equal(cut.length, 1);
  const { text, heard_text: heard = '' } = cutReply();
  t.ok(heard.length > 0 && heard.length < text.length, `heard "${heard}" of "${text}"`);
  t.ok(text.startsWith(heard), `"${heard}" is the beginning of "${text}"`);
});

t.test('the recording: both sides, in step with the call and with each other', async (t) => {
  const { status, headers, bytes } = await service.api.recording(call.id);
  t.equal(status, 200);
  t.equal(headers.get('content-type'), 'audio/wav');
  recording = await readRecording(bytes);
  t.equal(recording.durationMs, call.recording.duration_ms);
  t.ok(Math.abs(recording.durationMs - (call.duration_ms ?? 0)) <= 100, `recording ${recording.durationMs} ms, call ${call.duration_ms} ms`);
  const caller = resampleAll(recording.caller, recording.sampleRate, 8000);
  const places = script.turns.map(({ pcm, startMs }) => ({ ...findPieces(pcm, caller, 8000, startMs + 150, 350), startMs }));
  for (const { atMs, likeness, startMs } of places) {
    t.ok(likeness >= 0.6, `of the caller's turn at ${startMs} ms ${Math.round(likeness * 100)} % are there, at ${atMs} ms`);
    t.ok(atMs - startMs > -60 && atMs - startMs < 300, `${atMs - startMs} ms after the microphone's file`);
  }
  const offsets = places.map(({ atMs, startMs }) => atMs - startMs);
  t.ok(Math.max(...offsets) - Math.min(...offsets) <= 60, `no drift: ${offsets.map((offset) => offset.toFixed(1)).join(', ')} ms`);
  for (const [index, { atMs }] of places.entries()) {
    const started = byRole('caller')[index]?.started_ms ?? NaN;
    t.ok(Math.abs(started - atMs) <= 250, `the transcript says ${started} ms, the recording ${atMs} ms`);
  }
  for (const { started_ms: started } of byRole('agent')) {
    t.ok(started < 2 * AHEAD_MS || levelDb(recording.agent, recording.sampleRate, started - 2 * AHEAD_MS, started - AHEAD_MS) < SILENT_DB, `the agent is silent before ${started} ms`);
    t.ok(levelDb(recording.agent, recording.sampleRate, started, started + 500) > -40, `the agent speaks from ${started} ms`);
  }
});

t.test('the agent falls silent within 300 ms of the interruption and stays silent until it answers', async (t) => {
  if (!interrupted || !goodbye || !asked) return t.fail('the script has three turns');
  const caller = resampleAll(recording.caller, recording.sampleRate, 8000);
  const { atMs } = findPieces(interrupted.pcm, caller, 8000, interrupted.startMs + 150, 350);
  const answer = byRole('agent').find(({ started_ms }) => started_ms > atMs);
  const level = (fromMs: number, toMs: number): number => levelDb(recording.agent, recording.sampleRate, fromMs, toMs);
  t.ok(level(atMs - 500, atMs) > -40, `it speaks before: ${level(atMs - 500, atMs).toFixed(1)} dB`);
  const after = level(atMs + 300, (answer?.started_ms ?? 0) - AHEAD_MS);
  t.ok(after < SILENT_DB, `it is silent after: ${after.toFixed(1)} dB`);
  const sent = findPieces(interrupted.pcm, softphone.sent, 8000, interrupted.startMs, 350);
  t.ok(sent.likeness > 0.9, 'the softphone sent what the script says');
});

t.test('what the softphone heard is intelligible', async (t) => {
  const transcriber = await startTranscriber();
  t.teardown(() => transcriber.close());
  const heard = await transcriber.transcribe(softphone.heard, 8000);
  const said = byRole('agent').map(({ heard_text: text = '' }) => text).join(' ');
  const rate = wordErrorRate([{ reference: said, heard }]);
  t.comment(`word error rate of the agent ${rate.toFixed(3)}: ${heard}`);
  t.ok(rate <= MAX_WER, `word error rate ${rate}: said "${said}", heard "${heard}"`);
});

t.test('a part of the recording can be asked for', async (t) => {
  const whole = (await service.api.recording(call.id)).bytes;
  const part = await service.api.recording(call.id, 'bytes=44-10043');
  t.equal(part.status, 206);
  t.equal(part.headers.get('content-range'), `bytes 44-10043/${whole.length}`);
  t.ok(part.bytes.equals(whole.subarray(44, 10_044)));
  t.equal((await service.api.recording(call.id, `bytes=${whole.length}-`)).status, 416);
});

t.test('inboundCall and callCompleted came once each, signed', async (t) => {
  await until('callCompleted', 5000, () => service.webhooks.of(call.id).length >= 2);
  const deliveries = service.webhooks.of(call.id);
  t.same(deliveries.map(({ event, attempt, signed, livemode }) => ({ event, attempt, signed, livemode })), [
    { event: 'inboundCall', attempt: 1, signed: true, livemode: true },
    { event: 'callCompleted', attempt: 1, signed: true, livemode: true },
  ]);
  t.match(deliveries[1]?.data, { end_reason: 'agent_hangup', outcome: 'conversation', duration_ms: call.duration_ms, event_key: `callCompleted:${call.id}` });
});

t.test('the log says what answered: no language model', async (t) => {
  const log = await service.api.log(call.id);
  t.match(log.find(({ source }) => source === 'engine')?.event, /offline agent: not a language model/);
  t.ok(log.some(({ source, event }) => source === 'turn' && event === 'interrupt'));
});
